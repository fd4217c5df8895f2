package trigger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var home = trigger.Home{Account: "111122223333", Region: "eu-west-1"}

func TestReadsTheSamplesOfEvents(t *testing.T) {
	for _, state := range []roll.InstanceState{
		roll.StatePending, roll.StateRunning, roll.StateStopping, roll.StateStopped, roll.StateShuttingDown, roll.StateTerminated,
	} {
		for _, r := range sample(t, "statechange-"+string(state)+".json") {
			got, ignored, err := trigger.ParseEvent([]byte(r.Body), home)
			must.That(t, err == nil && ignored == "", "%s: %v %v", state, ignored, err)
			if got.State != state || got.Account != home.Account || got.Region != home.Region || got.ID == "" ||
				len(got.Instances) != 1 || got.At.IsZero() || got.At.Location() != time.UTC {
				t.Errorf("%s: %+v", state, got)
			}
		}
	}
	at := time.Date(2026, 3, 10, 12, 0, 3, 0, time.UTC)
	for name, want := range map[string]trigger.Event{
		"statechange-running.json": {Instances: []roll.InstanceID{"i-0a1b2c3d4e5f60718"}, State: roll.StateRunning, At: at},
		"health-scheduled.json":    {Instances: []roll.InstanceID{"i-0a1b2c3d4e5f60718", "i-0b2c3d4e5f6071829"}, At: at},
	} {
		got, _, _ := trigger.ParseEvent([]byte(sample(t, name)[0].Body), home)
		want.ID, want.Account, want.Region = got.ID, home.Account, home.Region
		expect.That(t, got.ID != "" && reflect.DeepEqual(got, want), "%s: got %+v, want %+v", name, got, want)
	}
}

// The mixed batch holds messages of a queue with several kinds of senders.
func TestReadsTheMixedSample(t *testing.T) {
	want := []string{
		"running", "running", // the same event twice
		"malformed event: not JSON (at byte 150 of 150)",
		`malformed event: account: missing; time: "yesterday" is not a time in RFC 3339; detail.instance-id: "i-XYZ" is not an instance id`,
		"malformed event: not an EventBridge event: let the rule send to the queue directly",
		"interruption",
		"ForeignSource",
		"OwnEvent",
		"OtherAccount",
		"UnknownState",
		"UnknownVersion",
		"running",
	}
	records := sample(t, "statechange-mixed.json")
	must.That(t, len(records) == len(want), "%d records, want %d", len(records), len(want))
	for i, r := range records {
		expect.Equal(t, outcome(trigger.ParseEvent([]byte(r.Body), home)), want[i], "record %d", i)
	}
	a, _, _ := trigger.ParseEvent([]byte(records[0].Body), home)
	b, _, _ := trigger.ParseEvent([]byte(records[1].Body), home)
	expect.That(t, reflect.DeepEqual(a, b), "two deliveries of an event differ: %+v, %+v", a, b)
}

func outcome(e trigger.Event, r trigger.Reason, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case r != "":
		return string(r)
	case e.State == "" && e.Spot == "":
		return fmt.Sprint(e.Instances)
	}
	return string(e.State) + string(e.Spot)
}

// event returns a valid state change with changed fields; nil removes a field.
func event(change map[string]any) []byte {
	e := map[string]any{
		"version": "0", "id": "7bf73129-1428-4cd3-a780-95db273d1602", "detail-type": trigger.StateChangeDetailType, "source": "aws.ec2",
		"account": "111122223333", "time": "2026-03-10T12:00:00Z", "region": "eu-west-1", "resources": []string{},
		"detail": map[string]any{"instance-id": "i-0a1b2c3d4e5f60718", "state": "running"},
	}
	maps.Copy(e, change)
	maps.DeleteFunc(e, func(_ string, v any) bool { return v == nil })
	body, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return body
}

type fields = map[string]any

