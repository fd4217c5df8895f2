package trigger_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func order() plan.Order {
	return plan.Order{
		ID:        "3f9a0c5d7e1b2468",
		ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"},
		Instance:  "i-0a1b2c3d4e5f60718", Group: "nodegroup/workers", Owner: roll.OwnerManagedNodeGroup, Kind: roll.Unregistered, Action: plan.Terminate,
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
		must.That(t, err == nil && got == want, "%s: %+v, %v", name, got, err)
		body, err := trigger.EncodeOrder(got)
		expect.That(t, err == nil && string(body) == r.Body, "%s, %v", body, err)
		if r.Attributes["MessageGroupId"] != trigger.OrderGroup(got) || r.Attributes["MessageDeduplicationId"] != trigger.OrderDeduplicationID(got) {
			t.Errorf("%v: group %s, deduplication id %s", r.Attributes, trigger.OrderGroup(got), trigger.OrderDeduplicationID(got))
		}
	}
}

// sampleDrain returns the order in events/order-drain.json.
func sampleDrain() plan.Order {
	o := order()
	o.ID, o.Instance, o.Node = "8c41d2f07b9e6a35", "i-0b2c3d4e5f6071829", "ip-10-0-1-20.eu-west-1.compute.internal"
	o.Kind, o.Action = roll.NotReady, plan.Drain
	o.FirstSeen, o.Since, o.Incident = noon.Add(-9*time.Minute), noon.Add(-10*time.Minute), ""
	o.Why = "node ip-10-0-1-20.eu-west-1.compute.internal has not been ready since 2026-03-10 11:50:00Z (KubeletNotReady)"
	return o
}

// sampleClaim returns the order in events/order-nodeclaim.json.
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
	o.Why = "a <b> & \"c\"\n é \u2028 \x00 \uFFFE \uFFFF"
	o.FirstSeen = o.FirstSeen.In(time.FixedZone("", 3600)).Add(time.Nanosecond)
	body, err := trigger.EncodeOrder(o)
	must.Succeed(t, err)
	got, err := trigger.ParseOrder(body)
	must.Succeed(t, err)
	o.FirstSeen = o.FirstSeen.UTC()
	o.Why = strings.NewReplacer("\uFFFE", "\uFFFD", "\uFFFF", "\uFFFD").Replace(o.Why) // SQS refuses them
	expect.That(t, got == o, "got %+v, want %+v", got, o)
}

// acting returns an order for the act, with the fields that it needs.
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

// body returns an order as a message.
func body(t *testing.T, o plan.Order) string {
	t.Helper()
	data, err := trigger.EncodeOrder(o)
	must.Succeed(t, err)
	return string(data)
}

func TestReadsOrdersOnlyAsTheyAreWritten(t *testing.T) {
	good := body(t, order())
	for name, tt := range map[string]struct{ body, want string }{
		"nothing":            {"", "not JSON (at byte 0 of 0)"},
		"more than is known": {strings.Replace(good, "{", `{"force":true,`, 1), "not written as Rollcall writes it"},
		"twice":              {strings.Replace(good, `"id":`, `"id":"3f9a0c5d7e1b2468","id":`, 1), "not written as Rollcall writes it"},
		"another case":       {strings.Replace(good, `"id":`, `"ID":`, 1), "not written as Rollcall writes it"},
		"another time zone":  {strings.Replace(good, "T12:06:12.5Z", "T13:06:12.5+01:00", 1), "not written as Rollcall writes it"},
		"a wrong type":       {strings.Replace(good, `"nodegroup/workers"`, "7", 1), "group must not be number"},
		"no time":            {strings.Replace(good, "2026-03-10T12:06:12.5Z", "now", 1), `"parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"now\" as \"2006\""`},
		"a wrong value":      {strings.Replace(good, `"terminate"`, `"explode"`, 1), `action: unknown: "explode"`},
	} {
		got, err := trigger.ParseOrder([]byte(tt.body))
		expect.That(t, err != nil && err.Error() == "malformed order: "+tt.want && got == (plan.Order{}), "%s: got  %v\nwant %s", name, err, tt.want)
	}
}

