package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// incidents plays what befalls a group, and keeps what is told of it.
type incidents struct {
	*world
	t    *testing.T
	said []string // minute, news, and how many instances a notice names
	last Notice
}

func newIncidents(t *testing.T) *incidents {
	w := newWorld()
	w.mode = policy.Notify
	w.causes, w.unchecked, w.ruledOut = map[roll.FindingKey][]roll.Cause{}, map[roll.FindingKey][]string{}, map[roll.FindingKey][]string{}
	return &incidents{world: w, t: t}
}

// launch replaces the group's instances by others that have not registered.
func (w *incidents) launch(at time.Time, numbers ...int) {
	w.snapshot.Instances, w.snapshot.Nodes = nil, nil
	for _, n := range numbers {
		i := w.add(n, 0)
		i.Owner, i.Group, i.ASG, i.Launched = roll.OwnerManagedNodeGroup, "nodegroup/w", "", at
	}
	w.snapshot.Nodes = nil
}

// launchOneMore launches an instance in that minute, beside those that there are.
func (w *incidents) launchOneMore(minute int) *roll.Instance {
	i := w.add(minute, 0)
	i.Owner, i.Group, i.ASG, i.Launched = roll.OwnerManagedNodeGroup, "nodegroup/w", "", now.Add(time.Duration(minute)*time.Minute)
	w.snapshot.Nodes = nil
	return i
}

// because lets the causes of an instance be known.
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
	if !slices.Equal(w.said, want) {
		w.t.Errorf("%s: told %q, want %q", what, w.said, want)
	}
	w.said = nil
}

// What its owner replaces every quarter of an hour, and what fails each time for the same
// reason, is told twice and once more when it is over: not once per instance.
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
	if len(ids) != 1 || ids[""] {
		t.Errorf("incidents %v", ids)
	}
	// The next one becomes a node.
	launched := now.Add(12 * 16 * time.Minute)
	w.launch(launched, 99)
	w.look(launched.Add(time.Minute))
	w.snapshot.Nodes = []roll.Node{{Name: "node-99", Compute: roll.ComputeEC2, Instance: instanceID(99), Created: launched, Ready: roll.Condition{Status: roll.ConditionTrue, Since: launched}, Group: "nodegroup/w"}}
	for minute := 2; minute < 16; minute++ {
		w.look(launched.Add(time.Duration(minute) * time.Minute))
	}
	w.want("the end of it", "204 [resolved] 0")
	if i := w.last.Incident; i.Total != 12 || i.Sent != 3 || !i.First.Equal(now.Add(6*time.Minute)) {
		t.Errorf("the end refers to %+v", i)
	}
	if len(w.state.Notices) != 0 {
		t.Errorf("remembered %+v", w.state.Notices)
	}
}

// Where nobody knows why, each instance may have a trouble of its own: others are told of,
// ever more rarely.
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

// Instances that share a cause are told of when they are many more.
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
	if want := []string{" 1", "NodeRoleNotMapped 1", "SubnetIpsExhausted 1"}; !slices.Equal(keys, want) {
		t.Errorf("notices %q, want %q", keys, want)
	}
}

// A cause that is found later is news of the same incident; that it could not be looked
// for once is none; that it is ruled out is.
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
	if len(w.state.Notices) != 1 {
		t.Errorf("remembered %+v", w.state.Notices)
	}
	w.because(1)
	w.unchecked[key] = []string{"NodeadmFailed"}
	w.look(now.Add(26 * time.Minute))
	w.unchecked[key] = nil
	w.look(now.Add(31 * time.Minute)) // found by nobody, ruled out by nobody
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
	if n := w.state.Notices[ledger.NoticeKey{Group: key0.Group, Kind: key0.Kind, Cause: "NodeadmFailed"}]; n.Incident.ID != first.Incident.ID || n.Incident.Sent != 3 {
		t.Errorf("remembered %+v", w.state.Notices)
	}
}

// Of one of two instances the cause is seen in one check and ruled out in the next: it goes
// from one incident to the other and back, and neither is opened again.
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
	if len(w.state.Notices) != 2 {
		t.Errorf("remembered %+v", w.state.Notices)
	}
	w.want("to and fro", "20 [held grown] 2")
}

