package assess_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// worlds is the number of random worlds per property.
const worlds = 2000

// ages are those at which something changes, and one second more or less.
var ages = []time.Duration{
	0, time.Second, time.Minute, 5*time.Minute - time.Second, 5 * time.Minute, 10*time.Minute - time.Second, 10 * time.Minute,
	10*time.Minute + 10*time.Second, 15*time.Minute - time.Second, 15 * time.Minute, 20 * time.Minute, 30*time.Minute - time.Second, 30 * time.Minute,
	time.Hour - time.Second, time.Hour, 2 * time.Hour, 26 * time.Hour, 72 * time.Hour,
}

// dice generates worlds.
type dice struct{ *rand.Rand }

func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

func (d dice) one(in int) bool     { return d.IntN(in) == 0 }
func (d dice) before() time.Time   { return ago(pick(d, ages...)) }
func (d dice) answer() roll.Answer { return pick(d, roll.NotAsked, roll.Yes, roll.No, roll.Unreadable) }

func instanceID(n int) roll.InstanceID { return roll.InstanceID(fmt.Sprintf("i-%08x", n)) }

// world returns a random snapshot and a random ledger. Not every combination can happen; a verdict
// must be sound for all of them.
func (d dice) world() (*roll.Snapshot, ledger.State) {
	s := snapshot(nil, nil)
	s.NotFound, s.Impaired, s.Scheduled = map[roll.InstanceID]bool{}, map[roll.InstanceID]roll.Impairment{}, map[roll.InstanceID]roll.Event{}
	s.StatusRead = pick(d, roll.Yes, roll.Yes, roll.Unreadable)
	var state ledger.State
	state.Apply(ledger.Changes{})
	members := 1 + d.IntN(8)
	for n := range members {
		d.member(n, s, &state)
	}
	if d.one(4) {
		s.Gaps = append(s.Gaps, roll.Gap{Scope: pick(d, roll.ScopeInstances, roll.ScopeNodes, roll.ScopeDetail, roll.ScopeCluster), Kind: pick(d, roll.GapThrottled, roll.GapClusterUnreachable)})
	}
	if d.one(12) {
		s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeCluster, Kind: roll.GapClusterGone})
	}
	if d.one(12) {
		s.Target = instanceID(d.IntN(members))
	}
	if !d.one(3) {
		state.Checked = d.before()
	}
	for _, g := range []roll.Group{"asg/w", "nodepool/p"} {
		if d.one(2) {
			state.Groups[g] = ledger.GroupMemory{Counted: d.before(), Good: d.before(), Seconds: []int{1, 2, 3}[:d.IntN(4)]}
		}
	}
	return s, state
}

func (d dice) member(n int, s *roll.Snapshot, state *ledger.State) {
	of := instanceID(n)
	if !d.one(8) {
		s.Instances = append(s.Instances, d.instance(of))
	} else {
		s.NotFound[of] = !d.one(4)
	}
	for copies := pick(d, 0, 1, 1, 1, 1, 2); copies > 0; copies-- {
		s.Nodes = append(s.Nodes, d.node(of, fmt.Sprintf("node-%d-%d", n, copies)))
	}
	if d.one(5) {
		s.Impaired[of] = roll.Impairment{Since: pick(d, time.Time{}, d.before()), System: d.one(2)}
	}
	if d.one(5) {
		s.Scheduled[of] = roll.Event{Code: "system-reboot", NotBefore: d.before().Add(pick(d, 0, 24*time.Hour, 100*time.Hour))}
	}
	if !d.one(4) {
		s.Details[of] = roll.Detail{
			Bootstraps: d.answer(), TerminationProtected: d.answer(), LifecycleRead: d.answer(), HasNodeClaim: d.answer(),
			Lifecycle: pick(d, "", "InService", "InService", "Standby", "Warmed:Running", "Terminating:Wait"),
		}
	}
	d.memory(of, state)
	// The time of an unregistered instance is its launch, or later than its deadline.
	k := roll.FindingKey{Instance: of, Kind: roll.Unregistered}
	if f, ok := state.Findings[k]; ok && !s.NotFound[of] && len(s.Instances) > 0 {
		if launched := s.Instances[len(s.Instances)-1].Launched; f.Since.Before(launched.Add(15 * time.Minute)) {
			f.Since = launched
			state.Findings[k] = f
		}
	}
}

