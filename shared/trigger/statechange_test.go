package trigger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/trigger"
)

var home = trigger.Home{Account: "111122223333", Region: "eu-west-1"}

func TestReadsTheSamplesOfStateChanges(t *testing.T) {
	for _, state := range []roll.InstanceState{
		roll.StatePending, roll.StateRunning, roll.StateStopping, roll.StateStopped, roll.StateShuttingDown, roll.StateTerminated,
	} {
		for _, r := range sample(t, "statechange-"+string(state)+".json") {
			got, ignored, err := trigger.ParseStateChange([]byte(r.Body), home)
			if err != nil || ignored != nil {
				t.Fatalf("%s: %v %v", state, ignored, err)
			}
			if got.State != state || got.Account != home.Account || got.Region != home.Region || got.EventID == "" ||
				!strings.HasPrefix(string(got.Instance), "i-") || got.At.IsZero() || got.At.Location() != time.UTC {
				t.Errorf("%s: %+v", state, got)
			}
		}
	}
	first, _, _ := trigger.ParseStateChange([]byte(sample(t, "statechange-running.json")[0].Body), home)
	want := trigger.StateChange{
		EventID: first.EventID, Account: "111122223333", Region: "eu-west-1",
		Instance: "i-0a1b2c3d4e5f60718", State: roll.StateRunning, At: time.Date(2026, 3, 10, 12, 0, 3, 0, time.UTC),
	}
	if first != want {
		t.Errorf("got %+v, want %+v", first, want)
	}
}

// The mixed batch holds what a queue that many write to may deliver.
func TestReadsTheMixedSample(t *testing.T) {
	want := []string{
		"running", "running", // the same event twice
		"malformed state-change event: not JSON (at byte 150 of 150)",
		`malformed state-change event: account: missing; time: "yesterday" is not a time in RFC 3339; detail.instance-id: "i-XYZ" is not an instance id`,
		"malformed state-change event: an SNS notification; the body must be the EventBridge event itself, so let the rule send to the queue directly",
		`OtherDetailType: the detail-type is "EC2 Spot Instance Interruption Warning"`,
		`ForeignSource: the source is "aws.autoscaling"`,
		"OwnEvent: an event that Rollcall emitted",
		`OtherAccount: the account is "123456789012", not 111122223333`,
		`UnknownState: i-0c3d4e5f607182930 is said to be "hibernated"`,
		`UnknownVersion: the version is "1"`,
		"running",
	}
	records := sample(t, "statechange-mixed.json")
	if len(records) != len(want) {
		t.Fatalf("%d records, want %d", len(records), len(want))
	}
	for i, r := range records {
		if got := outcome(trigger.ParseStateChange([]byte(r.Body), home)); got != want[i] {
			t.Errorf("record %d: got %s, want %s", i, got, want[i])
		}
	}
	a, _, _ := trigger.ParseStateChange([]byte(records[0].Body), home)
	b, _, _ := trigger.ParseStateChange([]byte(records[1].Body), home)
	if a != b {
		t.Errorf("two deliveries of an event differ: %+v, %+v", a, b)
	}
}

func outcome(s trigger.StateChange, i *trigger.Ignored, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case i != nil:
		return string(i.Reason) + ": " + i.Detail
	}
	return string(s.State)
}

// event is a good event, changed: nil takes a field away.
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

