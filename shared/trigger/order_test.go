package trigger_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
	"rollcall/shared/trigger"
)

func order() plan.Order {
	return plan.Order{
		ID:       "3f9a0c5d7e1b2468",
		Cluster:  roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"},
		Instance: "i-0a1b2c3d4e5f60718", Group: "nodegroup/workers", Owner: roll.OwnerManagedNodeGroup, Kind: roll.Unregistered, Action: plan.Terminate,
		FirstSeen: noon.Add(6*time.Minute + 12*time.Second + 500*time.Millisecond), Since: noon.Add(-14 * time.Second),
		At: noon.Add(17*time.Minute + 8*time.Second + 250*time.Millisecond), Expires: noon.Add(27*time.Minute + 8*time.Second + 250*time.Millisecond),
		Why: "instance i-0a1b2c3d4e5f60718 has not registered as a node since its launch at 2026-03-10 11:59:46Z",
	}
}

func TestReadsTheSampleOfAnOrder(t *testing.T) {
	r := sample(t, "order.json")[0]
	got, err := trigger.ParseOrder([]byte(r.Body))
	if err != nil || got != order() {
		t.Fatalf("%+v, %v", got, err)
	}
	body, err := trigger.EncodeOrder(got)
	if err != nil || string(body) != r.Body {
		t.Errorf("%s, %v", body, err)
	}
	if r.Attributes["MessageGroupId"] != trigger.OrderGroup(got) || r.Attributes["MessageDeduplicationId"] != trigger.OrderDeduplicationID(got) {
		t.Errorf("%v: group %s, deduplication id %s", r.Attributes, trigger.OrderGroup(got), trigger.OrderDeduplicationID(got))
	}
}

