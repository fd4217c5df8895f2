package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestAllowedOverdue(t *testing.T) {
	tests := []struct {
		n       int
		percent policy.Percent
		want    int
	}{
		{0, 20, 1}, {1, 20, 1}, {2, 20, 1}, {3, 20, 2}, {4, 20, 2}, {5, 20, 2}, {10, 20, 2}, {11, 20, 3},
		{99, 20, 20}, {100, 20, 20}, {101, 20, 21},
		{1, 0, 1}, {2, 0, 1}, {100, 0, 2}, {100, 1, 2}, {1, 100, 1}, {5, 100, 5},
	}
	for _, tt := range tests {
		expect.Equal(t, AllowedOverdue(tt.n, tt.percent), tt.want, "AllowedOverdue(%d, %d%%)", tt.n, tt.percent)
	}
}

func TestShareExceeded(t *testing.T) {
	tests := []struct {
		nodes, overdue int
		percent        policy.Percent
		want           bool
	}{
		{1, 1, 20, false}, {2, 1, 20, false}, {2, 2, 20, true}, {3, 2, 20, false}, {3, 3, 20, true},
		{4, 2, 20, false}, {4, 3, 20, true}, {5, 2, 20, false}, {5, 3, 20, true}, {5, 5, 20, true},
		{100, 20, 20, false}, {100, 21, 20, true}, {0, 0, 20, false},
	}
	for _, tt := range tests {
		got := shareExceeded("x", assess.Count{Nodes: tt.nodes, Overdue: tt.overdue}, tt.percent) != nil
		expect.That(t, got == tt.want, "%d of %d at %d%%: exceeded %v, want %v", tt.overdue, tt.nodes, tt.percent, got, tt.want)
	}
}

func TestActionsPerCheck(t *testing.T) {
	for _, tt := range []struct {
		ordered, limit int
		want           bool
	}{{0, 0, true}, {0, 1, false}, {1, 1, true}, {1, 2, false}, {2, 1, true}} {
		expect.Equal(t, actionsPerCheckSpent("x", tt.ordered, tt.limit) != nil, tt.want, "%d ordered, limit %d: spent", tt.ordered, tt.limit)
	}
}

func TestActionsPerHour(t *testing.T) {
	at := func(ages ...time.Duration) (actions []ledger.Action) {
		for i, age := range ages {
			actions = append(actions, ledger.Action{Instance: instanceID(i), At: now.Add(-age)})
		}
		return actions
	}
	failed := []ledger.Action{{At: now, Outcome: &ledger.Outcome{Result: ledger.Failed}}}
	tests := []struct {
		name    string
		actions []ledger.Action
		ordered int
		limit   int
		want    bool
	}{
		{"none, none allowed", nil, 0, 0, true},
		{"none, one allowed", nil, 0, 1, false},
		{"exactly an hour ago no longer counts", at(time.Hour), 0, 1, false},
		{"just under an hour ago counts", at(time.Hour - time.Nanosecond), 0, 1, true},
		{"those of this check count", at(time.Minute), 1, 2, true},
		{"below", at(time.Minute, 2*time.Minute), 0, 3, false},
		{"what failed for certain does not count", failed, 0, 1, false},
	}
	for _, tt := range tests {
		expect.Equal(t, actionsPerHourSpent("x", tt.actions, "", tt.ordered, tt.limit, now) != nil, tt.want, "%s: spent", tt.name)
	}
}

func TestNotSeenTwice(t *testing.T) {
	for _, tt := range []struct {
		seen bool
		age  time.Duration
		want bool
	}{{false, 0, true}, {true, 0, true}, {true, 60*time.Second - time.Nanosecond, true}, {true, 60 * time.Second, false}, {true, time.Hour, false}} {
		expect.Equal(t, notSeenTwice(ledger.Finding{FirstSeen: now.Add(-tt.age)}, tt.seen, now) != nil, tt.want, "seen %v, %s ago: held", tt.seen, tt.age)
	}
}

func TestFoundBefore(t *testing.T) {
	for _, tt := range []struct {
		name           string
		opened, turned time.Time
		allowed, want  bool
	}{
		{"remediate never on", now, time.Time{}, false, false},
		{"opened before", now.Add(-time.Nanosecond), now, false, true},
		{"opened before, while it was on then too", now.Add(-time.Nanosecond), now, true, false},
		{"opened by the check that turned it on", now, now, false, false},
		{"opened later", now.Add(time.Minute), now, false, false},
	} {
		f := roll.Finding{Since: now.Add(-time.Hour)}
		expect.Equal(t, foundBefore(f, ledger.Finding{Opened: tt.opened, Allowed: tt.allowed, FirstSeen: now}, tt.turned, now.Add(-24*time.Hour)) != nil, tt.want, "%s: held", tt.name)
	}
}