func (d dice) instance(of roll.InstanceID) roll.Instance {
	i := roll.Instance{
		ID: of, Launched: d.before(), Zone: pick(d, "", "eu-west-1a", "eu-west-1b"), Named: d.one(2), Ambiguous: d.one(12),
		State: pick(d, roll.StateRunning, roll.StateRunning, roll.StateRunning, roll.StateTerminated, roll.StateStopped, roll.StateShuttingDown, roll.StatePending),
		Owner: roll.OwnerNone, Group: roll.GroupNone,
	}
	switch d.IntN(5) {
	case 0:
		i.Owner, i.Group = roll.OwnerKarpenter, "nodepool/p"
	case 1:
		i.Owner, i.Group, i.ASG = roll.OwnerAutoScalingGroup, "asg/w", "w"
	case 2:
		i.Owner, i.Group, i.ASG = roll.OwnerManagedNodeGroup, "nodegroup/g", "eks-g"
	case 3:
		i.Owner, i.Group = roll.OwnerAutoMode, "nodepool/auto"
	}
	if d.one(12) {
		i.OtherCluster = "other"
	}
	return i
}

func (d dice) node(of roll.InstanceID, name string) roll.Node {
	n := roll.Node{
		Name: name, Compute: roll.ComputeEC2, Instance: of, Created: d.before(), Owner: roll.OwnerNone, Group: roll.GroupNone,
		Registered: !d.one(3), Initialized: !d.one(3),
	}
	if d.one(8) {
		n.DeletedAt = d.before()
	}
	n.Ready = roll.Condition{Status: pick(d, roll.ConditionTrue, roll.ConditionTrue, roll.ConditionFalse, roll.ConditionUnknown), Since: d.before()}
	if n.Ready.Since.Before(n.Created) || d.one(4) {
		n.Ready.Since = n.Created
	}
	if d.one(6) {
		n.Owner, n.Group = roll.OwnerKarpenter, "nodepool/p"
	}
	if d.one(6) {
		n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
	}
	if d.one(4) {
		n.Conditions = append(n.Conditions, roll.TypedCondition{Type: pick(d, "KernelReady", "StorageReady", roll.MemoryPressure), Condition: roll.Condition{Status: pick(d, roll.ConditionFalse, roll.ConditionTrue), Since: d.before()}})
	}
	if d.one(12) {
		n.Compute, n.Instance = pick(d, roll.ComputeUnknown, roll.ComputeFargate), ""
	}
	return n
}

func (d dice) memory(of roll.InstanceID, state *ledger.State) {
	for _, k := range roll.Kinds() {
		if d.one(8) {
			f := ledger.Finding{Instance: of, Kind: k, Group: "asg/w", Stage: pick(d, roll.Watching, roll.Overdue), FirstSeen: d.before(), Since: d.before(), Began: d.before()}
			state.Findings[f.Key()] = f
		}
	}
	if d.one(3) {
		state.NotReady[of] = ledger.NotReady{Since: d.before(), Status: pick(d, roll.ConditionFalse, roll.ConditionUnknown), Transition: d.before(), Known: d.one(2)}
	}
	if d.one(6) {
		state.Rests[of] = ledger.Rest{Left: pick(d, time.Time{}, d.before())}
	}
	if d.one(4) {
		state.Missing[of] = d.before()
	}
	if d.one(3) {
		var times []time.Time
		for range 1 + d.IntN(7) {
			times = append(times, d.before())
		}
		slices.SortFunc(times, time.Time.Compare)
		state.Flips[of] = times
	}
	if d.one(5) {
		state.Pressures[of] = ledger.Pressure{Types: []string{roll.DiskPressure}, Since: d.before(), Until: pick(d, time.Time{}, d.before())}
	}
}

// eachWorld runs a property on many worlds; the name of a failing one is its seed.
func eachWorld(t *testing.T, try func(t *testing.T, d dice)) {
	for seed := range uint64(worlds) {
		try(t, dice{rand.New(rand.NewPCG(seed, 0))})
		must.That(t, !t.Failed(), "world %d", seed)
	}
}

// primary reports whether a member has at most one finding of these kinds.
func primary(k roll.Kind) bool {
	switch k {
	case roll.Impaired, roll.Scheduled, roll.ConditionFailed, roll.Flapping:
		return false
	}
	return true
}

