package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// incidents simulates the events in a group, and records the notices.
type incidents struct {
	*world
	t    *testing.T
	said []string // minute, news, and the number of instances in the notice
	last Notice
}

func newIncidents(t *testing.T) *incidents {
	w := newWorld()
	w.mode = policy.Notify
	w.causes, w.unchecked, w.ruledOut = map[roll.FindingKey][]roll.Cause{}, map[roll.FindingKey][]string{}, map[roll.FindingKey][]string{}
	return &incidents{world: w, t: t}
}

// launch replaces the group's instances with new ones that have not registered.
func (w *incidents) launch(at time.Time, numbers ...int) {
	w.snapshot.Instances, w.snapshot.Nodes = nil, nil
	for _, n := range numbers {
		i := w.add(n, 0)
		i.Owner, i.Group, i.ASG, i.Launched = roll.OwnerManagedNodeGroup, "nodegroup/w", "", at
	}
	w.snapshot.Nodes = nil
}

// launchOneMore launches another instance in that minute.
func (w *incidents) launchOneMore(minute int) *roll.Instance {
	i := w.add(minute, 0)
	i.Owner, i.Group, i.ASG, i.Launched = roll.OwnerManagedNodeGroup, "nodegroup/w", "", now.Add(time.Duration(minute)*time.Minute)
	w.snapshot.Nodes = nil
	return i
}

// launchAlone launches an instance in that minute that should be a node and has no group.
func (w *incidents) launchAlone(minute int) {
	i := w.launchOneMore(minute)
	i.Owner, i.Group = roll.OwnerNone, roll.GroupNone
	w.snapshot.Details[i.ID] = roll.Detail{Bootstraps: roll.Yes}
}

// because sets the causes of an instance.
func (w *incidents) because(n int, codes ...string) {
	key := roll.FindingKey{Instance: instanceID(n), Kind: roll.Unregistered}
	w.causes[key] = nil
	for _, code := range codes {
		w.causes[key] = append(w.causes[key], roll.Cause{Code: code, Confidence: roll.Decisive})
	}
}

func (w *incidents) look(at time.Time) {
	w.t.Helper()
	_, p := w.make(at)
	for _, n := range p.Notices {
		w.said = append(w.said, fmt.Sprintf("%d %v %d", int(at.Sub(now).Minutes()), said(n), len(n.Entries)))
		w.last = n
	}
	w.apply(p)
}

func said(n Notice) []News {
	if n.Over {
		return []News{"resolved"}
	}
	return n.News
}

func (w *incidents) want(what string, want ...string) {
	w.t.Helper()
	expect.List(w.t, w.said, want, "%s: told", what)
	w.said = nil
}

// Instances that their owner replaces every quarter of an hour, and that fail each time for the
// same reason, cause two notices and one at the end, not one per instance.
func TestALoopOfReplacementsIsOneIncident(t *testing.T) {
	w := newIncidents(t)
	ids := map[string]bool{}
	for round := range 12 {
		launched := now.Add(time.Duration(round) * 16 * time.Minute)
		w.launch(launched, round+1)
		w.because(round+1, "NodeRoleNotMapped")
		for _, minute := range []int{1, 6, 11, 15} {
			w.look(launched.Add(time.Duration(minute) * time.Minute))
		}
		ids[w.last.Incident.ID] = true
	}
	w.want("a loop", "6 [opened] 1", "15 [escalated] 1")
	expect.That(t, len(ids) == 1 && !ids[""], "incidents %v", ids)
	// The next one becomes a node.
	launched := now.Add(12 * 16 * time.Minute)
	w.launch(launched, 99)
	w.look(launched.Add(time.Minute))
	w.snapshot.Nodes = []roll.Node{{Name: "node-99", Compute: roll.ComputeEC2, Instance: instanceID(99), Created: launched, Ready: roll.Condition{Status: roll.ConditionTrue, Since: launched}, Group: "nodegroup/w"}}
	for minute := 2; minute < 16; minute++ {
		w.look(launched.Add(time.Duration(minute) * time.Minute))
	}
	w.want("the end of it", "204 [resolved] 0")
	i := w.last.Incident
	expect.That(t, i.Total == 12 && i.Sent == 3 && i.First.Equal(now.Add(6*time.Minute)), "the end refers to %+v", i)
	expect.That(t, len(w.state.Notices) == 0, "remembered %+v", w.state.Notices)
}

