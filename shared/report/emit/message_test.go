package emit_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// hostile is a possible name of a node, reason or pod.
const hostile = "x\" \\\", \"admin\": true, \"y\": \"\n<!channel> <https://example.com|here>\t\x00\u2028\xff"

// A text that an input transformer puts between quotation marks must not end them, nor mention
// anybody in a chat.
func TestNothingLeavesTheTexts(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	w.snapshot.Nodes[0].Name = hostile
	w.snapshot.Nodes[0].Ready.Reason = hostile
	w.snapshot.Instances[0].Group = `asg/a"b\c<d>`
	key := roll.FindingKey{Instance: instance(1), Kind: roll.Unknown}
	for _, confidence := range []roll.Confidence{roll.Decisive, roll.Suggestive} {
		w.state = ledger.State{First: w.state.First}
		w.diagnoses = map[roll.FindingKey]roll.Diagnosis{key: {Causes: []roll.Cause{{Code: "KernelPanic", Confidence: confidence, Summary: hostile, Subject: hostile, Fix: hostile}}}}
		_, events := w.check(31 * time.Minute)
		f := only(t, events, "FindingOpened Unknown overdue").Detail.(emit.Finding)
		o := order()
		o.Why = hostile
		for result := range map[remediate.Result]bool{remediate.Acted: true, remediate.Failed: true, remediate.Unclear: true, remediate.Refused: true} {
			outcome := remediate.Outcome{Order: o, Result: result, Detail: hostile, News: true}
			if result == remediate.Refused {
				outcome.Reason = plan.VerdictChanged
			}
			events = append(events, emit.FromOutcome(cluster, outcome, noon)...)
		}
		w.turn(1, roll.ConditionTrue, 32*time.Minute)
		_, later := w.check(33 * time.Minute)
		events = append(events, later...)
		valid(t, events)
		expect.That(t, strings.Contains(f.Text, "(!channel)") && strings.Contains(f.Title, "'"), "%q\n%q", f.Title, f.Text)
		w.turn(1, roll.ConditionUnknown, 0)
	}
}

func TestTextsAndEventsAreBounded(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	long := strings.Repeat("ä\x01", 50_000)
	w.snapshot.Nodes[0].Ready.Reason = long
	w.snapshot.Instances[0].Group = roll.Group("asg/" + strings.Repeat("g", 300))
	key := roll.FindingKey{Instance: instance(1), Kind: roll.Unknown}
	var causes []roll.Cause
	for range 20 {
		causes = append(causes, roll.Cause{Code: "KernelPanic", Confidence: roll.Decisive, Summary: long, Subject: long, Fix: long})
	}
	w.diagnoses = map[roll.FindingKey]roll.Diagnosis{key: {Causes: causes}}
	f := w.sample(t, 31*time.Minute, "FindingOpened Unknown overdue").Detail.(emit.Finding)
	if len(f.Causes) != 5 || !strings.Contains(f.Why, "…") || !strings.HasSuffix(f.Title, "past its tolerance") {
		t.Errorf("%d causes, why %q, title %q", len(f.Causes), f.Why, f.Title)
	}
	data, err := json.Marshal(f)
	expect.That(t, err == nil && len(data) <= 150_000, "%d bytes, %v", len(data), err)
}

