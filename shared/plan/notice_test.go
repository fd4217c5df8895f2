package plan

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// toldOverdue is the record of an instance that the last notice reported as overdue.
var toldOverdue = ledger.MemberMemory{Last: ledger.Statement{Stage: roll.Overdue}, Told: ledger.Statement{Stage: roll.Overdue}}

// A warning about an instance of Karpenter says that Karpenter will handle it, and until when it
// has time.
func TestANoticeSaysWhatKarpenterDoesByItself(t *testing.T) {
	const claims = "apiVersion: rollcall/v1\nowners: {karpenter: delete-nodeclaim}\n"
	for name, tt := range map[string]struct {
		owner roll.Owner
		mode  policy.Mode
		doc   string
		left  bool
	}{
		"Karpenter's":                        {roll.OwnerKarpenter, policy.Remediate, plain, true},
		"Karpenter's, in mode notify":        {roll.OwnerKarpenter, policy.Notify, plain, true},
		"Karpenter's, but nothing is done":   {roll.OwnerKarpenter, policy.Remediate, plain + "owners: {karpenter: notify}\n", true},
		"Karpenter's, by another deadline":   {roll.OwnerKarpenter, policy.Remediate, claims, false},
		"Karpenter's, a ladder without acts": {roll.OwnerKarpenter, policy.Remediate, "apiVersion: rollcall/v1\nladders: {Unregistered: [{do: notify}]}\n", false},
		"an Auto Scaling group's":            {roll.OwnerAutoScalingGroup, policy.Remediate, plain, false},
		"nobody's":                           {roll.OwnerNone, policy.Remediate, plain, false},
	} {
		w := newWorld()
		w.doc, w.mode = mustParse(tt.doc), tt.mode
		i := w.add(1, 0)
		w.snapshot.Nodes = nil
		i.Owner, i.Group, i.ASG, i.Launched = tt.owner, "nodepool/default", "", now.Add(-6*time.Minute)
		w.snapshot.Details[i.ID] = roll.Detail{Bootstraps: roll.Yes, HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x"}}
		_, p := w.make(now)
		if len(p.Notices) != 1 || len(p.Notices[0].Entries) != 1 {
			t.Errorf("%s: notices %+v", name, p.Notices)
			continue
		}
		e := p.Notices[0].Entries[0]
		if left := e.Left != ""; left != tt.left || left && !e.Until.Equal(i.Launched.Add(20*time.Minute)) {
			t.Errorf("%s: left %q until %s", name, e.Left, e.Until)
		}
	}
}

// The end of a fault is reported once it has stayed away, with its time and how it ended.
func TestANoticeIsOverWhenItsTroubleStaysAway(t *testing.T) {
	w := newWorld()
	w.mode = policy.Notify
	w.add(1, 0)
	w.add(2, 0)
	w.add(3, 0)
	w.snapshot.Instances[1].State = roll.StateTerminated
	w.snapshot.Nodes = w.snapshot.Nodes[:1]
	w.snapshot.Instances[2].State = roll.StateTerminated
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
	w.state.Apply(ledger.Changes{
		Put: ledger.State{
			Spot: map[ledger.SpotKey]time.Time{
				{Instance: instanceID(2), Event: roll.SpotRebalance}:    now.Add(-2 * time.Minute),
				{Instance: instanceID(2), Event: roll.SpotInterruption}: now.Add(-time.Minute),
				{Instance: instanceID(9), Event: roll.SpotInterruption}: now.Add(-ledger.SpotRetention),
			},
		},
	})
	w.state.Apply(ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-time.Hour), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue, instanceID(2): toldOverdue, instanceID(3): toldOverdue}}}}})
	acted := ledger.Action{ID: "0123456789abcdef", Do: string(Terminate), Instance: instanceID(3), Group: "asg/w", Kind: roll.Unknown, At: now.Add(-time.Hour), Outcome: &ledger.Outcome{Result: ledger.Done, At: now.Add(-time.Hour)}}
	rebooted := acted
	rebooted.ID, rebooted.Do, rebooted.Instance = "fedcba9876543210", string(Reboot), instanceID(1)
	w.state.Actions = append(w.state.Actions, acted, rebooted)
	for _, tt := range []struct {
		after time.Duration
		over  bool
	}{{0, false}, {overAfter - time.Second, false}, {overAfter, true}, {overAfter + time.Minute, true}} {
		_, p := w.make(now.Add(tt.after))
		if over := len(p.Notices) == 1 && p.Notices[0].Over; over != tt.over {
			t.Errorf("%s: notices %+v", tt.after, p.Notices)
		}
		w.state.Apply(p.Changes)
		expect.That(t, len(w.state.Spot) == 2, "%s: %v is remembered of Spot Instances, want what is younger than a day", tt.after, w.state.Spot)
		if !tt.over {
			continue
		}
		n := p.Notices[0]
		want := []Ended{
			{Instance: instanceID(1), How: EndedRecovered, After: Reboot},
			{Instance: instanceID(2), How: EndedGone, Spot: roll.SpotInterruption, SpotAt: now.Add(-time.Minute)},
			{Instance: instanceID(3), How: EndedByAct, After: Terminate},
		}
		expect.That(t, n.Key == key && n.OverSince.Equal(now) && slices.Equal(n.Ended, want) && len(n.Entries) == 0, "%s: %+v", tt.after, n)
	}
}