func TestAnOrderArrivesAsItWasSent(t *testing.T) {
	o := order()
	o.Node = "ip-10-0-1-2.eu-west-1.compute.internal"
	o.Why = "a <b> & \"c\"\n é \u2028 \x00 \uFFFF"
	o.FirstSeen = o.FirstSeen.In(time.FixedZone("", 3600)).Add(time.Nanosecond)
	body, err := trigger.EncodeOrder(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trigger.ParseOrder(body)
	if err != nil {
		t.Fatal(err)
	}
	o.FirstSeen = o.FirstSeen.UTC()
	o.Why = strings.ReplaceAll(o.Why, "\uFFFF", "\uFFFD") // SQS refuses it
	if got != o {
		t.Errorf("got %+v, want %+v", got, o)
	}
}

// message is the order as a message, changed: nil takes a field away.
func message(t *testing.T, change fields) []byte {
	t.Helper()
	body, err := trigger.EncodeOrder(order())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	maps.Copy(m, change)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	if body, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestReadsOrdersStrictly(t *testing.T) {
	const malformed = "malformed order: "
	tests := []struct {
		name string
		body []byte
		want string
	}{
		{"as it is written", message(t, nil), ""},
		{"without a node and a reason", message(t, fields{"node": nil, "why": nil}), ""},
		{"of no group", message(t, fields{"group": "none", "owner": "none"}), ""},
		{"nothing", []byte("{}"), "id: missing; account: missing; region: missing; cluster: missing; instance: missing; group: missing; owner: missing; kind: missing; action: missing; firstSeen: missing; since: missing; at: missing; expires: missing"},
		{"expires when it is given", message(t, fields{"expires": "2026-03-10T12:17:08.25Z"}), "expires: must be after at"},
		{"expires before", message(t, fields{"expires": "2026-03-10T12:00:00Z"}), "expires: must be after at"},
		{"more than is known", message(t, fields{"force": true, "ID": "x"}), `unknown field "ID"; unknown field "force"`},
		{"values", message(t, fields{"id": "1", "account": "x", "region": "", "cluster": "a/b", "instance": "i-1", "group": "workers", "owner": "me", "kind": "Bored", "action": "reboot", "at": "now", "node": 1}),
			`id: "1" is not an order id of 16 hexadecimal digits; account: "x" is not an account of 12 digits; region: empty; cluster: "a/b" is not a name of an EKS cluster; instance: "i-1" is not an instance id; group: "workers" is not a group such as nodegroup/workers; owner: unknown: "me"; kind: unknown: "Bored"; action: unknown: "reboot"; at: "now" is not a time in RFC 3339; node: must be a string, is a number`},
		{"twice", []byte(strings.Replace(string(message(t, nil)), `"id":`, `"id":"3f9a0c5d7e1b2468","id":`, 1)), `has "id" twice`},
		{"a check", []byte(`{"cluster":"demo","due":"2026-03-10T12:05:00Z"}`), `unknown field "due"; id: missing; account: missing; region: missing; instance: missing; group: missing; owner: missing; kind: missing; action: missing; firstSeen: missing; since: missing; at: missing; expires: missing`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := trigger.ParseOrder(tt.body)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || err.Error() != malformed+tt.want || got != (plan.Order{}) {
				t.Errorf("got  %v\nwant %s%s", err, malformed, tt.want)
			}
		})
	}
}

func TestSendsNoOrderThatNobodyCouldRead(t *testing.T) {
	far := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, change := range map[string]func(*plan.Order){
		"no id":           func(o *plan.Order) { o.ID = "" },
		"no account":      func(o *plan.Order) { o.Cluster.Account = "" },
		"no instance":     func(o *plan.Order) { o.Instance = "" },
		"unknown action":  func(o *plan.Order) { o.Action = "reboot" },
		"no time":         func(o *plan.Order) { o.At = time.Time{} },
		"no writable one": func(o *plan.Order) { o.Expires = far },
		"expired at once": func(o *plan.Order) { o.Expires = o.At },
		"a book":          func(o *plan.Order) { o.Why = strings.Repeat("x", trigger.MaxBody) },
	} {
		o := order()
		change(&o)
		body, err := trigger.EncodeOrder(o)
		bounded(t, err)
		if err == nil || body != nil {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
	_, err := trigger.EncodeOrder(plan.Order{})
	if want := "malformed order: id: empty; account: empty; region: empty; cluster: empty; instance: empty; group: empty; owner: empty; kind: empty; action: empty; firstSeen: empty; since: empty; at: empty; expires: empty"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// A queue drops for five minutes what has a deduplication id that it has seen.
func TestAnOrderGivenAgainIsNotTakenForADuplicate(t *testing.T) {
	first := order()
	second := first
	second.At, second.Expires = second.At.Add(10*time.Second), second.Expires.Add(10*time.Second)
	later := first
	later.At, later.Expires = later.At.Add(time.Minute), later.Expires.Add(time.Minute)
	other := first
	other.ID = "0000000000000001"
	id := trigger.OrderDeduplicationID(first)
	if id != "3f9a0c5d7e1b2468-20260310T1217Z" || !groupForm.MatchString(id) {
		t.Errorf("%s", id)
	}
	if got := trigger.OrderDeduplicationID(second); got != id {
		t.Errorf("a second delivery within the minute has %s", got)
	}
	for _, o := range []plan.Order{later, other} {
		if got := trigger.OrderDeduplicationID(o); got == id {
			t.Errorf("%+v would be dropped", o)
		}
	}
}

func FuzzParseOrder(f *testing.F) {
	f.Add([]byte(sample(f, "order.json")[0].Body))
	f.Add([]byte(`{"id":"3f9a0c5d7e1b2468","at":"0000-01-01T00:00:00+23:59","why":"\ud800\uffff"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := trigger.ParseOrder(body)
		bounded(t, err)
		if err != nil {
			if o != (plan.Order{}) {
				t.Errorf("%+v with %v", o, err)
			}
			return
		}
		encoded, err := trigger.EncodeOrder(o)
		if err != nil {
			if len(body) > trigger.MaxBody/8 {
				return // escaping made it too large to send
			}
			t.Fatalf("%+v: %v", o, err)
		}
		again, err := trigger.ParseOrder(encoded)
		if err != nil || again != o {
			t.Errorf("%+v became %+v, %v", o, again, err)
		}
		if !groupForm.MatchString(trigger.OrderGroup(o)) || !groupForm.MatchString(trigger.OrderDeduplicationID(o)) {
			t.Errorf("group %q, deduplication id %q", trigger.OrderGroup(o), trigger.OrderDeduplicationID(o))
		}
	})
}