// Faults from before the first complete check are left to a person.
func TestTroubleFromBeforeTheFirstCheckIsNotActedOn(t *testing.T) {
	first := now.Add(-10 * time.Minute)
	for _, tt := range []struct {
		name             string
		since, firstSeen time.Time
		first            time.Time
		want             bool
	}{
		{"no complete check is on record", now, now, time.Time{}, true},
		{"it began before", first.Add(-time.Nanosecond), first.Add(time.Minute), first, true},
		{"it began with it, and that check saw it", first, first, first, true},
		{"it began with it, and a later check saw it", first, first.Add(time.Nanosecond), first, false},
		{"it began after", first.Add(time.Minute), first.Add(2 * time.Minute), first, false},
	} {
		expect.Equal(t, foundBefore(roll.Finding{Since: tt.since}, ledger.Finding{FirstSeen: tt.firstSeen}, time.Time{}, tt.first) != nil, tt.want, "%s: held", tt.name)
	}
	for perhaps, want := range map[time.Time]bool{{}: false, first: false, first.Add(-time.Nanosecond): true} {
		f := roll.Finding{Since: first.Add(time.Minute), Perhaps: perhaps}
		expect.Equal(t, foundBefore(f, ledger.Finding{FirstSeen: first.Add(2 * time.Minute)}, time.Time{}, first) != nil, want, "perhaps since %s: held", perhaps)
	}
}

// An instance that was faulty before the first complete check is left alone, whatever is found on
// it later.
func TestWhatIsFoundLaterOfAnOldTroubleIsNotActedOn(t *testing.T) {
	for first, want := range map[time.Duration][]Reason{2 * time.Hour: {FoundBeforeRemediate, FoundBeforeRemediate}, 30 * 24 * time.Hour: {OtherFinding}} {
		w := healthy(20)
		w.state.First = now.Add(-first)
		w.notReady(1, 3*time.Hour)
		w.scheduled(1, time.Hour)
		_, p := w.make(now)
		expect.List(t, reasons(p), want, "first checked %s ago: orders %+v, held for", first, p.Orders)
	}
}

// An event that EC2 had scheduled before is no trouble of the node.
func TestAnEventThatWasKnownBeforeIsNoOldTrouble(t *testing.T) {
	w := healthy(20)
	w.state.First = now.Add(-45 * time.Minute)
	w.notReady(1, 30*time.Minute)
	w.scheduled(1, 20*time.Hour)
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Kind == roll.NotReady, "orders %+v, held %+v", p.Orders, p.Held)
}

// A cluster that was deleted and created again under its name has the ledger of the earlier one.
func TestAClusterMadeAnewHasHadNoCheckAndNoRemediate(t *testing.T) {
	before, after := now.Add(-30*24*time.Hour), now.Add(-20*time.Hour)
	for name, tt := range map[string]struct {
		created, first, since time.Time
		want                  string
		first2, since2        bool // are written again
	}{
		"as old as the memory":         {before, before, before, string(Terminate), false, false},
		"EKS does not say":             {time.Time{}, before, before, string(Terminate), false, false},
		"younger than all of it":       {after, before, before, "none: [FoundBeforeRemediate]", true, true},
		"the first check is of before": {after, before, after, "none: [FoundBeforeRemediate]", true, false},
		"remediate is of before":       {after, after, before, "none: [FoundBeforeRemediate]", false, true},
		"it is its own":                {after, after, after, string(Terminate), false, false},
	} {
		w := sick()
		w.snapshot.Cluster.Created, w.state.First = tt.created, tt.first
		w.state.RemediateSince = map[roll.Group]time.Time{"asg/w": tt.since}
		for i := range w.snapshot.Instances {
			w.snapshot.Instances[i].Launched = now.Add(-19 * time.Hour)
		}
		_, p := w.make(now)
		if ordered1(p) != tt.want || !p.Changes.Put.First.IsZero() != tt.first2 || !p.Changes.Put.RemediateSince["asg/w"].IsZero() != tt.since2 {
			t.Errorf("%s: ordered %s, first %s, remediate %s, held %+v", name, ordered1(p), p.Changes.Put.First, p.Changes.Put.RemediateSince, p.Held)
		}
	}
}

