package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// unregistered adds an instance of the Auto Scaling group w that has been unregistered for the
// given time, was seen so before, and may be terminated according to EC2 and Auto Scaling.
func (w *world) unregistered(n int, launched time.Duration) *roll.Instance {
	id := instanceID(n)
	w.snapshot.Instances = append(w.snapshot.Instances, roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-launched), ASG: "w", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w"})
	w.snapshot.Details[id] = roll.Detail{Bootstraps: roll.Yes, LeaseRead: roll.No, TerminationProtected: roll.No, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService"}
	w.remembered(n, roll.Unregistered, now.Add(-launched))
	return &w.snapshot.Instances[len(w.snapshot.Instances)-1]
}

// remembered records that an earlier check saw a finding about an instance of that group.
func (w *world) remembered(n int, kind roll.Kind, began time.Time) {
	f := ledger.Finding{Instance: instanceID(n), Kind: kind, Group: "asg/w", Stage: roll.Overdue, FirstSeen: now.Add(-10 * time.Minute), Opened: now.Add(-10 * time.Minute), Since: began, Began: began}
	w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, RemediateSince: map[roll.Group]time.Time{"asg/w": now.Add(-24 * time.Hour)}}})
}

func stranger(f roll.FindingKey, c roll.Confidence) map[roll.FindingKey][]roll.Cause {
	return map[roll.FindingKey][]roll.Cause{f: {
		{Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Subject: "role/x", Cure: roll.CureChange},
		{Code: "UserDataClusterMismatch", Confidence: c, Summary: "the user data names the cluster other and not demo", Cure: roll.CureChange},
	}}
}

// An instance whose user data joins another cluster belongs to that cluster, whoever launched it
// and whatever its group had.
func TestWhatJoinsAnotherClusterIsNotOurs(t *testing.T) {
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unregistered}
	userData := func(w *world, bootstraps roll.Answer, other string) {
		w.detail(func(d *roll.Detail) { d.Bootstraps, d.OtherCluster = bootstraps, other })
	}
	tests := map[string]struct {
		spoil func(*world)
		want  Reason // "" is an order
	}{
		"nothing is known":       {func(*world) {}, ""},
		"one alone":              {func(w *world) { w.causes = stranger(key, roll.Decisive) }, NotClaimed},
		"perhaps":                {func(w *world) { w.causes = stranger(key, roll.Suggestive) }, ""},
		"its group has nodes":    {func(w *world) { w.add(2, 0); w.causes = stranger(key, roll.Decisive) }, NotClaimed},
		"its user data was read": {func(w *world) { w.add(2, 0); userData(w, roll.No, "other") }, NotClaimed},
		"it joins none":          {func(w *world) { w.add(2, 0); userData(w, roll.No, "") }, ""},
		"Karpenter launched it": {func(w *world) {
			w.snapshot.Instances[0].Owner = roll.OwnerKarpenter
			w.causes = stranger(key, roll.Decisive)
		}, NotClaimed},
		"a node group owns it": {func(w *world) {
			w.snapshot.Instances[0].Owner = roll.OwnerManagedNodeGroup
			w.causes = stranger(key, roll.Decisive)
		}, NotClaimed},
		"its cause passes as well": {func(w *world) {
			w.causes = stranger(key, roll.Decisive)
			w.causes[key] = append([]roll.Cause{{Code: "KubeletRestartedDuringStartup", Confidence: roll.Decisive, Cure: roll.CureWait}}, w.causes[key]...)
		}, NotClaimed},
	}
	for name, tt := range tests {
		w := newWorld()
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unregistered: [{do: terminate}]}\nlimits: {causeOutside: tryOnce}\n")
		w.unregistered(1, 40*time.Minute)
		tt.spoil(w)
		_, p := w.make(now)
		if got := reasons(p); tt.want == "" && len(p.Orders) != 1 || tt.want != "" && (len(p.Orders) != 0 || !slices.Equal(got, []Reason{tt.want})) {
			t.Errorf("%s: %d orders, held for %v, want %q", name, len(p.Orders), got, tt.want)
		}
	}
}

// Evidence from one finding of an instance counts for its others.
func TestWhatJoinsAnotherClusterIsNotOursInAnyFinding(t *testing.T) {
	w := newWorld()
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unregistered: [{do: notify}], Impaired: [{do: reboot}, {do: terminate}]}\n")
	w.unregistered(1, 40*time.Minute)
	w.add(2, 0)
	w.snapshot.StatusRead, w.snapshot.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{instanceID(1): {Since: now.Add(-time.Hour)}}
	w.remembered(1, roll.Impaired, now.Add(-time.Hour))
	w.snapshot.Groups["asg/w"] = roll.GroupDetail{AutoRepair: roll.No, LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, LaunchesRead: roll.Yes}
	w.causes = stranger(roll.FindingKey{Instance: instanceID(1), Kind: roll.Unregistered}, roll.Decisive)
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 0 && len(p.Held) == 1 && p.Held[0].Reason == NotClaimed && strings.Contains(p.Held[0].Detail, "other"), "orders %+v, held %+v", p.Orders, p.Held)
}