// A node that was short of memory, or is not ready any more, and is silent now has not recovered, although its
// silence is still within its tolerance.
func TestATroubleThatTurnsIntoAnotherIsNotOver(t *testing.T) {
	for _, kind := range []roll.Kind{roll.ConditionFailed, roll.NotReady} {
		w := healthy(20)
		w.mode = policy.Notify
		w.silent(1, time.Minute)
		key := ledger.NoticeKey{Group: "asg/w", Kind: kind}
		w.state.Notices = map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-time.Hour), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}}}
		over := func(minute int) []Ended {
			_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
			w.apply(p)
			for _, n := range p.Notices {
				if n.Key == key && n.Over {
					return n.Ended
				}
			}
			return nil
		}
		for _, minute := range []int{0, 5, 11, 14} {
			expect.List(t, over(minute), nil, "%s while the node is silent", kind)
		}
		w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(15 * time.Minute)}
		expect.List(t, over(16), nil, "%s when the node is back", kind)
		expect.List(t, over(27), []Ended{{Instance: instanceID(1), How: EndedRecovered}}, "%s when it has stayed", kind)
	}
}

// A trouble that comes back with another cause is not over for its first incident either, however long ago it
// had seemed so.
func TestATroubleThatComesBackWithAnotherCauseIsNotOver(t *testing.T) {
	w := healthy(20)
	w.mode = policy.Notify
	w.silent(1, time.Hour)
	w.causes = map[roll.FindingKey][]roll.Cause{{Instance: instanceID(1), Kind: roll.Unknown}: {{Code: "KubeletSilent", Confidence: roll.Decisive}}}
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown, Cause: "ZoneOutage"}
	w.state.Notices = map[ledger.NoticeKey]ledger.Notice{
		key: {SentAt: now.Add(-5 * time.Hour), Over: now.Add(-2 * time.Hour), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}},
		{Group: "asg/w", Kind: roll.Unknown, Cause: "KubeletSilent"}: {SentAt: now.Add(-time.Minute), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}},
	}
	told := func(minute int) (over bool) {
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		w.apply(p)
		return slices.ContainsFunc(p.Notices, func(n Notice) bool { return n.Key == key && n.Over })
	}
	expect.That(t, !told(0), "told while the node is silent")
	w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(time.Minute)}
	expect.That(t, !told(2), "told when the node is back")
	expect.That(t, told(13), "not told when it has stayed")
}

// What has just lost its Node or its NodeClaim has not recovered from an earlier trouble.
func TestWhatHasNoNodeNowHasNotRecovered(t *testing.T) {
	key := ledger.NoticeKey{Group: "nodepool/p", Kind: roll.Scheduled}
	for kind, want := range map[roll.Kind]bool{roll.Orphaned: true, roll.Unregistered: true, roll.Unknown: true, roll.Scheduled: true, roll.Flapping: false} {
		f := roll.Finding{Instance: instanceID(1), Kind: kind, Stage: roll.Watching}
		p := &planner{Input: Input{Assessment: assess.Assessment{Findings: []roll.Finding{f}}, State: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{
			key: {Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}},
		}}}}
		expect.That(t, p.back(key) == want, "%s within its tolerance: %t", kind, !want)
	}
}