func TestTriedBefore(t *testing.T) {
	tried := func(o *ledger.Outcome) ledger.State {
		return ledger.State{Actions: []ledger.Action{{ID: "a", Outcome: o}}}
	}
	for _, tt := range []struct {
		name  string
		state ledger.State
		want  Reason
	}{
		{"never", ledger.State{}, ""},
		{"another order", ledger.State{Actions: []ledger.Action{{ID: "b", Outcome: &ledger.Outcome{Result: ledger.Done}}}}, ""},
		{"open: has a reason of its own", tried(nil), ""},
		{"done", tried(&ledger.Outcome{Result: ledger.Done, At: now.Add(-time.Hour)}), AlreadyBegun},
		{"failed just under 15 minutes ago", tried(&ledger.Outcome{Result: ledger.Failed, At: now.Add(time.Nanosecond - RetryAfter)}), ActionFailed},
		{"not yet allowed, just under two minutes ago", tried(&ledger.Outcome{Result: ledger.Failed, Detail: ledger.NotYet + "x", At: now.Add(time.Nanosecond - TagSettles)}), ActionFailed},
		{"not yet allowed, two minutes ago", tried(&ledger.Outcome{Result: ledger.Failed, Detail: ledger.NotYet + "x", At: now.Add(-TagSettles)}), ""},
		{"failed 15 minutes ago", tried(&ledger.Outcome{Result: ledger.Failed, At: now.Add(-RetryAfter)}), ""},
	} {
		expect.Equal(t, reasonOf(triedBefore(tt.state, "a", now)), tt.want, "%s", tt.name)
	}
}

func TestSnapshotFault(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status string
		gaps   []roll.Gap
		want   Reason
	}{
		{"whole", roll.ClusterActive, nil, ""},
		{"only a detail is missing", roll.ClusterActive, []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapDenied}}, ""},
		{"updating", "UPDATING", nil, ClusterNotActive},
		{"deleting", "DELETING", []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapClusterNotActive}}, ClusterNotActive},
		{"status unknown", "", nil, ClusterNotActive},
		{"not described", "", []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapDenied}}, SnapshotIncomplete},
		{"not described, a detail is missing", "", []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapDenied}}, ClusterNotActive},
		{"API server down", roll.ClusterActive, []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable}}, ClusterUnreachable},
		{"token refused", roll.ClusterActive, []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapUnauthorized}}, ClusterUnreachable},
		{"a page throttled", roll.ClusterActive, []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled}}, SnapshotIncomplete},
		{"listing denied", roll.ClusterActive, []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapDenied}}, SnapshotIncomplete},
	} {
		s := &roll.Snapshot{Cluster: roll.Cluster{Status: tt.status}, Gaps: tt.gaps}
		expect.Equal(t, reasonOf(snapshotFault(s)), tt.want, "%s", tt.name)
	}
}