// An instance in which a known cause could not be looked for joins those that have it.
func TestWhatCouldNotBeLookedForJoinsTheKnownIncident(t *testing.T) {
	w := newIncidents(t)
	w.launchOneMore(1)
	w.because(1, "NodeRoleNotMapped")
	w.look(now.Add(6 * time.Minute))
	w.launchOneMore(6)
	w.unchecked[roll.FindingKey{Instance: instanceID(6), Kind: roll.Unregistered}] = []string{"NodeRoleNotMapped"}
	w.look(now.Add(11 * time.Minute))
	w.want("a sample", "6 [opened] 1", "11 [grown] 2")
	if len(w.state.Notices) != 1 {
		t.Errorf("remembered %+v", w.state.Notices)
	}
}

// An instance that joined another incident may come back to its first cause, of which the incident is
// over by then. That is another incident.
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
	if id := w.last.Incident.ID; id == first || id == "" {
		t.Errorf("the incident is named %q, as one that is over", id)
	}
}

// A notice that was sent and not remembered comes a second time as the same incident's.
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

// Instances of no group have nothing to do with each other: each is told of.
func TestOfNoGroupEachInstanceIsTold(t *testing.T) {
	w := newIncidents(t)
	for minute := 1; minute <= 9; minute++ {
		i := w.launchOneMore(minute)
		i.Owner, i.Group = roll.OwnerNone, roll.GroupNone
		w.snapshot.Details[i.ID] = roll.Detail{Bootstraps: roll.Yes}
		w.look(now.Add(time.Duration(minute) * time.Minute))
	}
	w.want("one a minute", "6 [opened] 1", "7 [grown] 2", "8 [grown] 3", "9 [grown] 4")
}

// What joins quietly is remembered, and is told of when it is news later.
func TestWhatJoinsQuietlyIsRemembered(t *testing.T) {
	w := newIncidents(t)
	w.doc = with("limits: {unhealthy: 100%}\n")
	for n := 1; n <= 4; n++ {
		w.launchOneMore(n)
		w.because(n, "NodeRoleNotMapped")
	}
	w.look(now.Add(8 * time.Minute))
	_, p := w.make(now.Add(9 * time.Minute))
	if len(p.Notices) != 0 || len(p.Quiet) != 1 || p.Quiet[0].Finding.Instance != instanceID(4) || !p.Quiet[0].New {
		t.Fatalf("notices %+v, quiet %+v", p.Notices, p.Quiet)
	}
	w.apply(p)
	if _, p = w.make(now.Add(10 * time.Minute)); len(p.Notices)+len(p.Quiet) != 0 || len(p.Changes.Put.Notices) != 0 {
		t.Errorf("the same again: notices %+v, quiet %+v, remembered %+v", p.Notices, p.Quiet, p.Changes.Put.Notices)
	}
	w.snapshot.Instances[0].Hold = "true"
	_, p = w.make(now.Add(16 * time.Minute))
	if len(p.Notices) != 1 || !slices.Equal(p.Notices[0].News, []News{NewsHeld}) {
		t.Fatalf("notices %+v", p.Notices)
	}
	for _, e := range p.Notices[0].Entries {
		if want := e.Finding.Instance == instanceID(1) || e.Finding.Instance == instanceID(4); e.New != want {
			t.Errorf("%s: new %v, want %v", e.Finding.Instance, e.New, want)
		}
	}
}

// An order is always told, by whichever incident, before it is carried out, and knows which.
func TestAnOrderIsToldAndNamesItsIncident(t *testing.T) {
	w := sick()
	_, p := w.make(now)
	if len(p.Orders) != 1 || len(p.Notices) != 1 || !slices.Contains(p.Notices[0].News, NewsOrdered) {
		t.Fatalf("orders %+v, notices %+v", p.Orders, p.Notices)
	}
	if id := p.Notices[0].Incident.ID; p.Orders[0].Incident != id || id == "" {
		t.Errorf("the order is of incident %q, told as %q", p.Orders[0].Incident, id)
	}
}

// What is held for reasons that pass is told once it has not passed for hours, unless the
// first notice showed that reason.
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
		if told != tt.want {
			t.Errorf("mode %s, %s at first: told %d times", tt.mode, tt.first, told)
		}
	}
}