// Karpenter gives up on an instance and launches the next, which EC2 may not list yet: the group still fails.
func TestAGroupThatGaveUpItsLatestInstanceStillFails(t *testing.T) {
	for age, over := range map[time.Duration]bool{10 * time.Minute: false, 2 * time.Hour: true} {
		w := healthy(3)
		w.mode = policy.Notify
		last := w.add(4, 0)
		last.State, last.Launched = roll.StateTerminated, now.Add(-age)
		w.snapshot.Nodes = w.snapshot.Nodes[:3]
		w.state.Groups = map[roll.Group]ledger.GroupMemory{"asg/w": {Good: now.Add(-3 * time.Hour)}}
		key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unregistered}
		w.state.Notices = map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-time.Hour), Over: now.Add(-overAfter), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(5): toldOverdue}}}
		_, p := w.make(now)
		expect.That(t, (len(p.Notices) == 1) == over, "launched %s ago: %+v", age, p.Notices)
	}
}

// How a trouble ended is told by a check that can see it.
func TestACheckThatSeesNothingTellsNoEnd(t *testing.T) {
	w := healthy(3)
	w.mode = policy.Notify
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.NotReady}
	w.state.Notices = map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-time.Hour), Over: now.Add(-overAfter), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}}}
	for gap, want := range map[roll.GapKind]int{roll.GapClusterUnreachable: 0, "": 1} {
		w.snapshot.Gaps = nil
		if gap != "" {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: gap}}
		}
		_, p := w.make(now)
		expect.That(t, len(p.Notices) == want, "with gap %q: %+v", gap, p.Notices)
	}
}

// The end of an incident waits for the group's latest instance if that may replace one of it.
func TestTheEndWaitsForTheReplacement(t *testing.T) {
	for name, tt := range map[string]struct {
		state  roll.InstanceState
		member int
		want   bool
	}{
		"the instance is gone":                 {roll.StateTerminated, 1, false},
		"it works":                             {roll.StateRunning, 1, true},
		"it is gone, and nothing was launched": {roll.StateTerminated, 3, true},
	} {
		w := healthy(4)
		w.mode = policy.Notify
		w.snapshot.Instances[tt.member-1].State = tt.state
		if tt.member == 1 {
			w.snapshot.Instances[1].Launched, w.snapshot.Nodes = now.Add(-5*time.Minute), slices.Delete(w.snapshot.Nodes, 1, 2) // starting
		}
		key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Uninitialized}
		w.state.Notices = map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-time.Hour), Over: now.Add(-overAfter), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(tt.member): toldOverdue}}}
		_, p := w.make(now)
		got := slices.ContainsFunc(p.Notices, func(n Notice) bool { return n.Key == key && n.Over })
		expect.That(t, got == tt.want, "%s: over is %v", name, got)
	}
}

// What is there without being a node that works did not recover.
func TestOnlyANodeThatWorksIsToldToHaveRecovered(t *testing.T) {
	aside := func(lifecycle string) func(*world) {
		return func(w *world) {
			w.snapshot.Nodes[0].Ready.Status = roll.ConditionUnknown
			w.detail(func(d *roll.Detail) { d.Lifecycle = lifecycle })
		}
	}
	deleted := ledger.Action{ID: "0123456789abcdef", Do: string(DeleteNode), Instance: instanceID(1), At: now.Add(-time.Hour), Outcome: &ledger.Outcome{Result: ledger.Done, At: now.Add(-time.Hour)}}
	for name, tt := range map[string]struct {
		change func(*world)
		want   How
	}{
		"it works":              {func(*world) {}, EndedRecovered},
		"it is in Standby":      {aside("Standby"), EndedAside},
		"it is in a warm pool":  {aside("Warmed:Running"), EndedAside},
		"it is being stopped":   {func(w *world) { w.snapshot.Instances[0].State = roll.StateStopping }, EndedStopped},
		"it is stopped":         {func(w *world) { w.snapshot.Instances[0].State = roll.StateStopped }, EndedStopped},
		"its node is not ready": {func(w *world) { w.snapshot.Nodes[0].Ready.Status = roll.ConditionFalse }, EndedChanged},
		"its node was deleted": {func(w *world) {
			w.snapshot.Nodes, w.snapshot.Instances[0].State = w.snapshot.Nodes[1:], roll.StateStopped
			w.state.Actions = []ledger.Action{deleted}
		}, EndedByAct},
		"its node was deleted, and it was started again": {func(w *world) { w.state.Actions = []ledger.Action{deleted} }, EndedRecovered},
		"it is being terminated":                         {func(w *world) { w.snapshot.Instances[0].State = roll.StateShuttingDown }, EndedGone},
	} {
		w := healthy(3)
		tt.change(w)
		a, _ := w.make(now)
		a.Findings = nil
		p := &planner{Input: Input{Snapshot: w.snapshot, Assessment: a, State: w.state}}
		got := p.ends(ledger.Notice{Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}})
		want := Ended{Instance: instanceID(1), How: tt.want}
		if len(w.state.Actions) > 0 {
			want.After = DeleteNode
		}
		expect.List(t, got, []Ended{want}, "%s", name)
	}
}