func TestAMemberHasOnePrimaryFindingAtMost(t *testing.T) {
	found := map[roll.Kind]int{}
	eachWorld(t, func(t *testing.T, d dice) {
		s, state := d.world()
		a := judge(s, state)
		nodes := map[string]roll.ConditionStatus{}
		for _, n := range s.Nodes {
			nodes[n.Name] = n.Ready.Status
		}
		has, seen := map[roll.InstanceID]roll.Kind{}, map[roll.FindingKey]bool{}
		for _, f := range a.Findings {
			found[f.Kind]++
			if seen[f.Key()] || a.Kept[f.Key()] {
				t.Errorf("%v is found twice, or found and kept", f.Key())
			}
			seen[f.Key()] = true
			expect.That(t, !f.Since.After(now) && !f.Due.Before(f.Since) && f.Summary != "", "%+v", f)
			if !primary(f.Kind) {
				continue
			}
			other, ok := has[f.Instance]
			expect.That(t, !ok, "%s is %s and %s", f.Instance, other, f.Kind)
			has[f.Instance] = f.Kind
		}
		for _, f := range a.Findings {
			if f.Kind != roll.ConditionFailed && f.Kind != roll.Flapping {
				continue
			}
			other, ok := has[f.Instance]
			away := f.Kind == roll.Flapping && nodes[f.Node] == roll.ConditionFalse // perhaps no check sees it Ready
			expect.That(t, away || !ok && nodes[f.Node] == roll.ConditionTrue, "%s is %s beside %q, its node %s", f.Instance, f.Kind, other, nodes[f.Node])
		}
	})
	for _, k := range roll.Kinds() {
		expect.That(t, found[k] >= worlds/200, "the worlds show only %d findings of %s", found[k], k)
	}
}

func TestNothingIsJudgedFromWhatWasNotRead(t *testing.T) {
	eachWorld(t, func(t *testing.T, d dice) {
		s, state := d.world()
		a := judge(s, state)
		gone := slices.ContainsFunc(s.Gaps, func(g roll.Gap) bool { return g.Kind == roll.GapClusterGone })
		found := map[roll.FindingKey]bool{}
		for _, f := range a.Findings {
			found[f.Key()] = true
			if s.Target != "" && f.Instance != s.Target {
				t.Errorf("%+v in a look at %s", f, s.Target)
			}
			if gone {
				expect.That(t, f.Kind == roll.Orphaned, "%+v of a cluster that is gone", f)
				continue
			}
			bad := false
			switch f.Kind {
			case roll.Unregistered:
				bad = !s.Has(roll.ScopeNodes)
			case roll.Orphaned:
				bad = !s.Has(roll.ScopeNodes) || s.Details[f.Instance].HasNodeClaim != roll.No
			case roll.Ghost:
				bad = !s.Has(roll.ScopeInstances)
			case roll.Impaired, roll.Scheduled:
				bad = s.StatusRead != roll.Yes
			}
			expect.That(t, !bad, "%+v with gaps %+v", f, s.Gaps)
		}
		if s.Has(roll.ScopeInstances) && s.Has(roll.ScopeNodes) && s.Target == "" {
			return
		}
		for k := range state.Findings {
			orphan := gone && k.Kind == roll.Orphaned // found through EC2
			if !found[k] && !a.Kept[k] && !orphan && !s.Whole() {
				t.Errorf("%v is resolved, with gaps %+v", k, s.Gaps)
			}
		}
		for id := range state.Missing {
			if _, ok := a.Missing[id]; !ok && id != s.Target {
				t.Errorf("that %s is missing is forgotten, with gaps %+v", id, s.Gaps)
			}
		}
	})
}

func TestAHealthyMemberIsNeverAFinding(t *testing.T) {
	eachWorld(t, func(t *testing.T, d dice) {
		s, state := d.world()
		healthy := map[roll.InstanceID]bool{}
		for n := range 1 + d.IntN(3) {
			of := instanceID(1000 + n)
			healthy[of] = true
			i, nn := d.instance(of), d.node(of, fmt.Sprintf("healthy-%d", n))
			i.State, i.Ambiguous, i.OtherCluster, i.Named = roll.StateRunning, false, "", false
			nn.Compute, nn.Instance, nn.Ready.Status, nn.StartupTaint, nn.Conditions, nn.Registered, nn.Initialized = roll.ComputeEC2, of, roll.ConditionTrue, "", nil, true, true
			s.Instances, s.Nodes = append(s.Instances, i), append(s.Nodes, nn)
		}
		for _, f := range judge(s, state).Findings {
			expect.That(t, !healthy[f.Instance], "%+v", f)
		}
	})
}