// health returns an event of AWS Health.
func health(service string, entities ...string) []byte {
	affected := []fields{{}}
	for _, e := range entities {
		affected = append(affected, fields{"entityValue": e})
	}
	return event(fields{"source": "aws.health", "detail-type": "AWS Health Event", "detail": fields{"service": service, "affectedEntities": affected}})
}

func TestTellsWhatIsForUs(t *testing.T) {
	const malformed = "malformed event: "
	tests := []struct {
		name string
		body []byte
		home trigger.Home
		want string
	}{
		{"as documented", event(nil), home, "running"},
		{"anywhere is home", event(nil), trigger.Home{}, "running"},
		{"no resources", event(fields{"resources": nil}), home, "running"},
		{"a field that AWS may add", event(fields{"new": 1, "detail": fields{"instance-id": "i-0a1b2c3d", "state": "stopped", "why": nil}}), home, "stopped"},
		{"time with an offset", event(fields{"time": "2026-03-10T13:00:00+01:00"}), home, "running"},
		{"a Spot interruption", event(fields{"detail-type": trigger.SpotInterruptionDetailType, "detail": fields{"instance-id": "i-0a1b2c3d4e5f60718", "instance-action": "terminate"}}), home, "interruption"},
		{"a rebalance recommendation", event(fields{"detail-type": trigger.SpotRebalanceDetailType}), home, "rebalance"},
		{"AWS Health", health("EC2", "i-0a1b2c3d4e5f60718"), home, "[i-0a1b2c3d4e5f60718]"},
		{"one instance twice, and a volume", health("EC2", "i-0a1b2c3d4e5f60718", "vol-0a1b2c3d4e5f60718", "i-0a1b2c3d4e5f60718"), home, "[i-0a1b2c3d4e5f60718]"},

		{"our own", event(fields{"source": "rollcall", "detail-type": "Finding Opened"}), home, "OwnEvent"},
		{"foreign, whatever else is wrong with it", event(fields{"source": "com.example", "version": nil, "detail": 7}), home, "ForeignSource"},
		{"sources are told apart by case", event(fields{"source": "AWS.EC2"}), home, "ForeignSource"},
		{"another detail-type", event(fields{"detail-type": "EC2 Fast Launch State-change Notification", "detail": nil}), home, "OtherDetailType"},
		{"of AWS Health", event(fields{"source": "aws.health", "detail-type": "AWS Health Abuse Event"}), home, "OtherDetailType"},
		{"of EC2 with that of AWS Health", event(fields{"detail-type": "AWS Health Event"}), home, "OtherDetailType"},
		{"a detail-type of another source", event(fields{"source": "aws.health"}), home, "OtherDetailType"},
		{"unknown version, whatever else", event(fields{"version": "2", "detail": nil}), home, "UnknownVersion"},
		{"no version", event(fields{"version": nil}), home, "UnknownVersion"},
		{"other account", event(fields{"account": "123456789012"}), home, "OtherAccount"},
		{"other region", event(fields{"region": "us-gov-west-1"}), home, "OtherRegion"},
		{"unknown state", event(fields{"detail": fields{"instance-id": "i-0a1b2c3d4e5f60718", "state": "Running"}}), home, "UnknownState"},
		{"the service as a whole", health("EC2"), home, "OtherEntities"},
		{"another service", health("RDS", "i-0a1b2c3d4e5f60718"), home, "OtherEntities"},

		{"empty", nil, home, malformed + "not JSON (at byte 0 of 0)"},
		{"no JSON", []byte("hello"), home, malformed + "not JSON (at byte 1 of 5)"},
		{"two documents", []byte("{}{}"), home, malformed + "not JSON (at byte 3 of 4)"},
		{"too large", []byte(strings.Repeat(" ", trigger.MaxBody) + "{}"), home, malformed + "262146 bytes, more than the 262144 that are read"},
		{"nested too deep", []byte(strings.Repeat("[", 100_000)), home, malformed + "not JSON (at byte 10001 of 100000)"},
		{"an array", []byte("[]"), home, malformed + "the message must not be array"},
		{"null", []byte(" null"), home, malformed + "not an EventBridge event: let the rule send to the queue directly"},
		{"a batch", []byte(`{"Records": []}`), home, malformed + "not an EventBridge event: let the rule send to the queue directly"},
		{"a record", []byte(`{"messageId": "a", "body": "{}"}`), home, malformed + "not an EventBridge event: let the rule send to the queue directly"},
		{"wrong type", event(fields{"account": 111122223333}), home, malformed + "account must not be number"},
		{"wrong detail", event(fields{"detail": "{}"}), home, malformed + "the message must not be string"},
		{"entities that are none", event(fields{"source": "aws.health", "detail-type": "AWS Health Event", "detail": fields{"affectedEntities": "i-0a1b2c3d4e5f60718"}}), home, malformed + "affectedEntities must not be string"},
		{"all at once", event(fields{"id": nil, "account": nil, "region": nil, "time": nil, "detail": nil}), home, malformed + `id: missing; account: missing; region: missing; time: "" is not a time in RFC 3339; detail.instance-id: "" is not an instance id; detail.state: missing`},
		{"wrong values", event(fields{"id": "a b", "account": "1111", "region": "EU", "time": "2026-03-10 12:00:00", "detail": fields{"instance-id": "i-0A1B2C3D", "state": ""}}), home,
			malformed + `id: "a b" is not an event id; account: "1111" is not an account of 12 digits; region: "EU" is not a region; time: "2026-03-10 12:00:00" is not a time in RFC 3339; detail.instance-id: "i-0A1B2C3D" is not an instance id; detail.state: missing`},
		{"years out of range", event(fields{"time": "0000-01-01T00:00:00Z"}), home, malformed + "time: missing, or not a time in RFC 3339"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := outcome(trigger.ParseEvent(tt.body, tt.home))
			expect.That(t, got == tt.want, "got  %s\nwant %s", got, tt.want)
		})
	}
}

