package assess_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const finalizer = "karpenter.sh/termination"

// stuck returns the findings of the kind.
func stuck(a assess.Assessment) (out []roll.Finding) {
	for _, f := range a.Findings {
		if f.Kind == roll.Stuck {
			out = append(out, f)
		}
	}
	return out
}

func deletedNode(since time.Duration) roll.Node {
	n := node(id, roll.ConditionTrue, 48*time.Hour)
	n.Name, n.DeletedAt, n.Finalizers, n.Registered, n.Initialized = "ip-1", ago(since), []string{finalizer}, true, true
	return n
}

func deletedClaim(since time.Duration) roll.NodeClaim {
	return roll.NodeClaim{Name: "default-abc", Node: "ip-1", Instance: id, Group: "nodepool/default", DeletedAt: ago(since), Finalizers: []string{finalizer}}
}

func TestWhatIsDeletedAndStaysIsStuckAfterAnHour(t *testing.T) {
	for away, want := range map[time.Duration]int{30 * time.Minute: 0, time.Hour - time.Second: 0, time.Hour: 1, 3 * time.Hour: 1} {
		s := snapshot([]roll.Instance{poolWorker(id, 48*time.Hour)}, []roll.Node{deletedNode(away)})
		s.DeletingRead = roll.Yes
		a := judge(s, ledger.State{})
		found := stuck(a)
		if len(found) != want {
			t.Errorf("after %s: %+v, want %d", away, found, want)
			continue
		}
		if want == 0 {
			expect.That(t, a.Next.Equal(ago(away-time.Hour)), "after %s: next %s, want when the hour is over", away, a.Next)
			continue
		}
		f := found[0]
		expect.That(t, f.Instance == "node/ip-1" && f.Node == "ip-1" && f.Stage == roll.Overdue && f.Since.Equal(ago(away)) && f.Removal.Machine == id && f.Removal.State == roll.StateRunning, "after %s: %+v", away, f)
		expect.That(t, strings.Contains(f.Summary, finalizer) && strings.Contains(f.Summary, "ip-1"), "%q names neither the node nor its finalizer", f.Summary)
		expect.That(t, a.Count[""].Overdue == 0, "it counts against the limits: %+v", a.Count)
	}
}

func TestAMachineOfWhichBothAreDeletedIsOneFinding(t *testing.T) {
	both := func(s *roll.Snapshot) {
		s.Deleting, s.DeletingRead = []roll.NodeClaim{deletedClaim(2 * time.Hour)}, roll.Yes
	}
	s := snapshot([]roll.Instance{poolWorker(id, 48*time.Hour)}, []roll.Node{deletedNode(90 * time.Minute)})
	both(s)
	found := stuck(judge(s, ledger.State{}))
	expect.That(t, len(found) == 1 && found[0].Instance == "nodeclaim/default-abc" && found[0].Node == "ip-1" && found[0].Since.Equal(ago(2*time.Hour)), "both: %+v", found)
	s.Nodes[0].DeletedAt = ago(3 * time.Hour)
	if found := stuck(judge(s, ledger.State{})); len(found) != 1 || !found[0].Since.Equal(ago(3*time.Hour)) {
		t.Errorf("the Node was deleted first: %+v", found)
	}
	for name, change := range map[string]func(*roll.Instance){
		"to be ignored": func(i *roll.Instance) { i.Ignore = true }, "of another cluster": func(i *roll.Instance) { i.OtherCluster = "other" },
	} {
		i := poolWorker(id, 48*time.Hour)
		change(&i)
		of := *s
		of.Instances = []roll.Instance{i}
		found := stuck(judge(&of, ledger.State{}))
		expect.That(t, len(found) == 0, "%s: %+v", name, found)
	}
	// A finding that was reported about the Node alone continues as that.
	key := roll.FindingKey{Instance: "node/ip-1", Kind: roll.Stuck}
	state := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{key: {Instance: key.Instance, Kind: key.Kind, Node: "ip-1", Began: ago(90 * time.Minute)}}}
	if found := stuck(judge(s, state)); len(found) != 1 || found[0].Instance != "node/ip-1" {
		t.Errorf("known as the Node's: %+v", found)
	}
	// A NodeClaim without a Node, and without an instance.
	s = snapshot(nil, nil)
	both(s)
	if found := stuck(judge(s, ledger.State{})); len(found) != 1 || found[0].Instance != "nodeclaim/default-abc" || found[0].Node != "" || found[0].Group != "nodepool/default" || found[0].Owner != roll.OwnerKarpenter {
		t.Errorf("the NodeClaim alone: %+v", found)
	}
	s.Deleting[0].Owner = roll.OwnerAutoMode
	if found := stuck(judge(s, ledger.State{})); len(found) != 1 || found[0].Owner != roll.OwnerAutoMode {
		t.Errorf("one of Auto Mode: %+v", found)
	}
}

// Unreadable data resolves nothing, and causes no second report under another name.
func TestAGapKeepsWhatIsStuck(t *testing.T) {
	key := roll.FindingKey{Instance: "nodeclaim/default-abc", Kind: roll.Stuck}
	state := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{key: {Instance: key.Instance, Kind: key.Kind, Node: "ip-1", Began: ago(2 * time.Hour)}}}
	s := snapshot([]roll.Instance{poolWorker(id, 48*time.Hour)}, []roll.Node{deletedNode(2 * time.Hour)})
	s.DeletingRead = roll.Unreadable
	a := judge(s, state)
	expect.That(t, len(stuck(a)) == 0 && a.Kept[key], "the NodeClaims were not read: %+v, kept %v", stuck(a), a.Kept)
	s.DeletingRead = roll.Yes
	if a = judge(s, state); a.Kept[key] || len(stuck(a)) != 1 || stuck(a)[0].Instance != "node/ip-1" {
		t.Errorf("the NodeClaim is gone: %+v, kept %v", stuck(a), a.Kept)
	}
	s = snapshot(nil, nil, roll.Gap{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable})
	if a = judge(s, state); len(stuck(a)) != 0 || !a.Kept[key] {
		t.Errorf("the nodes were not read: %+v, kept %v", stuck(a), a.Kept)
	}
}