// All events of one finding have the same id, and a later finding has another.
func TestOneTroubleHasOneID(t *testing.T) {
	w := healthy(4)
	w.snapshot.Nodes = w.snapshot.Nodes[:3]
	w.snapshot.Instances[3].Launched = noon
	opened := only(t, w.expect(t, 6*time.Minute, "FindingOpened Unregistered warned"), "FindingOpened Unregistered warned").Detail.(emit.Finding)
	c, events := w.check(15 * time.Minute)
	escalated := only(t, events, "FindingEscalated Unregistered overdue").Detail.(emit.Finding)
	must.That(t, len(c.Plan.Orders) == 1, "held %+v", c.Plan.Held)
	o := c.Plan.Orders[0]
	if escalated.Ordered == nil || *escalated.Ordered != (emit.Ordered{Action: "terminate", Order: o.ID}) || !strings.Contains(escalated.Text, "has ordered: terminate") {
		t.Errorf("%+v", escalated)
	}
	taken := emit.FromOutcome(cluster, remediate.Outcome{Order: o, Result: remediate.Acted, Detail: "terminated"}, noon.Add(16*time.Minute))[0].Detail.(emit.Action)
	// The function that acts is not the one that checks, and reads the order as text.
	o.Since = o.Since.In(time.FixedZone("", 3600))
	again := emit.FromOutcome(cluster, remediate.Outcome{Order: o, Result: remediate.Acted, Detail: "terminated"}, noon.Add(16*time.Minute))[0].Detail.(emit.Action)
	done := &ledger.Outcome{Result: ledger.Done, At: noon.Add(16 * time.Minute)}
	w.state.Actions = []ledger.Action{
		{ID: o.ID, Do: "terminate", Instance: o.Instance, Group: o.Group, Kind: o.Kind, At: noon.Add(16 * time.Minute)},
		{ID: "1", Do: "cordon", Instance: instance(1), Group: o.Group, Kind: o.Kind, At: noon.Add(16 * time.Minute), Outcome: done},
		{ID: "2", Do: "drain", Instance: o.Instance, Group: o.Group, Kind: roll.Unknown, At: noon.Add(16 * time.Minute), Outcome: done},
		{ID: "3", Do: "reboot", Instance: o.Instance, Group: o.Group, Kind: o.Kind, At: noon.Add(-time.Hour), Outcome: done},
		{ID: "4", Do: "reboot", Instance: o.Instance, Group: o.Group, Kind: o.Kind, At: noon.Add(16 * time.Minute), Outcome: &ledger.Outcome{Result: ledger.Failed}},
	}
	w.resolved = []plan.Resolution{{ActionID: o.ID, Outcome: ledger.Outcome{Result: ledger.Done, At: noon.Add(17 * time.Minute), Detail: "seen to be shutting-down"}}}
	w.snapshot.Instances[3].State = roll.StateShuttingDown
	_, events = w.check(18 * time.Minute)
	valid(t, events)
	settled := only(t, events, "ActionTaken terminate acted").Detail.(emit.Action)
	resolved := only(t, events, "FindingResolved Unregistered gone").Detail.(emit.Resolved)
	for what, id := range map[string]string{"escalated": escalated.Finding, "taken": taken.Finding, "taken elsewhere": again.Finding, "settled": settled.Finding, "resolved": resolved.Finding} {
		expect.That(t, id != "" && id == opened.Finding, "%s is of %q, opened was %q", what, id, opened.Finding)
	}
	expect.That(t, slices.Equal(resolved.Acts, []string{"terminate"}) && resolved.Lasted == 18*60 && settled.Since.Equal(noon), "%+v\n%+v", resolved, settled)

	other := healthy(4)
	other.snapshot.Nodes = other.snapshot.Nodes[:3]
	ids := map[string]bool{opened.Finding: true}
	for _, change := range []func(){
		func() { other.snapshot.Instances[3].Launched = noon.Add(time.Second) },
		func() { other.snapshot.Cluster.ID.Region = "eu-west-2" },
		func() { other.snapshot.Instances[3].ID = instance(5) },
	} {
		other.state = ledger.State{First: other.state.First}
		change()
		id := other.sample(t, 6*time.Minute, "FindingOpened Unregistered warned").Detail.(emit.Finding).Finding
		expect.That(t, !ids[id], "another trouble has the id %s again", id)
		ids[id] = true
	}
}