// Senders to the queue must not be able to fill the logs, or to write lines into them.
func TestQuotesLittleOfItsInput(t *testing.T) {
	long := strings.Repeat("é\n", 5000)
	for _, body := range [][]byte{
		event(fields{"id": long, "account": long, "region": long, "time": long, "detail": fields{"instance-id": long, "state": "running"}}),
		event(fields{"source": long}),
		event(fields{"detail-type": long}),
		event(fields{"version": long}),
		event(fields{"detail": fields{"instance-id": "i-0a1b2c3d4e5f60718", "state": long}}),
		health(long, "i-0a1b2c3d4e5f60718"),
	} {
		got := outcome(trigger.ParseEvent(body, home))
		expect.That(t, len(got) <= 2000 && !strings.ContainsAny(got, "\né"), "%d characters: %s", len(got), got)
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, name := range append(samples(f, "statechange-*.json"), "health-scheduled.json") {
		for _, r := range sample(f, name) {
			f.Add([]byte(r.Body))
		}
	}
	f.Add([]byte(`{"source":"aws.ec2","source":"\ud800","detail":{"a":[[[[]]]]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, ignored, err := trigger.ParseEvent(body, home)
		bounded(t, err)
		switch {
		case err != nil || ignored != "":
			expect.That(t, (err != nil) != (ignored != "") && e.ID == "" && e.Instances == nil, "%+v %v with %v", e, ignored, err)
		case len(e.Instances) == 0 || e.At.IsZero() || e.State != "" && e.Spot != "":
			t.Errorf("%+v", e)
		}
	})
}

// bounded checks that an error is a parser's, on one line, and short.
func bounded(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var malformed *trigger.Malformed
	expect.That(t, errors.As(err, &malformed) && len(malformed.Faults) > 0 && len(malformed.Faults) <= 20, "%v", err)
	text := err.Error()
	expect.That(t, len(text) <= 3000, "an error of %d bytes: %s", len(text), text)
	for _, r := range text {
		if r < ' ' || r > '~' {
			t.Errorf("%q in %q", r, text)
			break
		}
	}
}
