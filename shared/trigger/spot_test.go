package trigger_test

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/trigger"
)

func TestReadsWhatEC2AnnouncesOfSpotInstances(t *testing.T) {
	body := func(source, detailType, account, detail string) string {
		return `{"version":"0","id":"e-1","source":"` + source + `","detail-type":"` + detailType + `","account":"` + account + `","time":"2026-03-10T12:00:00Z","region":"eu-west-1","detail":` + detail + `}`
	}
	const one = `{"instance-id":"i-0a1b2c3d4e5f60718","instance-action":"terminate"}`
	for _, tt := range []struct{ name, body, want string }{
		{"an interruption", body("aws.ec2", trigger.SpotInterruptionDetailType, "111122223333", one), "i-0a1b2c3d4e5f60718 interruption"},
		{"a recommendation", body("aws.ec2", trigger.SpotRebalanceDetailType, "111122223333", `{"instance-id":"i-0a1b2c3d4e5f60718"}`), "i-0a1b2c3d4e5f60718 rebalance"},
		{"a state change", body("aws.ec2", trigger.StateChangeDetailType, "111122223333", one), "OtherDetailType"},
		{"another source", body("aws.autoscaling", trigger.SpotRebalanceDetailType, "111122223333", one), "ForeignSource"},
		{"its own", body("rollcall", trigger.SpotRebalanceDetailType, "111122223333", one), "OwnEvent"},
		{"another account", body("aws.ec2", trigger.SpotRebalanceDetailType, "123456789012", one), "OtherAccount"},
		{"no instance", body("aws.ec2", trigger.SpotInterruptionDetailType, "111122223333", `{}`), "malformed Spot event: detail.instance-id: missing"},
		{"no detail", `{"version":"0","id":"e-1","source":"aws.ec2","detail-type":"` + trigger.SpotInterruptionDetailType + `","account":"111122223333","time":"2026-03-10T12:00:00Z","region":"eu-west-1"}`, "malformed Spot event: detail: missing"},
	} {
		s, ignored, err := trigger.ParseSpot([]byte(tt.body), home)
		got := fmt.Sprint(s.Instance, " ", s.Event)
		switch {
		case err != nil:
			got = err.Error()
		case ignored != nil:
			got = string(ignored.Reason)
		default:
			if want := (trigger.Spot{EventID: "e-1", Account: home.Account, Region: home.Region, Instance: s.Instance, Event: s.Event, At: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}); s != want {
				t.Errorf("%s: %+v, want %+v", tt.name, s, want)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	// One of the batch of samples that holds what a queue may deliver.
	s, ignored, err := trigger.ParseSpot([]byte(sample(t, "statechange-mixed.json")[5].Body), home)
	if err != nil || ignored != nil || s.Event != roll.SpotInterruption {
		t.Errorf("the sample: %+v %v %v", s, ignored, err)
	}
}