func TestWhatFollowsIsSaid(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	w.snapshot.Instances[0].Hold = "true"
	f := w.sample(t, 31*time.Minute, "FindingOpened Unknown overdue").Detail.(emit.Finding)
	if f.Held == nil || f.Held.Reason != "InstanceHeld" || f.Held.Action != "reboot" || f.Next != nil || !strings.Contains(f.Text, "Held back: reboot (InstanceHeld)") || !strings.Contains(f.Text, "This ends when you remove the tag rollcall:hold") {
		t.Errorf("%+v", f)
	}
	if f.Severity != report.SeverityCritical || f.Console != "https://eu-west-1.console.aws.amazon.com/ec2/home?region=eu-west-1#InstanceDetails:instanceId="+string(instance(1)) {
		t.Errorf("%+v", f.Message)
	}
	w.turn(2, roll.ConditionUnknown, 0)
	f = w.sample(t, 32*time.Minute, "FindingOpened Unknown overdue").Detail.(emit.Finding)
	expect.That(t, f.Instance == string(instance(2)) && f.Held != nil && f.Held.Reason != "InstanceHeld", "what holds another one: %+v", f)
	w = healthy(4)
	w.snapshot.Nodes = w.snapshot.Nodes[:3]
	w.snapshot.Instances[3].Launched = noon
	_, events := w.check(6 * time.Minute)
	e := only(t, events, "FindingOpened Unregistered warned")
	f = e.Detail.(emit.Finding)
	expect.That(t, f.Severity == report.SeverityWarning && strings.Contains(f.Text, "Next, if nothing changes: terminate at 2026-03-10 12:15:00Z."), "%+v", f.Message)
	expect.List(t, e.Resources, []string{"arn:aws:ec2:eu-west-1:111122223333:instance/" + string(instance(4)), "arn:aws:eks:eu-west-1:111122223333:cluster/demo"}, "resources")
	done := only(t, events, "CheckCompleted")
	expect.That(t, slices.Equal(done.Resources, []string{"arn:aws:eks:eu-west-1:111122223333:cluster/demo"}), "resources %q", done.Resources)
	w.snapshot.Cluster.ID.Region, w.state = "us-iso-east-1", ledger.State{}
	e = w.sample(t, 6*time.Minute, "FindingOpened Unregistered warned")
	f = e.Detail.(emit.Finding)
	expect.That(t, f.Console == "" && strings.HasPrefix(e.Resources[0], "arn:aws-iso:ec2:us-iso-east-1:"), "%q %q", f.Console, e.Resources)
}

func TestACompletedCheckSumsUp(t *testing.T) {
	w := healthy(8)
	w.turn(1, roll.ConditionUnknown, 0)
	w.turn(2, roll.ConditionUnknown, time.Minute)
	w.turn(3, roll.ConditionFalse, 50*time.Minute) // within its tolerance
	w.diagnoses = map[roll.FindingKey]roll.Diagnosis{
		{Instance: instance(1), Kind: roll.Unknown}:  {Causes: []roll.Cause{{Code: "KernelPanic", Confidence: roll.Decisive, Summary: "a panic"}}},
		{Instance: instance(2), Kind: roll.Unknown}:  {Causes: []roll.Cause{{Code: "DiskFull", Confidence: roll.Suggestive, Summary: "perhaps"}}},
		{Instance: instance(3), Kind: roll.NotReady}: {Causes: []roll.Cause{{Code: "DiskFull", Confidence: roll.Decisive, Summary: "a full disk"}}},
	}
	w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapThrottled, Call: roll.CallScalingActivities}, {Scope: roll.ScopeDetail, Kind: roll.GapThrottled, Call: roll.CallNodegroup}}
	c := w.sample(t, 51*time.Minute, "CheckCompleted").Detail.(emit.Completed)
	if len(c.Kinds) != 1 || c.Kinds["Unknown"] != 2 || len(c.Causes) != 1 || c.Causes["KernelPanic"] != 1 || !c.Oldest.Equal(noon) || len(c.Gaps) != 1 || c.Gaps["Throttled"] != 2 {
		t.Errorf("%+v", c)
	}
}