func TestProtection(t *testing.T) {
	member := roll.Instance{ID: "i-00000001", ASG: "w"}
	bare := roll.Instance{ID: "i-00000001"}
	fine := roll.Detail{TerminationProtected: roll.No, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService"}
	but := func(f func(*roll.Detail)) roll.Detail { d := fine; f(&d); return d }
	for _, tt := range []struct {
		name     string
		instance roll.Instance
		detail   roll.Detail
		want     Reason
	}{
		{"free", member, fine, ""},
		{"starting up in its group", member, but(func(d *roll.Detail) { d.Lifecycle = "Pending:Wait" }), NotInService},
		{"bare and free", bare, roll.Detail{TerminationProtected: roll.No}, ""},
		{"protected", bare, roll.Detail{TerminationProtected: roll.Yes}, TerminationProtected},
		{"protected from a stop", bare, roll.Detail{TerminationProtected: roll.Yes, StopProtected: true}, TerminationProtected},
		{"never asked", bare, roll.Detail{}, ProtectionUnknown},
		{"unreadable", bare, roll.Detail{TerminationProtected: roll.Unreadable}, ProtectionUnknown},
		{"protected from scale-in", member, but(func(d *roll.Detail) { d.ScaleInProtected = roll.Yes }), ScaleInProtected},
		{"group not asked", member, roll.Detail{TerminationProtected: roll.No}, ProtectionUnknown},
		{"group unreadable", member, but(func(d *roll.Detail) { d.LifecycleRead = roll.Unreadable }), ProtectionUnknown},
		{"its group does not know it", member, but(func(d *roll.Detail) { d.LifecycleRead, d.Lifecycle = roll.No, "" }), NotInService},
		{"standby", member, but(func(d *roll.Detail) { d.Lifecycle = "Standby" }), NotInService},
		{"terminating by itself", member, but(func(d *roll.Detail) { d.Lifecycle = "Terminating:Wait" }), NotInService},
	} {
		s := &roll.Snapshot{Details: map[roll.InstanceID]roll.Detail{tt.instance.ID: tt.detail}}
		expect.Equal(t, reasonOf(Protection(s, tt.instance)), tt.want, "%s", tt.name)
	}
}

func TestProtectionNamesWhatToTurnOff(t *testing.T) {
	for stop, want := range map[bool]string{
		false: "EC2 termination protection is on for i-00000001; turn it off to let Rollcall act: aws ec2 modify-instance-attribute --region eu-west-1 --instance-id i-00000001 --no-disable-api-termination",
		true:  "EC2 stop protection is on for i-00000001, which refuses a termination too; turn it off to let Rollcall act: aws ec2 modify-instance-attribute --region eu-west-1 --instance-id i-00000001 --no-disable-api-stop",
	} {
		s := &roll.Snapshot{Cluster: roll.Cluster{ID: cluster}, Details: map[roll.InstanceID]roll.Detail{"i-00000001": {TerminationProtected: roll.Yes, StopProtected: stop}}}
		expect.Equal(t, Protection(s, roll.Instance{ID: "i-00000001"}).Detail, want, "the sentence")
	}
}

func TestClaimObjects(t *testing.T) {
	created := now.Add(-time.Hour)
	fine := roll.Instance{Launched: created}
	but := func(f func(*roll.Instance)) roll.Instance { i := fine; f(&i); return i }
	for _, tt := range []struct {
		name     string
		instance roll.Instance
		want     Reason
	}{
		{"claimed, launched with the cluster", fine, ""},
		{"only a node names it", but(func(i *roll.Instance) { i.Unclaimed = true }), NotClaimed},
		{"claimed for several", but(func(i *roll.Instance) { i.Ambiguous = true }), NotClaimed},
		{"named for another", but(func(i *roll.Instance) { i.OtherCluster = "other" }), NotClaimed},
		{"only its node could be read", but(func(i *roll.Instance) { i.Vouched = true }), NotClaimed},
		{"older than the cluster", but(func(i *roll.Instance) { i.Launched = created.Add(-time.Nanosecond) }), OlderThanCluster},
	} {
		expect.Equal(t, reasonOf(claimObjects(tt.instance, roll.Cluster{Created: created})), tt.want, "%s", tt.name)
	}
}

func TestTaggedOut(t *testing.T) {
	for _, tt := range []struct {
		name     string
		instance roll.Instance
		want     Reason
	}{
		{"no tag", roll.Instance{}, ""},
		{"ignored", roll.Instance{Ignore: true, Hold: "true"}, InstanceIgnored},
		{"held", roll.Instance{Hold: "true"}, InstanceHeld},
		{"held until today", roll.Instance{Hold: "2026-03-10"}, InstanceHeld},
		{"held until yesterday", roll.Instance{Hold: "2026-03-09"}, ""},
	} {
		expect.Equal(t, reasonOf(taggedOut(tt.instance, now)), tt.want, "%s", tt.name)
	}
}

func TestNothingWithoutIntentIsEnded(t *testing.T) {
	pol := policy.Default().For("demo", "", roll.Selector{})
	optedIn := policy.Default().For("demo", "", roll.Selector{})
	optedIn.Owners[roll.OwnerNone] = policy.OwnerTerminate
	for _, tt := range []struct {
		name       string
		pol        policy.Policy
		bootstraps roll.Answer
		want       Reason
	}{
		{"bare", pol, roll.Yes, OwnerNotifyOnly},
		{"bare, opted in", optedIn, roll.Yes, ""},
		{"bare, opted in, no intent", optedIn, roll.No, NoNodeIntent},
	} {
		id := instanceID(1)
		s := &roll.Snapshot{Details: map[roll.InstanceID]roll.Detail{id: {Bootstraps: tt.bootstraps, LeaseRead: roll.No, TerminationProtected: roll.No}}}
		p := &planner{Input: Input{Snapshot: s, Now: now}, instances: map[roll.InstanceID]*roll.Instance{id: {ID: id}}}
		expect.Equal(t, reasonOf(p.ownerObjects(roll.Finding{Instance: id, Owner: roll.OwnerNone, Kind: roll.Unregistered}, Terminate, tt.pol)), tt.want, "%s", tt.name)
	}
}

// reasonOf returns the reason of a refusal, "" if there is none.
func reasonOf(no *Refusal) Reason {
	if no == nil {
		return ""
	}
	return no.Reason
}

// A list of nodes that is short without saying so: kubelets that renew their leases show it.
func TestKubeletsWithoutNodesHoldTheOthers(t *testing.T) {
	w := healthy(10)
	w.silent(1, 2*time.Hour)
	_, p := w.make(now)
	must.That(t, len(p.Orders) == 1, "orders %v, held for %v, want one", p.Orders, reasons(p))
	w.snapshot.Nodes = w.snapshot.Nodes[:7]
	for n := 8; n <= 10; n++ {
		w.snapshot.Details[instanceID(n)] = roll.Detail{Bootstraps: roll.Yes, LeaseRead: roll.Yes, LeaseOf: fmt.Sprintf("node-%d", n), LeaseRenewed: now, TerminationProtected: roll.No, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService"}
	}
	_, p = w.make(now)
	expect.That(t, len(p.Orders) == 0 && slices.Contains(reasons(p), UnhealthyShare), "orders %v, held for %v, want %s", p.Orders, reasons(p), UnhealthyShare)
}