// An incident that another one took over without a notice has to be reported as over: nobody knows.
func TestAnIncidentTakenOverInSilenceIsNotKnownToBeOver(t *testing.T) {
	id := instanceID(1)
	of := ledger.Notice{SentAt: now.Add(-2 * time.Hour), Members: map[roll.InstanceID]ledger.MemberMemory{id: toldOverdue}}
	other := func(at time.Time, m ledger.MemberMemory) map[ledger.NoticeKey]ledger.Notice {
		return map[ledger.NoticeKey]ledger.Notice{{Group: "asg/w", Kind: roll.Unknown}: {SentAt: at, Members: map[roll.InstanceID]ledger.MemberMemory{id: m}}}
	}
	silent := ledger.MemberMemory{Last: toldOverdue.Last}
	for name, tt := range map[string]struct {
		notices map[ledger.NoticeKey]ledger.Notice
		sent    []Notice
		ignored bool
		want    bool
	}{
		"nobody named it since":          {want: false},
		"a later notice named it":        {notices: other(now.Add(-time.Hour), toldOverdue), want: true},
		"an earlier notice named it":     {notices: other(now.Add(-3*time.Hour), toldOverdue), want: false},
		"a later notice left it out":     {notices: other(now.Add(-time.Hour), silent), want: false},
		"only an earlier one named it":   {notices: other(now.Add(-time.Hour), ledger.MemberMemory{Last: toldOverdue.Last, Told: toldOverdue.Told, Unnamed: true}), want: false},
		"a notice of this plan names it": {sent: []Notice{{Entries: []Entry{{Finding: roll.Finding{Instance: id}}}}}, want: true},
		"one of this plan says over":     {sent: []Notice{{Over: true, Entries: []Entry{{Finding: roll.Finding{Instance: id}}}}}, want: false},
		"a person ignores it":            {ignored: true, want: true},
	} {
		p := &planner{Input: Input{State: ledger.State{Notices: tt.notices}}, instances: map[roll.InstanceID]*roll.Instance{id: {ID: id, Ignore: tt.ignored}}}
		p.out.Notices = tt.sent
		expect.Equal(t, p.toldSince(of), tt.want, "%s", name)
	}
}

// A flapping node that is away while there is no notice for an hour is no news when it is back: its
// finding was kept all the time.
func TestAMemberWhoseFindingIsKeptIsNotForgotten(t *testing.T) {
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Flapping}
	for _, kept := range []bool{false, true} {
		w := newWorld()
		w.mode = policy.Notify
		w.add(1, 0)
		w.add(2, 0)
		w.state.Apply(ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-forgetAfter), Incident: ledger.Incident{ID: "x", First: now.Add(-forgetAfter), Sent: 1, Most: 2, Total: 2, Told: 2}, Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue, instanceID(2): toldOverdue}}}}})
		pol := w.doc.Cluster("demo", "", w.mode)
		flaps := roll.Finding{Instance: instanceID(1), Node: "node-1", Kind: roll.Flapping, Group: "asg/w", Stage: roll.Overdue, Since: now.Add(-2 * time.Hour), Selector: roll.GroupSelector("asg/w")}
		a := assess.Assessment{Findings: []roll.Finding{flaps}, Kept: map[roll.FindingKey]bool{{Instance: instanceID(2), Kind: roll.Flapping}: kept}}
		p := Make(Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Policy: pol, Now: now})
		w.state.Apply(p.Changes)
		_, remembered := w.state.Notices[key].Members[instanceID(2)]
		expect.That(t, remembered == kept, "kept %v: the notice remembers %v", kept, w.state.Notices[key].Members)
	}
}