// With an unknown cause, each instance may have its own fault: further ones are reported, ever more
// rarely.
func TestOfALoopWithoutAKnownCauseEverFewerNoticesAreSent(t *testing.T) {
	w := newIncidents(t)
	for round := range 20 {
		launched := now.Add(time.Duration(round) * 16 * time.Minute)
		w.launch(launched, round+1)
		for _, minute := range []int{1, 6, 11, 15} {
			w.look(launched.Add(time.Duration(minute) * time.Minute))
		}
	}
	w.want("a loop", "6 [opened] 1", "15 [escalated] 1", "22 [grown] 1", "38 [grown] 1", "70 [grown] 1", "118 [grown] 1", "182 [grown] 1", "278 [grown] 1")
}

// Further instances with a shared cause are reported once there are many more.
func TestATroubleThatGrowsIsToldWhenItHasGrownByHalf(t *testing.T) {
	w := newIncidents(t)
	for minute := 1; minute <= 40; minute++ {
		w.launchOneMore(minute)
		w.because(minute, "NodeRoleNotMapped")
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.want("one a minute", "6 [opened] 1", "7 [grown] 2", "8 [grown] 3", "10 [grown] 5", "13 [grown] 8", "16 [escalated] 11", "17 [held] 12", "23 [grown] 18", "32 [grown] 27")
}

// Two causes are two notices.
func TestEachCauseHasItsOwnNotice(t *testing.T) {
	w := newIncidents(t)
	w.launch(now, 1, 2, 3)
	w.because(1, "NodeRoleNotMapped")
	w.because(2, "SubnetIpsExhausted", "NodeRoleNotMapped")
	_, p := w.make(now.Add(20 * time.Minute))
	var keys []string
	for _, n := range p.Notices {
		keys = append(keys, fmt.Sprint(n.Key.Cause, " ", len(n.Entries)))
	}
	expect.List(t, keys, []string{" 1", "NodeRoleNotMapped 1", "SubnetIpsExhausted 1"}, "notices")
}

// A cause that is found later is news of the same incident. It is no news if it once could not be
// checked; it is if it is ruled out.
func TestWhatIsFoundOutLaterGoesOnInTheSameIncident(t *testing.T) {
	w := newIncidents(t)
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unregistered}
	w.launch(now, 1)
	w.look(now.Add(16 * time.Minute))
	first, key0 := w.last, w.last.Key
	w.because(1, "NodeadmFailed")
	w.look(now.Add(21 * time.Minute))
	w.want("found later", "16 [opened] 1", "21 [cause] 1")
	if w.last.Incident.ID != first.Incident.ID || w.last.Key.Cause != "NodeadmFailed" || !slices.Equal(w.last.Replaces, []ledger.NoticeKey{first.Key}) {
		t.Errorf("%+v goes on from %+v", w.last, first)
	}
	expect.That(t, len(w.state.Notices) == 1, "remembered %+v", w.state.Notices)
	w.because(1)
	w.unchecked[key] = []string{"NodeadmFailed"}
	w.look(now.Add(26 * time.Minute))
	w.unchecked[key] = nil
	w.look(now.Add(31 * time.Minute)) // neither found nor ruled out
	w.because(1, "UserDataEmpty", "NodeadmFailed")
	w.look(now.Add(36 * time.Minute))
	w.want("the same, or not looked for")
	w.because(1)
	w.ruledOut[key] = []string{"NodeadmFailed"}
	w.look(now.Add(41 * time.Minute))
	w.want("ruled out")
	if n := w.state.Notices[first.Key]; len(w.state.Notices) != 1 || n.Incident.ID != first.Incident.ID {
		t.Errorf("remembered %+v", w.state.Notices)
	}
	w.because(1, "UserDataEmpty")
	w.look(now.Add(46 * time.Minute))
	w.want("another cause", "46 [cause] 1")
	w.mode = policy.Observe
	w.because(1, "NodeadmFailed")
	w.ruledOut[key] = []string{"UserDataEmpty"}
	for minute := 51; minute < 80; minute += 5 {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.mode = policy.Notify
	w.look(now.Add(81 * time.Minute))
	w.want("what was told before, while nobody was told")
	n := w.state.Notices[ledger.NoticeKey{Group: key0.Group, Kind: key0.Kind, Cause: "NodeadmFailed"}]
	expect.That(t, n.Incident.ID == first.Incident.ID && n.Incident.Sent == 3, "remembered %+v", w.state.Notices)
}

// In one of two instances the cause is seen in one check and ruled out in the next. The instance
// moves between two incidents, and neither is opened again.
func TestAnInstanceThatGoesToAndFroIsToldOnce(t *testing.T) {
	w := newIncidents(t)
	other := roll.FindingKey{Instance: instanceID(2), Kind: roll.Unregistered}
	w.launch(now, 1, 2)
	w.because(1, "UserDataMalformedFlags")
	w.look(now.Add(16 * time.Minute))
	w.want("one is known to have the cause", "16 [opened] 1", "16 [opened] 1")
	for minute := 20; minute < 300; minute += 20 {
		w.because(2, "UserDataMalformedFlags")
		w.ruledOut[other] = nil
		if minute/60%2 == 1 {
			w.because(2)
			w.ruledOut[other] = []string{"UserDataMalformedFlags"}
		}
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	expect.That(t, len(w.state.Notices) == 2, "remembered %+v", w.state.Notices)
	w.want("to and fro", "20 [held grown] 2")
}

// What goes to another incident without a notice ended here, as far as anybody knows: the end is told.
func TestWhatGoesToAnotherIncidentUnnoticedLeavesThisOne(t *testing.T) {
	w := newIncidents(t)
	w.launch(now, 1, 2, 3, 4, 5, 6)
	for n := 3; n <= 6; n++ {
		w.because(n, "NodeRoleNotMapped")
	}
	for minute := 16; minute < 30; minute += 5 {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	key := w.last.Key
	key.Cause, w.said = "", nil
	w.because(2, "NodeRoleNotMapped")
	w.look(now.Add(31 * time.Minute))
	w.want("one more of five")
	n := w.state.Notices[key]
	_, member := n.Members[instanceID(2)]
	expect.That(t, !member && n.Incident.Left == 1, "remembered %+v", n)
}

// An instance in which a known cause could not be checked joins those that have it.
func TestWhatCouldNotBeLookedForJoinsTheKnownIncident(t *testing.T) {
	w := newIncidents(t)
	w.launchOneMore(1)
	w.because(1, "NodeRoleNotMapped")
	w.look(now.Add(6 * time.Minute))
	w.launchOneMore(6)
	w.unchecked[roll.FindingKey{Instance: instanceID(6), Kind: roll.Unregistered}] = []string{"NodeRoleNotMapped"}
	w.look(now.Add(11 * time.Minute))
	w.want("a sample", "6 [opened] 1", "11 [grown] 2")
	expect.That(t, len(w.state.Notices) == 1, "remembered %+v", w.state.Notices)
}

// An instance that joined another incident may return to its first cause, whose incident is over by
// then. That opens a new incident.
func TestAnIncidentThatIsOverKeepsItsName(t *testing.T) {
	w := newIncidents(t)
	key := roll.FindingKey{Instance: instanceID(2), Kind: roll.Unregistered}
	w.launch(now, 1, 2, 3)
	w.because(1, "NodeRoleNotMapped")
	w.look(now.Add(16 * time.Minute))
	first := w.state.Notices[ledger.NoticeKey{Group: "nodegroup/w", Kind: roll.Unregistered}].Incident.ID
	w.because(2, "NodeRoleNotMapped")
	w.look(now.Add(20 * time.Minute))
	w.snapshot.Instances = w.snapshot.Instances[:2] // the third is gone
	for minute := 25; minute < 120; minute += 5 {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.want("the third is gone", "16 [opened] 2", "16 [opened] 1", "20 [held] 1", "20 [held grown] 2", "35 [resolved] 0")
	w.because(2)
	w.ruledOut[key] = []string{"NodeRoleNotMapped"}
	w.look(now.Add(120 * time.Minute))
	w.want("the second has another cause", "120 [opened] 1")
	id := w.last.Incident.ID
	expect.That(t, id != first && id != "", "the incident is named %q, as one that is over", id)
}

// A notice that was sent but not recorded is sent again with the same incident.
func TestANoticeThatIsSentTwiceIsOfOneIncident(t *testing.T) {
	w := newIncidents(t)
	w.launch(now, 1)
	_, one := w.make(now.Add(16 * time.Minute))
	w.state.Apply(one.Changes) // the findings are remembered before the notice is sent
	_, two := w.make(now.Add(17 * time.Minute))
	if one.Notices[0].Incident.ID != two.Notices[0].Incident.ID || one.Notices[0].Incident.ID == "" {
		t.Errorf("incidents %q and %q", one.Notices[0].Incident.ID, two.Notices[0].Incident.ID)
	}
}

// Instances without a group are independent: each one is reported.
func TestOfNoGroupEachInstanceIsTold(t *testing.T) {
	w := newIncidents(t)
	for minute := 1; minute <= 9; minute++ {
		w.launchAlone(minute)
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.want("one a minute", "6 [opened] 1", "7 [grown] 2", "8 [grown] 3", "9 [grown] 4")
}

// What the other instances have can be read in some checks only, so that two reasons alternate. Each is
// told once.
func TestOfNoGroupReasonsThatAlternateAreToldOnce(t *testing.T) {
	w := newIncidents(t)
	for n := 1; n <= 2; n++ {
		w.launchAlone(n)
	}
	reasons := map[Reason]bool{}
	for minute := 20; minute <= 40; minute++ {
		for n := 1; n <= 2; n++ {
			key := roll.FindingKey{Instance: instanceID(n), Kind: roll.Unregistered}
			w.causes[key] = []roll.Cause{{Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Cure: roll.CureChange, Subject: fmt.Sprintf("role/%d", n*(minute%2))}}
		}
		at := now.Add(time.Duration(minute) * time.Minute)
		_, p := w.make(at)
		for _, h := range p.Held {
			reasons[h.Reason] = true
		}
		w.look(at)
	}
	must.That(t, reasons[SharedCause] && reasons[CauseOutside], "held for %v", reasons)
	w.want("two instances of no group", "20 [opened] 2", "21 [held] 2")
}

// An instance that joins without a notice is remembered, and reported when it is news later.
func TestWhatJoinsQuietlyIsRemembered(t *testing.T) {
	w := newIncidents(t)
	w.doc = with("limits: {unhealthy: 100%}\n")
	for n := 1; n <= 4; n++ {
		w.launchOneMore(n)
		w.because(n, "NodeRoleNotMapped")
	}
	w.look(now.Add(8 * time.Minute))
	_, p := w.make(now.Add(9 * time.Minute))
	must.That(t, len(p.Notices) == 0 && len(p.Quiet) == 1 && p.Quiet[0].Finding.Instance == instanceID(4) && p.Quiet[0].New, "notices %+v, quiet %+v", p.Notices, p.Quiet)
	w.apply(p)
	if _, p = w.make(now.Add(10 * time.Minute)); len(p.Notices)+len(p.Quiet) != 0 || len(p.Changes.Put.Notices) != 0 {
		t.Errorf("the same again: notices %+v, quiet %+v, remembered %+v", p.Notices, p.Quiet, p.Changes.Put.Notices)
	}
	w.snapshot.Instances[0].Hold = "true"
	_, p = w.make(now.Add(16 * time.Minute))
	must.That(t, len(p.Notices) == 1 && slices.Equal(p.Notices[0].News, []News{NewsHeld}), "notices %+v", p.Notices)
	for _, e := range p.Notices[0].Entries {
		expect.Equal(t, e.New, e.Finding.Instance == instanceID(1) || e.Finding.Instance == instanceID(4), "%s: new", e.Finding.Instance)
	}
}

// An order is always reported, by some incident, before it is carried out, and has that incident's
// id.
func TestAnOrderIsToldAndNamesItsIncident(t *testing.T) {
	w := sick()
	_, p := w.make(now)
	must.That(t, len(p.Orders) == 1 && len(p.Notices) == 1 && slices.Contains(p.Notices[0].News, NewsOrdered), "orders %+v, notices %+v", p.Orders, p.Notices)
	id := p.Notices[0].Incident.ID
	expect.That(t, p.Orders[0].Incident == id && id != "", "the order is of incident %q, told as %q", p.Orders[0].Incident, id)
}

// A hold for passing reasons is reported once it has lasted for hours, unless the first notice
// showed that reason.
func TestAHoldThatShouldPassAndDoesNotIsTold(t *testing.T) {
	for _, tt := range []struct {
		mode  policy.Mode
		first string
		want  int
	}{{policy.Remediate, "actionsPerCheck: 0", 1}, {policy.Remediate, "actionsPerHour: 0", 0}, {policy.Notify, "actionsPerCheck: 0", 0}} {
		w := sick()
		w.mode = tt.mode
		w.doc = with("limits: {" + tt.first + "}\n")
		told := 0
		for minute := 0; minute < 300; minute += 5 {
			if minute > 0 {
				w.doc = with("limits: {actionsPerHour: 0}\n")
			}
			_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
			for _, n := range p.Notices {
				if slices.Contains(n.News, NewsHeld) {
					told++
				}
			}
			w.apply(p)
		}
		expect.That(t, told == tt.want, "mode %s, %s at first: told %d times", tt.mode, tt.first, told)
	}
}

// If two causes are found for one fault, one continues its incident, and the other opens a new one:
// closing one by its id must not close the other.
func TestTwoCausesOfOneTroubleAreTwoIncidents(t *testing.T) {
	w := newIncidents(t)
	w.doc = with("limits: {unhealthy: 100%}\n")
	w.launch(now, 1, 2)
	w.look(now.Add(6 * time.Minute))
	w.because(1, "NodeRoleNotMapped")
	w.because(2, "UserDataEmpty")
	_, p := w.make(now.Add(8 * time.Minute))
	must.That(t, len(p.Notices) == 2 && p.Notices[0].Incident.ID != p.Notices[1].Incident.ID, "notices %+v", p.Notices)
	expect.That(t, len(p.Notices[0].Replaces)+len(p.Notices[1].Replaces) == 1, "both go on from %v and %v", p.Notices[0].Replaces, p.Notices[1].Replaces)
}

// If a fault lasts for days, unreported instances are reported once a day.
func TestWhatJoinsATroubleThatLastsIsToldAfterADay(t *testing.T) {
	w := newIncidents(t)
	w.doc = with("limits: {unhealthy: 100%}\n")
	for n := 1; n <= 4; n++ {
		w.launchOneMore(n)
		w.because(n, "NodeRoleNotMapped")
	}
	for minute := 6; minute < 20; minute++ {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.said = nil
	w.launchOneMore(21)
	w.because(21, "NodeRoleNotMapped")
	for hour := 1; hour < 60; hour++ {
		w.look(now.Add(time.Duration(hour) * time.Hour))
	}
	expect.That(t, len(w.said) == 1, "told %q, want the one that joined, once", w.said)
}

// A node that recovers and fails again is not healthy, even if it is within its tolerance.
func TestTroubleThatComesBackWithinItsToleranceIsNotOver(t *testing.T) {
	w := sick()
	w.mode = policy.Notify
	w.state = ledger.State{}
	said := []string{}
	for minute := range 120 {
		w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionFalse, Since: now.Add(-time.Hour)}
		if minute >= 10 && minute < 15 {
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(10 * time.Minute)}
		} else if minute >= 15 {
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionFalse, Since: now.Add(15 * time.Minute)}
		}
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		for _, n := range p.Notices {
			if n.Over {
				said = append(said, fmt.Sprint(minute))
			}
		}
		w.apply(p)
	}
	expect.That(t, len(said) == 0, "resolved at minutes %q", said)
}

// A limit that alternately allows and forbids an act is reported once an hour: remediate refuses
// the order, and the next check holds it.
func TestAnOrderThatWaversIsToldOnceAnHour(t *testing.T) {
	for _, tt := range []struct {
		refused bool
		want    []string
	}{
		{true, []string{"0 [opened ordered]", "2 [held]", "64 [ordered]", "66 [held]", "128 [ordered]"}},
		{false, []string{"0 [opened ordered]", "2 [held]", "4 [ordered]", "6 [held]", "8 [ordered]"}},
	} {
		w := healthy(20)
		w.silent(1, 2*time.Hour)
		var told []string
		for minute := 0; minute < 130; minute += 2 {
			w.snapshot.Instances[0].Hold = map[bool]string{true: "true"}[minute%4 == 2]
			at := now.Add(time.Duration(minute) * time.Minute)
			_, p := w.make(at)
			for _, n := range p.Notices {
				told = append(told, fmt.Sprintf("%d %v", minute, said(n)))
			}
			w.apply(p)
			held := slices.Equal(reasons(p), []Reason{InstanceHeld})
			must.That(t, held != (len(p.Orders) == 1), "minute %d: orders %+v, held for %v", minute, p.Orders, reasons(p))
			if tt.refused {
				w.refuse(p, at)
			}
		}
		if !tt.refused {
			told = told[:min(5, len(told))]
		}
		expect.That(t, slices.Equal(told, tt.want), "refused %v: told %q, want %q", tt.refused, told, tt.want)
	}
}

// The outcome of a reboot has its own notice. A next step that is held for a reported reason is no
// news, however often machines are rebooted in one incident.
func TestAHoldAfterARebootIsNoNews(t *testing.T) {
	for _, tt := range []struct {
		result ledger.Result
		want   []string
	}{
		{ledger.Done, []string{"0 [opened]", "30 [ordered]"}},
		{ledger.Failed, []string{"0 [opened]", "30 [ordered]", "40 [held]"}},
	} {
		w := healthy(20)
		w.silent(1, 2*time.Hour)
		var told []string
		for minute := 0; minute < 60; minute += 10 {
			w.snapshot.Instances[0].Hold = map[bool]string{true: "true"}[minute != 30]
			at := now.Add(time.Duration(minute) * time.Minute)
			_, p := w.make(at)
			for _, n := range p.Notices {
				told = append(told, fmt.Sprintf("%d %v", minute, said(n)))
			}
			w.apply(p)
			for _, o := range p.Orders {
				w.state.Actions = append(w.state.Actions, ledger.Action{
					ID: o.ID, Instance: o.Instance, Kind: o.Kind, Group: o.Group, Do: string(o.Action), At: at, Outcome: &ledger.Outcome{Result: tt.result, At: at},
				})
			}
		}
		expect.That(t, slices.Equal(told, tt.want), "reboot %s: told %q, want %q", tt.result, told, tt.want)
	}
}

// refuse records that a notice reported the refusal of the plan's orders.
func (w *world) refuse(p Plan, at time.Time) {
	for _, o := range p.Orders {
		key := ledger.RefusalKey{Order: o.ID, Reason: string(InstanceHeld)}
		if _, told := w.state.Refusals[key]; !told {
			w.state.Apply(ledger.Changes{Put: ledger.State{Refusals: map[ledger.RefusalKey]ledger.Refusal{key: {Instance: o.Instance, Kind: o.Kind, Do: string(o.Action), At: at}}}})
		}
	}
}

// Two alternating reasons are reported once each: a report counts while the incident lasts, not for
// an hour.
func TestReasonsThatAlternateAreToldOnce(t *testing.T) {
	w := healthy(20)
	w.silent(1, 2*time.Hour)
	var told []string
	for minute := 0; minute < 12*60; minute += 10 {
		suspended := minute/120%2 == 1
		w.snapshot.Instances[0].Hold = map[bool]string{false: "true"}[suspended]
		group := canLaunch
		if suspended {
			group.LaunchSuspended = roll.Yes
		}
		w.snapshot.Groups["asg/w"] = group
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		for _, n := range p.Notices {
			told = append(told, fmt.Sprintf("%d %v", minute, said(n)))
		}
		w.apply(p)
		want := map[bool]Reason{false: InstanceHeld, true: GroupSuspended}[suspended]
		must.That(t, slices.Equal(reasons(p), []Reason{want}), "minute %d: held for %v, want %s", minute, reasons(p), want)
	}
	expect.List(t, told, []string{"0 [opened]", "120 [held]"}, "told")
}

// An order that wavered, and is then given in every check, is reported again within the hour.
func TestAnOrderThatWaversNoMoreIsTold(t *testing.T) {
	w := healthy(20)
	w.silent(1, 2*time.Hour)
	var told []string
	for minute := 0; minute < 300; minute += 2 {
		w.snapshot.Instances[0].Hold = map[bool]string{true: "true"}[minute == 2]
		at := now.Add(time.Duration(minute) * time.Minute)
		_, p := w.make(at)
		for _, n := range p.Notices {
			told = append(told, fmt.Sprintf("%d %v", minute, said(n)))
		}
		w.apply(p)
		w.refuse(p, at)
	}
	expect.List(t, told, []string{"0 [opened ordered]", "2 [held]", "62 [ordered]"}, "told")
}

// A recent notice of another instance does not make an order old news.
func TestAnOrderThatWasRefusedDaysAgoIsTold(t *testing.T) {
	w := healthy(40)
	w.doc = mustParse("apiVersion: rollcall/v1\nlimits: {massSilence: 100%}\nladders: {Unknown: [{do: tag}, {do: notify}, {do: terminate, after: 10m}]}\n")
	w.silent(1, 2*time.Hour)
	const days = 2*24*60 + 600
	last := ""
	for minute := 0; minute <= days; minute += 5 {
		at := now.Add(time.Duration(minute) * time.Minute)
		w.snapshot.Instances[0].Hold = map[bool]string{true: "true"}[minute > 0 && minute < days]
		if minute == days-70 {
			w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: at}
			w.snapshot.Instances[1].Hold = "true"
		}
		_, p := w.make(at)
		for _, n := range p.Notices {
			last = fmt.Sprintf("%d %v", minute-days, said(n))
		}
		w.apply(p)
		w.refuse(p, at)
		if minute == days && len(p.Orders) != 1 {
			t.Fatalf("orders %+v, held for %v", p.Orders, reasons(p))
		}
	}
	expect.That(t, last == "0 [ordered]", "the last notice, in minutes before the order: %s", last)
}

func TestADrainThatWaversIsNotToldInEveryCheck(t *testing.T) {
	w := healthy(20)
	w.notReady(1, 2*time.Hour)
	var told []string
	for minute := 0; minute < 60; minute += 2 {
		w.snapshot.Instances[0].Hold = map[bool]string{true: "true"}[minute > 4 && minute%4 == 2]
		at := now.Add(time.Duration(minute) * time.Minute)
		_, p := w.make(at)
		for _, n := range p.Notices {
			told = append(told, fmt.Sprintf("%d %v", minute, said(n)))
		}
		w.apply(p)
		if len(p.Orders) == 1 && p.Orders[0].Action == Cordon {
			w.did(t, p, at, &ledger.Outcome{Result: ledger.Done, Detail: "done", At: at})
			w.snapshot.Nodes[0].Unschedulable, w.snapshot.Nodes[0].CordonedBy = true, p.Orders[0].ID
			continue
		}
		w.refuse(p, at)
	}
	expect.List(t, told, []string{"0 [opened ordered]", "6 [held]"}, "told")
}

// Each stuck object waits for something of its own. If none of the reported ones remain, the next
// one is reported, though its group and cause are the same.
func TestTheNextThatIsStuckIsTold(t *testing.T) {
	w := newIncidents(t)
	w.snapshot.DeletingRead = roll.Yes
	stuck := func(names ...string) {
		w.snapshot.Deleting = nil
		for _, name := range names {
			w.snapshot.Deleting = append(w.snapshot.Deleting, roll.NodeClaim{Name: name, Group: "nodepool/default", DeletedAt: now.Add(-2 * time.Hour), Finalizers: []string{"karpenter.sh/termination"}})
			w.causes[roll.FindingKey{Instance: roll.SubjectID("nodeclaim", name), Kind: roll.Stuck}] = []roll.Cause{{Code: "InstanceNotTerminating", Confidence: roll.Decisive}}
		}
	}
	at := func(minute int) time.Time { return now.Add(time.Duration(minute) * time.Minute) }
	stuck("one")
	w.look(at(0))
	w.want("the first", "0 [opened] 1")
	stuck("two")
	w.look(at(2))
	w.look(at(7))
	w.want("the second, of which the first is gone", "2 [grown] 1")
	stuck("two", "three", "four")
	w.look(at(9))
	w.want("two more", "9 [grown] 3")
	stuck("two", "three", "four", "five")
	w.look(at(12))
	w.want("one beside three that were told")
	stuck("five")
	w.look(at(14))
	w.look(at(19))
	w.want("of which none is left", "14 [grown] 1")
}

// A passing reason does not count an unreported earlier reason as reported, nor a reported one as
// unreported.
func TestAPassingReasonChangesNothingOfWhatWasTold(t *testing.T) {
	w := healthy(60)
	last, ill := Notice{}, 0
	for step, of := range []struct {
		silent          int // of that many instances
		suspended, full bool
	}{{silent: 3}, {silent: 3, suspended: true}, {silent: 3}, {silent: 4, full: true}, {silent: 4, suspended: true}, {silent: 6, suspended: true}} {
		at := now.Add(time.Duration(step) * 3 * time.Hour)
		for n := 1; n <= of.silent; n++ {
			if n > ill {
				w.silent(n, 40*time.Minute-at.Sub(now))
			}
			w.snapshot.Instances[n-1].Hold = map[bool]string{true: "true"}[!of.suspended && !of.full]
		}
		ill = of.silent
		group := canLaunch
		if of.suspended {
			group.LaunchSuspended = roll.Yes
		}
		w.snapshot.Groups["asg/w"] = group
		w.state.Actions = nil
		for i := range 5 {
			if of.full {
				w.state.Actions = append(w.state.Actions, ledger.Action{ID: fmt.Sprint(i), Instance: instanceID(20 + i), Group: "asg/other", At: at.Add(-time.Minute), Outcome: &ledger.Outcome{Result: ledger.Done}})
			}
		}
		_, p := w.make(at)
		for _, n := range p.Notices {
			last = n
		}
		w.apply(p)
	}
	var fresh []bool
	for _, e := range last.Entries {
		fresh = append(fresh, e.New)
	}
	expect.List(t, fresh, []bool{false, false, false, true, true, true}, "new to the last notice %v", last.News)
}

// An instance whose fault ended is forgotten after an hour. Its end is still reported if the rest
// of the incident becomes a fault of another kind.
func TestAnEndThatWasForgottenIsTold(t *testing.T) {
	w := newIncidents(t)
	node := func(n int, status roll.ConditionStatus, since int) roll.Node {
		at := now.Add(time.Duration(since) * time.Minute)
		return roll.Node{
			Name: fmt.Sprintf("node-%d", n), Compute: roll.ComputeEC2, Instance: instanceID(n), Created: now.Add(16 * time.Minute), Group: "nodegroup/w",
			Ready: roll.Condition{Status: status, Since: at},
		}
	}
	w.launch(now, 1, 2)
	w.look(now.Add(6 * time.Minute))
	w.look(now.Add(15 * time.Minute))
	w.want("two that do not register", "6 [opened] 2", "15 [held] 2")
	w.snapshot.Nodes = []roll.Node{node(1, roll.ConditionTrue, 17)}
	for minute := 20; minute <= 140; minute += 10 {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.want("one of them does")
	w.snapshot.Nodes = append(w.snapshot.Nodes, node(2, roll.ConditionUnknown, 17))
	for minute := 141; minute <= 160; minute++ {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	expect.That(t, slices.Contains(w.said, "151 [resolved] 0"), "told %q, and not that the first trouble is over", w.said)
}

// A cause that passes, such as a control plane that did not answer, moves no incident: it would be
// reported twice, with the cause and without it.
func TestACauseThatPassesMovesNoIncident(t *testing.T) {
	w := newIncidents(t)
	w.launch(now, 1)
	w.look(now.Add(6 * time.Minute))
	w.want("it is late", "6 [opened] 1")
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unregistered}
	w.causes[key] = []roll.Cause{{Code: "ControlPlaneUnreachable", Confidence: roll.Decisive, Cure: roll.CureWait}}
	w.look(now.Add(7 * time.Minute))
	_, ok := w.state.Notices[ledger.NoticeKey{Group: "nodegroup/w", Kind: roll.Unregistered}]
	expect.That(t, ok && len(w.state.Notices) == 1, "the incident moved: %v", w.state.Notices)
	w.because(1)
	w.look(now.Add(8 * time.Minute))
	w.want("a cause that passed")
}

// EC2 says why a launch fails, so a reason that passes is another cause than the one before, and news.
func TestAnotherReasonForFailedLaunchesIsNews(t *testing.T) {
	w := newIncidents(t)
	w.snapshot.Launches = map[roll.Group]roll.Launch{"nodegroup/w": {Since: now, Failed: now, Owner: roll.OwnerManagedNodeGroup}}
	key := roll.FindingKey{Instance: "nodegroup/w", Kind: roll.Unlaunched}
	w.causes[key] = []roll.Cause{{Code: "LaunchQuotaExceeded", Confidence: roll.Decisive, Cure: roll.CureChange}}
	w.look(now.Add(30 * time.Minute))
	w.want("a quota is used up", "30 [opened] 1")
	w.causes[key] = []roll.Cause{{Code: "LaunchNoCapacity", Confidence: roll.Decisive, Cure: roll.CureWait}}
	w.look(now.Add(40 * time.Minute))
	w.want("then EC2 has no capacity", "40 [cause] 1")
	w.causes[key] = []roll.Cause{{Code: "LaunchQuotaExceeded", Confidence: roll.Decisive, Cure: roll.CureChange}}
	w.look(now.Add(50 * time.Minute))
	w.want("the quota is used up again")
}

// What a notice reported lasts as long as it is found, whatever another policy would report.
func TestAnIncidentLastsUnderAPolicyThatWouldNotReportIt(t *testing.T) {
	w := newIncidents(t)
	w.launch(now, 1)
	w.look(now.Add(20 * time.Minute))
	w.want("it is late", "20 [opened] 1")
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unregistered: [{do: notify, after: 5h}]}\n")
	for minute := 21; minute <= 80; minute++ {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.want("the policy reports it later")
	w.snapshot.Instances = nil
	for minute := 81; minute <= 100; minute++ {
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.want("it is gone", "91 [resolved] 0")
}

// An instance moves to another incident, whose notice is not sent. Nothing that was said of it is
// forgotten, and it moves once a notice is sent.
func TestWhatWasSaidIsKeptUntilTheNoticeOfTheMoveIsSent(t *testing.T) {
	w := newIncidents(t)
	w.launch(now, 1, 2)
	w.look(now.Add(16 * time.Minute))
	w.look(now.Add(17 * time.Minute))
	from := w.last.Key
	w.because(2, "NodeadmFailed")
	at := now.Add(21 * time.Minute)
	_, p := w.make(at)
	must.That(t, len(p.Notices) == 1 && p.Notices[0].Key.Cause == "NodeadmFailed", "notices %+v", p.Notices)
	members := func() []roll.InstanceID { return slices.Sorted(maps.Keys(w.state.Notices[from].Members)) }
	w.state.Apply(p.Changes) // and the function is killed
	if got := members(); !slices.Equal(got, []roll.InstanceID{instanceID(1), instanceID(2)}) {
		t.Errorf("remembered of %s, and no notice was sent", got)
	}
	_, again := w.make(at.Add(time.Minute))
	expect.That(t, len(again.Notices) == 1 && again.Notices[0].Entries[0].New == p.Notices[0].Entries[0].New, "the next check reports %+v", again.Notices)
	w.apply(again)
	got := members()
	expect.That(t, slices.Equal(got, []roll.InstanceID{instanceID(1)}), "remembered of %s, and the other one's notice was sent", got)
}
