package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// For an unregistered Karpenter instance, the announced time is when Rollcall would act, not when
// its tolerance ends.
func TestWhatKarpenterIsGivenIsAnnounced(t *testing.T) {
	w := healthy(10)
	i := &w.snapshot.Instances[0]
	i.Owner, i.Group, i.ASG, i.Launched = roll.OwnerKarpenter, "nodepool/p", "", now.Add(-6*time.Minute)
	w.snapshot.Details[i.ID] = roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x"}, TerminationProtected: roll.No, Pods: nothingRuns}
	w.snapshot.Nodes = w.snapshot.Nodes[1:]
	_, p := w.make(now)
	key := roll.FindingKey{Instance: i.ID, Kind: roll.Unregistered}
	s := p.Steps[key]
	expect.That(t, s.Do == policy.DoNotify && s.At.Equal(now.Add(9*time.Minute)), "what follows is %+v, want the notice at its deadline", s)
	var next string
	for _, c := range p.Tags {
		next = c.Set[roll.TagNext]
	}
	expect.That(t, strings.HasSuffix(next, now.Add(14*time.Minute).Format(time.RFC3339)), "the tag says %q, want the minute at which Karpenter's time is over", next)
}

// Nothing replaces an instance that Karpenter launched for a NodeClaim without a node pool. Karpenter still has its time,
// and if it forgot the instance, nothing has to be replaced.
func TestWhatHasNoNodePoolIsNotReplaced(t *testing.T) {
	claim := &roll.NodeClaim{Name: "x"}
	for name, tt := range map[string]struct {
		launched time.Duration
		claim    *roll.NodeClaim
		replace  bool
		want     Reason // "" is an order
	}{
		"Karpenter has time":             {19 * time.Minute, claim, false, OwnerWillAct},
		"its time is over":               {2 * time.Hour, claim, false, ReplacementUnavailable},
		"a person accepts the loss":      {2 * time.Hour, claim, true, ""},
		"Karpenter is to remove it soon": {2 * time.Hour, &roll.NodeClaim{Name: "x", DeletedAt: now.Add(-time.Minute)}, true, OwnerWillAct},
	} {
		w := healthy(10)
		i := &w.snapshot.Instances[0]
		i.Owner, i.Group, i.ASG, i.Launched, i.Replace = roll.OwnerKarpenter, roll.GroupNone, "", now.Add(-tt.launched), tt.replace
		w.snapshot.ClaimsRead = roll.Yes
		w.snapshot.Details[i.ID] = roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: tt.claim, TerminationProtected: roll.No, LeaseRead: roll.No, Bootstraps: roll.Yes}
		w.snapshot.Nodes = w.snapshot.Nodes[1:]
		f := ledger.Finding{Instance: i.ID, Kind: roll.Unregistered, Group: roll.GroupNone, Stage: roll.Overdue, FirstSeen: now.Add(-10 * time.Minute), Opened: now.Add(-10 * time.Minute), Since: i.Launched, Began: i.Launched}
		w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, RemediateSince: map[roll.Group]time.Time{roll.GroupNone: now.Add(-24 * time.Hour)}}})
		_, p := w.make(now)
		var got Reason
		for _, h := range p.Held {
			got = h.Reason
		}
		expect.That(t, got == tt.want && (tt.want == "") == (len(p.Orders) == 1), "%s: held %+v, orders %+v, want %q", name, p.Held, p.Orders, tt.want)
	}
}

// Of a node that is not Ready, Kubernetes deletes the pods after five minutes, and Karpenter launches for them.
func TestAReplacementMayComeBeforeAnyAct(t *testing.T) {
	for name, tt := range map[string]struct {
		group roll.Group
		kind  roll.Kind
		since time.Duration
		early bool
	}{
		"a silent node":                   {"nodepool/p", roll.Unknown, 2 * time.Hour, true},
		"a node that is not Ready":        {"nodepool/p", roll.NotReady, 2 * time.Hour, true},
		"one of the day before":           {"nodepool/p", roll.NotReady, 25 * time.Hour, false},
		"one that fails its status check": {"nodepool/p", roll.Impaired, 2 * time.Hour, true},
		"a node that works":               {"nodepool/p", roll.ConditionFailed, 2 * time.Hour, false},
		"an instance that never joined":   {"nodepool/p", roll.Unregistered, 2 * time.Hour, false},
		"a node of an Auto Scaling group": {"asg/w", roll.Unknown, 2 * time.Hour, false},
	} {
		ended := ledger.Action{Do: string(DeleteNodeClaim), Instance: instanceID(1), Group: tt.group, Kind: tt.kind, At: now, Since: now.Add(-tt.since)}
		got := replacementSince([]ledger.Action{ended}, ended)
		expect.That(t, got.Equal(now) != tt.early, "%s: since %s", name, got)
	}
}