// If the policy is unreadable the mode is lowered for this check only: a notice about an end waits
// until it is readable.
func TestAnEndIsNotForgottenWhereNobodyTurnedNoticesOff(t *testing.T) {
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
	for _, lowered := range []bool{false, true} {
		w := newWorld()
		w.mode = policy.Observe
		w.add(1, 0)
		w.state.Apply(ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-time.Hour), Over: now.Add(-overAfter), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}}}}})
		pol := w.doc.Cluster("demo", "", w.mode)
		p := Make(Input{Snapshot: w.snapshot, Assessment: assess.Assess(assess.Input{Snapshot: w.snapshot, Policy: pol, State: w.state, Now: now}), State: w.state, Policy: pol, Now: now, Lowered: lowered})
		w.state.Apply(p.Changes)
		_, remembered := w.state.Notices[key]
		expect.That(t, remembered == lowered && len(p.Notices) == 0, "lowered %v: remembered %v, notices %+v", lowered, remembered, p.Notices)
	}
}

// A fault that comes back while the policy can't be read, when nothing is reported, is not over since before.
func TestAFaultThatComesBackUnreportedIsNotOver(t *testing.T) {
	w := healthy(20)
	w.silent(1, time.Hour)
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
	w.state.Notices = map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now.Add(-time.Hour), Over: now.Add(-overAfter), Members: map[roll.InstanceID]ledger.MemberMemory{instanceID(1): toldOverdue}}}
	over := func(minute int) bool {
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		w.apply(p)
		return slices.ContainsFunc(p.Notices, func(n Notice) bool { return n.Over })
	}
	w.mode = policy.Observe
	expect.That(t, !over(0), "it lasts")
	w.mode = policy.Notify
	w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(time.Minute)}
	expect.That(t, !over(2), "it ended a minute ago")
	expect.That(t, over(13), "it stayed away")
}

// Remnants of a cluster that is gone are reported, without announcing acts that never come.
func TestOfAClusterThatIsGoneNoActIsAnnounced(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := healthy(4)
		w.silent(1, 20*time.Minute) // within its tolerance, past nothing
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: warn}, {do: notify}, {do: terminate, after: 10m}], Orphaned: [{do: warn}, {do: notify}, {do: terminate, after: 10m}]}\n")
		if gone {
			w.snapshot.Nodes, w.snapshot.Gaps = nil, []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterGone, Detail: "EKS has no such cluster"}}
		}
		at := now.Add(12 * time.Minute)
		_, p := w.make(at)
		w.apply(p)
		_, p = w.make(at.Add(2 * time.Minute))
		acts := 0
		for _, s := range p.Steps {
			if s.Do.Acts() {
				acts++
			}
		}
		if gone != (acts == 0) || len(p.Steps) == 0 && !gone {
			t.Errorf("gone %v: steps %+v", gone, p.Steps)
		}
	}
}

// A node that drops out stays in the record of its incident. That a notice did not name it is
// recorded, until one does.
func TestANoticeThatDoesNotNameAMemberIsNotAboutIt(t *testing.T) {
	id, stays := instanceID(1), instanceID(2)
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
	known := ledger.Notice{SentAt: now.Add(-time.Minute), Members: map[roll.InstanceID]ledger.MemberMemory{id: toldOverdue, stays: toldOverdue}}
	p := &planner{Input: Input{Now: now}}
	after := func(known ledger.Notice, news []News, named ...roll.InstanceID) ledger.Notice {
		n := Notice{Key: key, News: news, Said: ledger.Notice{SentAt: now, Members: map[roll.InstanceID]ledger.MemberMemory{}}}
		for _, id := range named {
			n.Entries = append(n.Entries, Entry{Finding: roll.Finding{Instance: id, Kind: roll.Unknown}, says: toldOverdue.Last, told: toldOverdue.Told})
		}
		n.join(known)
		p.leave(&n, known)
		return n.Said
	}
	quiet := after(known, nil, stays)
	left := after(quiet, []News{NewsGrown}, stays)
	back := after(left, nil, stays, id)
	named := after(back, []News{NewsGrown}, stays, id)
	for name, tt := range map[string]struct {
		said ledger.Notice
		want bool
	}{"no notice": {quiet, false}, "a notice of others": {left, true}, "it is back, and no notice": {back, true}, "a notice that names it": {named, false}} {
		m := tt.said.Members[id]
		expect.That(t, m.Unnamed == tt.want && m.Told == toldOverdue.Told && !tt.said.Members[stays].Unnamed, "%s: %+v", name, tt.said.Members)
	}
}
