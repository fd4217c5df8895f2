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
		Why:      "instance i-0a1b2c3d4e5f60718 has not registered as a node since its launch at 2026-03-10 11:59:46Z",
		Incident: "5d1c7f9e3b2a4680",
	}
}

func TestReadsTheSamplesOfOrders(t *testing.T) {
	for name, want := range map[string]plan.Order{"order.json": order(), "order-drain.json": sampleDrain(), "order-nodeclaim.json": sampleClaim()} {
		r := sample(t, name)[0]
		got, err := trigger.ParseOrder([]byte(r.Body))
		if err != nil || got != want {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		body, err := trigger.EncodeOrder(got)
		if err != nil || string(body) != r.Body {
			t.Errorf("%s, %v", body, err)
		}
		if r.Attributes["MessageGroupId"] != trigger.OrderGroup(got) || r.Attributes["MessageDeduplicationId"] != trigger.OrderDeduplicationID(got) {
			t.Errorf("%v: group %s, deduplication id %s", r.Attributes, trigger.OrderGroup(got), trigger.OrderDeduplicationID(got))
		}
	}
}

// sampleDrain is the order of events/order-drain.json.
func sampleDrain() plan.Order {
	o := order()
	o.ID, o.Instance, o.Node = "8c41d2f07b9e6a35", "i-0b2c3d4e5f6071829", "ip-10-0-1-20.eu-west-1.compute.internal"
	o.Kind, o.Action = roll.NotReady, plan.Drain
	o.FirstSeen, o.Since, o.Incident = noon.Add(-9*time.Minute), noon.Add(-10*time.Minute), ""
	o.Why = "node ip-10-0-1-20.eu-west-1.compute.internal reports that it is not ready since 2026-03-10 11:50:00Z (KubeletNotReady)"
	return o
}

// sampleClaim is the order of events/order-nodeclaim.json.
func sampleClaim() plan.Order {
	o := order()
	o.ID, o.Instance, o.Claim = "d05b6e9f2a7c4813", "i-0c3d4e5f607182930", "default-x7k2p"
	o.Group, o.Owner, o.Action, o.Incident = "nodepool/default", roll.OwnerKarpenter, plan.DeleteNodeClaim, ""
	o.Why = "instance i-0c3d4e5f607182930 has not registered as a node since its launch at 2026-03-10 11:59:46Z"
	return o
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

// acting is the order for another act, with what that act needs.
func acting(a plan.Action) plan.Order {
	o := order()
	o.Action = a
	switch a {
	case plan.Cordon, plan.Uncordon, plan.Drain, plan.DeleteNode:
		o.Node = "ip-10-0-1-2.eu-west-1.compute.internal"
	case plan.DeleteNodeClaim:
		o.Claim = "default-x7k2p"
	}
	return o
}

func TestEveryActCanBeOrdered(t *testing.T) {
	for _, a := range []plan.Action{plan.Cordon, plan.Uncordon, plan.Drain, plan.Reboot, plan.DeleteNode, plan.DeleteNodeClaim, plan.Terminate} {
		want := acting(a)
		body, err := trigger.EncodeOrder(want)
		if err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		if got, err := trigger.ParseOrder(body); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", a, got, err, want)
		}
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
		{"values", message(t, fields{"id": "1", "account": "x", "region": "", "cluster": "a/b", "instance": "i-1", "group": "workers", "owner": "me", "kind": "Bored", "action": "explode", "at": "now", "node": 1}),
			`id: "1" is not an order id of 16 hexadecimal digits; account: "x" is not an account of 12 digits; region: empty; cluster: "a/b" is not a name of an EKS cluster; instance: "i-1" is not an instance id; group: "workers" is not a group such as nodegroup/workers; owner: unknown: "me"; kind: unknown: "Bored"; action: unknown: "explode"; at: "now" is not a time in RFC 3339; node: must be a string, is a number`},
		{"a cordon of nobody knows which node", message(t, fields{"action": "cordon"}), "node: missing"},
		{"an uncordon likewise", message(t, fields{"action": "uncordon", "node": ""}), "node: empty"},
		{"a drain likewise", message(t, fields{"action": "drain", "node": 7}), "node: must be a string, is a number"},
		{"a deletion of nobody knows which node", message(t, fields{"action": "delete-node"}), "node: missing"},
		{"a reboot needs no node", message(t, fields{"action": "reboot"}), ""},
		{"a NodeClaim", message(t, fields{"action": "delete-nodeclaim", "claim": "default-x7k2p"}), ""},
		{"a NodeClaim and its node", message(t, fields{"action": "delete-nodeclaim", "claim": "default-x7k2p", "node": "n"}), ""},
		{"nobody knows which NodeClaim", message(t, fields{"action": "delete-nodeclaim"}), "claim: missing"},
		{"an empty one", message(t, fields{"action": "delete-nodeclaim", "claim": ""}), "claim: empty"},
		{"a path to something else", message(t, fields{"action": "delete-nodeclaim", "claim": "../nodes/n"}), `claim: "../nodes/n" is not a name of a NodeClaim`},
		{"a name too long", message(t, fields{"action": "delete-nodeclaim", "claim": strings.Repeat("a", 254)}), `claim: "` + strings.Repeat("a", 40) + `"... is not a name of a NodeClaim`},
		{"the longest name", message(t, fields{"action": "delete-nodeclaim", "claim": strings.Repeat("a", 253)}), ""},
		{"a NodeClaim for another act", message(t, fields{"claim": "default-x7k2p"}), "claim: only for the action delete-nodeclaim"},
		{"all at once", message(t, fields{"action": "drain", "claim": "default-x7k2p", "id": "1", "expires": "2026-03-10T12:00:00Z"}),
			`id: "1" is not an order id of 16 hexadecimal digits; node: missing; claim: only for the action delete-nodeclaim; expires: must be after at`},
		{"a claim of an act that nobody knows", message(t, fields{"action": "explode", "claim": "x"}), `action: unknown: "explode"`},
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
		"unknown action":  func(o *plan.Order) { o.Action = "explode" },
		"no node":         func(o *plan.Order) { o.Action = plan.Drain },
		"no claim":        func(o *plan.Order) { o.Action = plan.DeleteNodeClaim },
		"a claim too":     func(o *plan.Order) { o.Claim = "default-x7k2p" },
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
	for _, name := range samples(f, "order*.json") {
		f.Add([]byte(sample(f, name)[0].Body))
	}
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