func TestTheOrderOfWhatWasReadDoesNotMatter(t *testing.T) {
	eachWorld(t, func(t *testing.T, d dice) {
		s, state := d.world()
		first := judge(s, state)
		shuffled := *s
		shuffled.Instances, shuffled.Nodes = slices.Clone(s.Instances), slices.Clone(s.Nodes)
		d.Shuffle(len(s.Instances), func(i, j int) {
			shuffled.Instances[i], shuffled.Instances[j] = shuffled.Instances[j], shuffled.Instances[i]
		})
		d.Shuffle(len(s.Nodes), func(i, j int) {
			shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i]
		})
		diff := cmp.Diff(first, judge(&shuffled, state), cmpopts.EquateEmpty())
		expect.That(t, diff == "", "shuffled (-one +other):\n%s", diff)
	})
}

// remember returns the ledger after a complete check.
func remember(state ledger.State, a assess.Assessment) ledger.State {
	next := state.Clone()
	current := map[roll.FindingKey]bool{}
	c := ledger.Changes{Put: ledger.NewState()}
	for _, f := range slices.Concat(a.Findings, a.Starting) {
		current[f.Key()] = true
		put := ledger.Finding{Instance: f.Instance, Kind: f.Kind, Node: f.Node, Group: f.Group, Stage: f.Stage, FirstSeen: now, Since: f.Since, Began: f.Began, Condition: f.Condition, Worked: f.Worked}
		if known, ok := state.Findings[f.Key()]; ok && known.Began.Equal(f.Began) {
			put.FirstSeen = known.FirstSeen
		}
		c.Put.Findings[f.Key()] = put
	}
	for k := range state.Findings {
		if !current[k] && !a.Kept[k] {
			c.Drop.Findings = append(c.Drop.Findings, k)
		}
	}
	c.Put.Groups, c.Put.Checked = a.Groups, now
	for g := range a.GroupsWithNodes {
		c.Put.GroupsWithNodes[g] = now
	}
	next.Apply(c)
	next.NotReady, next.Rests, next.Missing, next.Doubts, next.Flips, next.Pressures = a.NotReady, a.Rests, a.Missing, a.Doubts, a.Flips, a.Pressures
	return next
}

// A second check of the same world, with the ledger of the first, finds nothing else and remembers
// nothing new.
func TestASecondLookFindsTheSame(t *testing.T) {
	eachWorld(t, func(t *testing.T, d dice) {
		s, state := d.world()
		if !s.Whole() || s.Target != "" {
			return
		}
		first := judge(s, state)
		second := judge(s, remember(state, first))
		expect.That(t, len(second.Groups) == 0 && len(second.NewRegistrations) == 0, "new again: %+v %v", second.Groups, second.NewRegistrations)
		ignore := cmpopts.IgnoreFields(assess.Assessment{}, "Groups", "NewRegistrations", "Next", "Notes")
		diff := cmp.Diff(first, second, ignore, cmpopts.EquateEmpty())
		expect.That(t, diff == "", "second look (-first +second):\n%s", diff)
	})
}

// Before Next no verdict changes without new observations, and without a Next none ever does.
func TestNothingChangesBeforeNext(t *testing.T) {
	stages := func(a assess.Assessment) map[roll.FindingKey]roll.Stage {
		out := map[roll.FindingKey]roll.Stage{}
		for _, f := range a.Findings {
			out[f.Key()] = f.Stage
		}
		return out
	}
	eachWorld(t, func(t *testing.T, d dice) {
		s, state := d.world()
		if !s.Whole() || s.Target != "" {
			return
		}
		state = remember(state, judge(s, state))
		a := judge(s, state)
		later := now.Add(365 * 24 * time.Hour)
		if !a.Next.IsZero() {
			expect.That(t, a.Next.After(now), "next check at %s, which is not later than now", a.Next)
			later = a.Next.Add(-time.Second)
		}
		b := assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: later})
		if diff := cmp.Diff(stages(a), stages(b)); diff != "" {
			t.Errorf("before the next check, at %s (-now +then):\n%s", later, diff)
		}
		diff := cmp.Diff(a.Kept, b.Kept)
		expect.That(t, diff == "", "kept before the next check, at %s (-now +then):\n%s", later, diff)
	})
}