// Then it launches nothing more when the node is removed at last, unless pods wait all the same. Nor does it launch
// anything if the other nodes have room for the pods.
func TestOfWhatIsLaunchedAfterTheTerminationOneMustWork(t *testing.T) {
	minutes := func(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }
	ended := func(id, silent, at int) ledger.Action {
		return ledger.Action{
			ID: fmt.Sprint(id), Do: string(DeleteNodeClaim), Instance: instanceID(id), Group: "nodepool/p", Kind: roll.Unknown,
			Since: minutes(silent), At: minutes(at), Outcome: done(minutes(at)),
		}
	}
	for name, tt := range map[string]struct {
		acts     []ledger.Action
		good     int   // when what became Ready last was launched
		launched []int // when the latest were launched
		wait     roll.Answer
		gone     bool // they are terminated
		want     Reason
	}{
		"replaced before it":                            {[]ledger.Action{ended(98, -60, -16)}, -50, []int{-50}, roll.Yes, false, ""},
		"replaced before it, a moment ago":              {[]ledger.Action{ended(98, -60, -14)}, -50, []int{-50}, roll.Yes, false, OneAtATime},
		"the last one that works is older":              {[]ledger.Action{ended(98, -60, -16)}, -70, []int{-70}, roll.Yes, false, ReplacementPending},
		"its pods were not deleted yet":                 {[]ledger.Action{ended(98, -60, -16)}, -57, []int{-57}, roll.Yes, false, ReplacementPending},
		"what came after it works":                      {[]ledger.Action{ended(98, -60, -16)}, -10, []int{-10}, roll.Yes, false, ""},
		"what came after it has its time":               {[]ledger.Action{ended(98, -60, -30)}, -50, []int{-10}, roll.Yes, false, OneAtATime},
		"what came after it does not work":              {[]ledger.Action{ended(98, -60, -30)}, -50, []int{-20}, roll.Yes, false, ReplacementPending},
		"one launch for two":                            {[]ledger.Action{ended(98, -60, -40), ended(97, -60, -16)}, -50, []int{-50}, roll.Yes, false, ReplacementPending},
		"one launch for two, the other after the first": {[]ledger.Action{ended(98, -60, -40), ended(97, -60, -16)}, -39, []int{-39}, roll.Yes, false, ""},
		"its pods have room elsewhere":                  {[]ledger.Action{ended(98, -60, -16)}, -70, []int{-70}, roll.No, false, ""},
		"they have, and a moment ago":                   {[]ledger.Action{ended(98, -60, -14)}, -70, []int{-70}, roll.No, false, OneAtATime},
		"whether they have could not be read":           {[]ledger.Action{ended(98, -60, -16)}, -70, []int{-70}, roll.Unreadable, false, ReplacementPending},
		"whether they have was not asked":               {[]ledger.Action{ended(98, -60, -16)}, -70, []int{-70}, roll.NotAsked, false, ReplacementPending},
		"what came after it does not work, none waits":  {[]ledger.Action{ended(98, -60, -30)}, -70, []int{-20}, roll.No, false, ReplacementPending},
		"each that came after it ended without a node":  {[]ledger.Action{ended(98, -60, -30)}, -50, []int{-20, -5}, roll.Yes, true, ReplacementPending},
		"each did, and no pods wait any more":           {[]ledger.Action{ended(98, -60, -30)}, -50, []int{-25, -20}, roll.No, true, ""},
	} {
		w := healthy(3)
		for i := range w.snapshot.Instances {
			w.snapshot.Instances[i].Group, w.snapshot.Instances[i].Launched = "nodepool/p", minutes(-1000)
		}
		for i, at := range tt.launched {
			if w.snapshot.Instances[1+i].Launched = minutes(at); tt.gone {
				w.snapshot.Instances[1+i].State = roll.StateTerminated
			}
		}
		w.snapshot.PodsWait = tt.wait
		state := ledger.State{Actions: tt.acts, Groups: map[roll.Group]ledger.GroupMemory{"nodepool/p": {Good: minutes(tt.good)}}}
		pol := policy.Default().For("demo", "", roll.Selector{})
		p := &planner{Input: Input{Snapshot: w.snapshot, State: state, Now: now, Policy: func(roll.Selector) policy.Policy { return pol }}, instances: map[roll.InstanceID]*roll.Instance{instanceID(1): &w.snapshot.Instances[0]}}
		no := p.replacementPending(roll.Finding{Instance: instanceID(1), Group: "nodepool/p", Kind: roll.Unknown}, Terminate, minutes(tt.good), pol)
		got := Reason("")
		if no != nil {
			got = no.Reason
		}
		expect.That(t, got == tt.want, "%s: %q, want %q", name, got, tt.want)
	}
}

// Karpenter may launch the replacement during the drain, an Auto Scaling group only after the termination.
func TestFromWhenALaunchIsTheReplacement(t *testing.T) {
	before := now.Add(-10 * time.Minute)
	for name, tt := range map[string]struct {
		group  roll.Group
		change func(*ledger.Action)
		want   time.Time
	}{
		"a drain":                          {"nodepool/p", func(*ledger.Action) {}, before},
		"a cordon":                         {"nodepool/p", func(a *ledger.Action) { a.Do = string(Cordon) }, before},
		"a drain that left pods":           {"nodepool/p", func(a *ledger.Action) { a.Outcome = &ledger.Outcome{Result: ledger.Failed, Detail: ledger.Unfinished} }, before},
		"a drain that failed":              {"nodepool/p", func(a *ledger.Action) { a.Outcome = &ledger.Outcome{Result: ledger.Failed} }, now},
		"a drain of another":               {"nodepool/p", func(a *ledger.Action) { a.Instance = instanceID(2) }, now},
		"a drain of the day before":        {"nodepool/p", func(a *ledger.Action) { a.At = now.Add(-24 * time.Hour) }, now},
		"a drain after it":                 {"nodepool/p", func(a *ledger.Action) { a.At = now.Add(time.Minute) }, now},
		"a reboot":                         {"nodepool/p", func(a *ledger.Action) { a.Do = string(Reboot) }, now},
		"a drain in an Auto Scaling group": {"asg/w", func(*ledger.Action) {}, now},
	} {
		earlier := ledger.Action{Do: string(Drain), Instance: instanceID(1), At: before, Outcome: done(before)}
		tt.change(&earlier)
		ended := ledger.Action{Do: string(Terminate), Instance: instanceID(1), Group: tt.group, At: now}
		got := replacementSince([]ledger.Action{earlier, ended}, ended)
		expect.That(t, got.Equal(tt.want), "%s: %s, want %s", name, got, tt.want)
	}
}