func TestSendsNoOrderThatNobodyCouldRead(t *testing.T) {
	far := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		change func(*plan.Order)
		want   string // "" for a valid order
	}{
		"no node and no reason": {func(o *plan.Order) { o.Node, o.Why = "", "" }, ""},
		"of no group":           {func(o *plan.Order) { o.Group, o.Owner = "none", "none" }, ""},
		"of no incident":        {func(o *plan.Order) { o.Incident = "" }, ""},
		"a reboot, no node":     {func(o *plan.Order) { o.Action = plan.Reboot }, ""},
		"a NodeClaim, its node": {func(o *plan.Order) { o.Action, o.Claim, o.Node = plan.DeleteNodeClaim, "default-x7k2p", "n" }, ""},
		"the longest name":      {func(o *plan.Order) { o.Action, o.Claim = plan.DeleteNodeClaim, strings.Repeat("a", 253) }, ""},

		"nothing": {func(o *plan.Order) { *o = plan.Order{} }, `id: missing; account: missing; region: missing; cluster: missing; instance: "" is not an instance id; group: missing; owner: unknown: ""; kind: unknown: ""; action: unknown: ""; firstSeen: missing, or not a time in RFC 3339; since: missing, or not a time in RFC 3339; at: missing, or not a time in RFC 3339; expires: missing, or not a time in RFC 3339; expires: must be after at`},
		"values": {func(o *plan.Order) {
			o.ID, o.ClusterID, o.Instance, o.Group, o.Incident = "1", roll.ClusterID{Account: "x", Region: "EU", Name: "a/b"}, "i-1", "workers", "x"
		}, `id: "1" is not an order id of 16 hexadecimal digits; account: "x" is not an account of 12 digits; region: "EU" is not a region; cluster: "a/b" is not a name of an EKS cluster; instance: "i-1" is not an instance id; group: "workers" is not a group such as nodegroup/workers; incident: "x" is not an incident's id of 16 hexadecimal digits`},
		"unknown words":     {func(o *plan.Order) { o.Owner, o.Kind, o.Action = "me", "Bored", "explode" }, `owner: unknown: "me"; kind: unknown: "Bored"; action: unknown: "explode"`},
		"a cordon, no node": {func(o *plan.Order) { o.Action = plan.Cordon }, "node: missing"},
		"uncordon likewise": {func(o *plan.Order) { o.Action = plan.Uncordon }, "node: missing"},
		"drain likewise":    {func(o *plan.Order) { o.Action = plan.Drain }, "node: missing"},
		"no node to delete": {func(o *plan.Order) { o.Action = plan.DeleteNode }, "node: missing"},
		"none to taint":     {func(o *plan.Order) { o.Action = plan.OutOfService }, "node: missing"},
		"no NodeClaim":      {func(o *plan.Order) { o.Action = plan.DeleteNodeClaim }, "claim: missing"},
		"a path":            {func(o *plan.Order) { o.Action, o.Claim = plan.DeleteNodeClaim, "../nodes/n" }, `claim: "../nodes/n" is not a name of a NodeClaim`},
		"a name too long":   {func(o *plan.Order) { o.Action, o.Claim = plan.DeleteNodeClaim, strings.Repeat("a", 254) }, `claim: "` + strings.Repeat("a", 40) + `" is not a name of a NodeClaim`},
		"a claim too":       {func(o *plan.Order) { o.Claim = "default-x7k2p" }, "claim: only for the action delete-nodeclaim"},
		"no time":           {func(o *plan.Order) { o.At = time.Time{} }, "at: missing, or not a time in RFC 3339"},
		"no writable one":   {func(o *plan.Order) { o.Expires = far }, "expires: missing, or not a time in RFC 3339"},
		"expired at once":   {func(o *plan.Order) { o.Expires = o.At }, "expires: must be after at"},
		"expired before":    {func(o *plan.Order) { o.Expires = o.At.Add(-time.Minute) }, "expires: must be after at"},
		"a book":            {func(o *plan.Order) { o.Why = strings.Repeat("x", trigger.MaxBody) }, "262538 bytes, more than the 262144 that are read"},
	} {
		o := order()
		tt.change(&o)
		body, err := trigger.EncodeOrder(o)
		bounded(t, err)
		switch {
		case tt.want == "":
			got, again := trigger.ParseOrder(body)
			expect.That(t, err == nil && again == nil && got == o, "%s: %+v, %v, %v", name, got, err, again)
		case err == nil || err.Error() != "malformed order: "+tt.want || body != nil:
			t.Errorf("%s: got  %v\nwant %s", name, err, tt.want)
		}
	}
}

// For five minutes a queue drops messages with a deduplication id that it has seen.
func TestAnOrderGivenAgainIsNotTakenForADuplicate(t *testing.T) {
	first := order()
	second := first
	second.At, second.Expires = second.At.Add(10*time.Second), second.Expires.Add(10*time.Second)
	later := first
	later.At, later.Expires = later.At.Add(time.Minute), later.Expires.Add(time.Minute)
	other := first
	other.ID = "0000000000000001"
	id := trigger.OrderDeduplicationID(first)
	expect.That(t, id == "3f9a0c5d7e1b2468-20260310T1217Z" && groupForm.MatchString(id), "%s", id)
	expect.Equal(t, trigger.OrderDeduplicationID(second), id, "a second delivery within the minute has")
	for _, o := range []plan.Order{later, other} {
		got := trigger.OrderDeduplicationID(o)
		expect.That(t, got != id, "%+v would be dropped", o)
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
			expect.That(t, o == (plan.Order{}), "%+v with %v", o, err)
			return
		}
		if again, err := trigger.EncodeOrder(o); err != nil || string(again) != strings.TrimSpace(string(body)) {
			t.Errorf("%s became %s, %v", body, again, err)
		}
		if !groupForm.MatchString(trigger.OrderGroup(o)) || !groupForm.MatchString(trigger.OrderDeduplicationID(o)) {
			t.Errorf("group %q, deduplication id %q", trigger.OrderGroup(o), trigger.OrderDeduplicationID(o))
		}
	})
}