// Of two causes that are found for one trouble, one goes on in its incident, and the other
// opens its own: whoever closes one by its id must not close the other.
func TestTwoCausesOfOneTroubleAreTwoIncidents(t *testing.T) {
	w := newIncidents(t)
	w.doc = with("limits: {unhealthy: 100%}\n")
	w.launch(now, 1, 2)
	w.look(now.Add(6 * time.Minute))
	w.because(1, "NodeRoleNotMapped")
	w.because(2, "UserDataEmpty")
	_, p := w.make(now.Add(8 * time.Minute))
	if len(p.Notices) != 2 || p.Notices[0].Incident.ID == p.Notices[1].Incident.ID {
		t.Fatalf("notices %+v", p.Notices)
	}
	if len(p.Notices[0].Replaces)+len(p.Notices[1].Replaces) != 1 {
		t.Errorf("both go on from %v and %v", p.Notices[0].Replaces, p.Notices[1].Replaces)
	}
}

// Where trouble goes on for days, what no notice named is told once a day.
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
	if len(w.said) != 1 {
		t.Errorf("told %q, want the one that joined, once", w.said)
	}
}

// A node that leaves the trouble and comes back into it is not well, if only within its
// tolerance so far.
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
	if len(said) > 0 {
		t.Errorf("resolved at minutes %q", said)
	}
}

// What now speaks against an act, and now does not, is told once an hour: the order is refused when it is looked at
// again, and held by the next check.
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
			if held := slices.Equal(reasons(p), []Reason{InstanceHeld}); held == (len(p.Orders) == 1) {
				t.Fatalf("minute %d: orders %+v, held for %v", minute, p.Orders, reasons(p))
			}
			if tt.refused {
				w.refuse(p, at)
			}
		}
		if !tt.refused {
			told = told[:min(5, len(told))]
		}
		if !slices.Equal(told, tt.want) {
			t.Errorf("refused %v: told %q, want %q", tt.refused, told, tt.want)
		}
	}
}

// The outcome of a reboot is told by itself. That the next step is held for a reason that was told
// is no news, however often machines are rebooted in one incident.
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
		if !slices.Equal(told, tt.want) {
			t.Errorf("reboot %s: told %q, want %q", tt.result, told, tt.want)
		}
	}
}

// refuse remembers that the plan's orders were told to be refused.
func (w *world) refuse(p Plan, at time.Time) {
	for _, o := range p.Orders {
		key := ledger.RefusalKey{Order: o.ID, Reason: string(InstanceHeld)}
		if _, told := w.state.Refusals[key]; !told {
			w.state.Apply(ledger.Changes{Put: ledger.State{Refusals: map[ledger.RefusalKey]ledger.Refusal{key: {Instance: o.Instance, Kind: o.Kind, Do: string(o.Action), At: at}}}})
		}
	}
}

// Two reasons that take turns are told once each: what was told stays told while the
// incident lasts, not for an hour.
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
		if want := map[bool]Reason{false: InstanceHeld, true: GroupSuspended}[suspended]; !slices.Equal(reasons(p), []Reason{want}) {
			t.Fatalf("minute %d: held for %v, want %s", minute, reasons(p), want)
		}
	}
	if want := []string{"0 [opened]", "120 [held]"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// An order that wavered, and is then given in every check, is told again within the hour.
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
	if want := []string{"0 [opened ordered]", "2 [held]", "62 [ordered]"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// That there was a notice of another instance a short while ago makes no order old news.
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
	if last != "0 [ordered]" {
		t.Errorf("the last notice, in minutes before the order: %s", last)
	}
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
	if want := []string{"0 [opened ordered]", "6 [held]"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// What is stuck waits for something of its own: where nothing is left of those that were told,
// the next one is told, though its group and cause are the same.
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

// A reason that passes does not make the one before it told that no notice gave, nor untold the one
// that a notice did.
func TestAPassingReasonChangesNothingOfWhatWasTold(t *testing.T) {
	w := healthy(60)
	last, ill := Notice{}, 0
	for step, of := range []struct {
		silent          int // of so many instances
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
	if want := []bool{false, false, false, true, true, true}; !slices.Equal(fresh, want) {
		t.Errorf("new to the last notice %v: %v, want %v", last.News, fresh, want)
	}
}

// An instance whose trouble ended is forgotten after an hour, and that it ended is told all the same
// when what is left of the incident becomes trouble of another kind.
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
	if !slices.Contains(w.said, "151 [resolved] 0") {
		t.Errorf("told %q, and not that the first trouble is over", w.said)
	}
}
