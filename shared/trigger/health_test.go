package trigger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/trigger"
)

func TestReadsTheSampleOfAHealthEvent(t *testing.T) {
	h, ignored, err := trigger.ParseHealth([]byte(sample(t, "health-scheduled.json")[0].Body), home)
	if err != nil || ignored != nil {
		t.Fatal(ignored, err)
	}
	if h.Account != home.Account || h.Region != home.Region || h.EventID == "" || !h.At.Equal(time.Date(2026, 3, 10, 12, 0, 3, 0, time.UTC)) ||
		!slices.Equal(h.Instances, []roll.InstanceID{"i-0a1b2c3d4e5f60718", "i-0b2c3d4e5f6071829"}) {
		t.Errorf("%+v", h)
	}
}

func TestReadsOfHealthEventsOnlyWhatIsAboutInstances(t *testing.T) {
	body := func(source, detailType, account, detail string) string {
		return `{"version":"0","id":"e-1","source":"` + source + `","detail-type":"` + detailType + `","account":"` + account + `","time":"2026-03-10T12:00:00Z","region":"eu-west-1","detail":` + detail + `}`
	}
	health := func(detail string) string {
		return body("aws.health", "AWS Health Event", "111122223333", detail)
	}
	tests := []struct{ name, body, want string }{
		{"an instance", health(`{"service":"EC2","affectedEntities":[{"entityValue":"i-0a1b2c3d4e5f60718"}]}`), "i-0a1b2c3d4e5f60718"},
		{"one twice, and a volume", health(`{"service":"EC2","affectedEntities":[{"entityValue":"i-0a1b2c3d4e5f60718"},{"entityValue":"vol-0a1b2c3d4e5f60718"},{"entityValue":"i-0a1b2c3d4e5f60718"}]}`), "i-0a1b2c3d4e5f60718"},
		{"the service as a whole", health(`{"service":"EC2"}`), "OtherEntities"},
		{"no instance", health(`{"service":"EC2","affectedEntities":[{"entityValue":"vol-0a1b2c3d4e5f60718"},{}]}`), "OtherEntities"},
		{"another service", health(`{"service":"RDS","affectedEntities":[{"entityValue":"i-0a1b2c3d4e5f60718"}]}`), "OtherEntities"},
		{"another account", body("aws.health", "AWS Health Event", "123456789012", `{"service":"EC2","affectedEntities":[{"entityValue":"i-0a1b2c3d4e5f60718"}]}`), "OtherAccount"},
		{"another source", body("aws.autoscaling", "AWS Health Event", "111122223333", `{}`), "ForeignSource"},
		{"another type", body("aws.health", "AWS Health Abuse Event", "111122223333", `{}`), "OtherDetailType"},
		{"its own", body("rollcall", "AWS Health Event", "111122223333", `{}`), "OwnEvent"},
		{"entities that are none", health(`{"service":"EC2","affectedEntities":"i-0a1b2c3d4e5f60718"}`), "malformed health event: detail.affectedEntities: must be a list of entities"},
		{"no detail", `{"version":"0","id":"e-1","source":"aws.health","detail-type":"AWS Health Event","account":"111122223333","time":"2026-03-10T12:00:00Z","region":"eu-west-1"}`, "malformed health event: detail: missing"},
		{"cut off", `{"source":"aws.health"`, "malformed health event: not JSON (at byte 22 of 22)"},
	}
	for _, tt := range tests {
		h, ignored, err := trigger.ParseHealth([]byte(tt.body), home)
		var got string
		switch {
		case err != nil:
			got = err.Error()
		case ignored != nil:
			got = string(ignored.Reason)
		default:
			var ids []string
			for _, id := range h.Instances {
				ids = append(ids, string(id))
			}
			got = strings.Join(ids, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