func TestTellsWhatIsForUs(t *testing.T) {
	const malformed = "malformed state-change event: "
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

		{"our own", event(fields{"source": "rollcall", "detail-type": "Finding Opened"}), home, "OwnEvent: an event that Rollcall emitted"},
		{"foreign, whatever else is wrong with it", event(fields{"source": "com.example", "version": nil, "detail": 7}), home, `ForeignSource: the source is "com.example"`},
		{"sources are told apart by case", event(fields{"source": "AWS.EC2"}), home, `ForeignSource: the source is "AWS.EC2"`},
		{"another detail-type", event(fields{"detail-type": "EC2 Fast Launch State-change Notification", "detail": nil}), home, `OtherDetailType: the detail-type is "EC2 Fast Launch State-change Notificatio"...`},
		{"unknown version, whatever else", event(fields{"version": "2", "detail": nil}), home, `UnknownVersion: the version is "2"`},
		{"other account", event(fields{"account": "123456789012"}), home, `OtherAccount: the account is "123456789012", not 111122223333`},
		{"other region", event(fields{"region": "us-gov-west-1"}), home, `OtherRegion: the region is "us-gov-west-1", not eu-west-1`},
		{"unknown state", event(fields{"detail": fields{"instance-id": "i-0a1b2c3d4e5f60718", "state": "Running"}}), home, `UnknownState: i-0a1b2c3d4e5f60718 is said to be "Running"`},

		{"empty", nil, home, malformed + "empty"},
		{"blank", []byte(" \n"), home, malformed + "empty"},
		{"no JSON", []byte("hello"), home, malformed + "not JSON (at byte 1 of 5)"},
		{"two documents", []byte("{}{}"), home, malformed + "not JSON (at byte 3 of 4)"},
		{"no UTF-8", []byte("{\"a\":\"\xff\"}"), home, malformed + "not UTF-8"},
		{"too large", []byte(strings.Repeat(" ", trigger.MaxBody) + "{}"), home, malformed + "262146 bytes, more than the 262144 that are read"},
		{"nested too deep", []byte(strings.Repeat("[", 100_000)), home, malformed + "not JSON (at byte 10001 of 100000)"},
		{"an array", []byte("[]"), home, malformed + "must be a JSON object, is an array"},
		{"null", []byte(" null"), home, malformed + "must be a JSON object, is null"},
		{"an event in a string", []byte(`"{}"`), home, malformed + "must be a JSON object, is a string"},
		{"a batch", []byte(`{"Records": []}`), home, malformed + "a batch of records; each record's body is to be read on its own"},
		{"a record", []byte(`{"messageId": "a", "body": "{}"}`), home, malformed + "an SQS record; its body is to be read"},
		{"all at once", []byte("{}"), home, malformed + "source: missing; detail-type: missing; version: missing; id: missing; account: missing; region: missing; time: missing; detail: missing"},
		{"wrong types", event(fields{"source": 1, "version": 0, "time": true, "id": []int{}, "account": 111122223333, "region": fields{}, "detail": "{}"}), home,
			malformed + "source: must be a string, is a number; version: must be a string, is a number; id: must be a string, is an array; account: must be a string, is a number; region: must be a string, is an object; time: must be a string, is a boolean; detail: must be a JSON object, is a string"},
		{"wrong values", event(fields{"id": "a b", "account": "1111", "region": "EU", "time": "2026-03-10 12:00:00", "detail": fields{"instance-id": "i-0A1B2C3D", "state": ""}}), home,
			malformed + `id: "a b" is not an event id; account: "1111" is not an account of 12 digits; region: "EU" is not a region; time: "2026-03-10 12:00:00" is not a time in RFC 3339; detail.instance-id: "i-0A1B2C3D" is not an instance id; detail.state: empty`},
		{"null is no string", []byte(`{"source": null, "detail-type": "x", "version": "0"}`), home,
			malformed + "source: must be a string, is null; id: missing; account: missing; region: missing; time: missing; detail: missing"},
		{"the same field twice", []byte(`{"source": "aws.ec2", "source": "rollcall", "source": "x"}`), home, malformed + `has "source" twice`},
		{"twice in the detail", []byte(strings.Replace(string(event(nil)), `"state":"running"`, `"state":"running","state":"stopped"`, 1)), home, malformed + `detail: has "state" twice`},
		{"names are told apart by case", []byte(strings.Replace(string(event(nil)), `"state":`, `"State":`, 1)), home, malformed + "detail.state: missing"},
		{"years out of range", event(fields{"time": "0000-01-01T00:00:00Z"}), home, malformed + `time: "0000-01-01T00:00:00Z" is not a time in RFC 3339`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := outcome(trigger.ParseStateChange(tt.body, tt.home)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Nobody who writes to the queue may fill the logs, or write lines into them.
func TestQuotesLittleOfItsInput(t *testing.T) {
	long := strings.Repeat("é\n", 5000)
	bodies := [][]byte{
		event(fields{"id": long, "account": long, "region": long, "time": long, "detail": fields{"instance-id": long, "state": "running"}}),
		event(fields{"source": long}),
		event(fields{"detail-type": long}),
		event(fields{"version": long}),
		event(fields{"detail": fields{"instance-id": "i-0a1b2c3d4e5f60718", "state": long}}),
	}
	var many strings.Builder
	many.WriteString("{")
	for i := range 1000 {
		fmt.Fprintf(&many, `"%d%s": 1, "%d%s": 2,`, i, "sentinel", i, "sentinel")
	}
	bodies = append(bodies, []byte(many.String()+`"a": 1}`))
	for _, body := range bodies {
		got := outcome(trigger.ParseStateChange(body, home))
		if quoted := strings.Count(got, `\u00e9`) + strings.Count(got, `\n`); quoted > 80 || strings.Count(got, "sentinel") > 10 || len(got) > 2000 || strings.ContainsAny(got, "\né") {
			t.Errorf("%d characters, %d quoted: %s", len(got), quoted, got)
		}
	}
	var malformed *trigger.Malformed
	if _, _, err := trigger.ParseStateChange(bodies[0], home); !errors.As(err, &malformed) || len(malformed.Faults) != 5 {
		t.Errorf("%v", err)
	}
}

func FuzzParseStateChange(f *testing.F) {
	for _, name := range samples(f, "statechange-*.json") {
		for _, r := range sample(f, name) {
			f.Add([]byte(r.Body))
		}
	}
	f.Add([]byte(`{"source":"aws.ec2","source":"\ud800","detail":{"a":[[[[]]]]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, ignored, err := trigger.ParseStateChange(body, home)
		bounded(t, err)
		switch {
		case err != nil:
			if ignored != nil || s != (trigger.StateChange{}) {
				t.Errorf("%v %v with %v", s, ignored, err)
			}
		case ignored != nil:
			if s != (trigger.StateChange{}) || ignored.Reason == "" || len(ignored.Detail) > 1200 || strings.ContainsAny(ignored.Detail, "\n\x00") {
				t.Errorf("%v with %+v", s, ignored)
			}
		default:
			again, ignored, err := trigger.ParseStateChange(event(fields{
				"id": s.EventID, "account": s.Account, "region": s.Region, "time": s.At.Format(time.RFC3339Nano),
				"detail": fields{"instance-id": s.Instance, "state": s.State},
			}), home)
			if err != nil || ignored != nil || again != s {
				t.Errorf("%+v became %+v, %v, %v", s, again, ignored, err)
			}
		}
	})
}

// bounded checks that an error is one of a parser, on one line, and short.
func bounded(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var malformed *trigger.Malformed
	if !errors.As(err, &malformed) || len(malformed.Faults) == 0 || len(malformed.Faults) > 20 {
		t.Errorf("%v", err)
	}
	text := err.Error()
	if len(text) > 3000 {
		t.Errorf("an error of %d bytes: %s", len(text), text)
	}
	for _, r := range text {
		if r < ' ' || r > '~' {
			t.Errorf("%q in %q", r, text)
			break
		}
	}
}
