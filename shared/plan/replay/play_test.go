package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/plan/replay"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

var (
	start   = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}
)

const (
	silent = roll.InstanceID("i-00000000000000001")
	every  = 5 * time.Minute
	total  = 48 // checks
)

func document(t *testing.T, text string) *policy.Document {
	t.Helper()
	d, err := policy.Parse([]byte("apiVersion: rollcall/v1\n" + text))
	must.Succeed(t, err)
	return d
}

// watched returns the checks of a cluster of six nodes under mode observe, in which a node is silent
// from a minute after the first check on until the record ends.
func watched() (checks []replay.Recorded) {
	state := ledger.NewState()
	state.First = start.Add(-48 * time.Hour)
	for n := range total {
		now := start.Add(time.Duration(n) * every)
		s := &roll.Snapshot{At: now, Cluster: roll.Cluster{ID: cluster, Status: "ACTIVE", Endpoint: "https://example.com"}, StatusRead: roll.Yes, DeletingRead: roll.Yes, ClaimsRead: roll.Yes, ScalingRead: roll.Yes, NodeGroupsRead: roll.Yes, Details: map[roll.InstanceID]roll.Detail{}}
		for i := range 6 {
			id := roll.InstanceID(fmt.Sprintf("i-%017x", i+1))
			s.Instances = append(s.Instances, roll.Instance{ID: id, State: roll.StateRunning, Launched: start.Add(-24 * time.Hour), Owner: roll.OwnerAutoScalingGroup, Group: "asg/w", ASG: "w", Zone: "eu-west-1a"})
			ready := roll.Condition{Status: roll.ConditionTrue, Since: start.Add(-23 * time.Hour)}
			if id == silent && n > 0 {
				ready = roll.Condition{Status: roll.ConditionUnknown, Since: start.Add(time.Minute), Reason: "NodeStatusUnknown"}
			}
			s.Nodes = append(s.Nodes, roll.Node{Name: fmt.Sprintf("node-%d", i+1), UID: string(id), Compute: roll.ComputeEC2, Instance: id, Created: start.Add(-24 * time.Hour), Ready: ready, Zone: "eu-west-1a", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w"})
		}
		s.Details[silent] = roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "InService", TerminationProtected: roll.No, ScaleInProtected: roll.No, WholeRead: roll.Yes, Bootstraps: roll.Yes, LeaseRead: roll.Yes, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}}
		s.Groups = map[roll.Group]roll.GroupDetail{"asg/w": {LaunchSuspended: roll.No, ReplaceSuspended: roll.No, Desired: 6, LaunchesRead: roll.Yes}}
		c := replay.Recorded{Now: now, SeenAt: now, Policy: policy.Default().Source(), Permitted: policy.Observe, Snapshot: s, State: state.Clone(), Diagnoses: map[roll.FindingKey]roll.Diagnosis{{Instance: silent, Kind: roll.Unknown}: {}}}
		p, err := c.Plan()
		if err != nil {
			panic(err)
		}
		state.Apply(p.Changes)
		checks = append(checks, c)
	}
	return checks
}

// The ids of orders have the time when a finding was first seen. A check of which nothing was remembered saw
// it for the record as if it had not been.
func TestWhatACheckCouldNotRememberIsForgotten(t *testing.T) {
	checks := watched()
	key := roll.FindingKey{Instance: silent, Kind: roll.Unknown}
	later := checks[3].Now
	for i := 4; i < total; i++ {
		f := checks[i].State.Findings[key]
		f.FirstSeen = later
		checks[i].State.Findings[key] = f
	}
	o := replay.Play("the ladder", checks, document(t, "mode: remediate"), policy.Remediate)
	if len(o.Acts) == 0 || !o.Acts[0].FirstSeen.Equal(later) {
		t.Errorf("%q, first seen at %v, want %v", said(o), o.Acts, later)
	}
}

func said(o replay.Replayed) (out []string) {
	for _, a := range o.Acts {
		s := fmt.Sprintf("%s %s", a.At.Sub(start).Round(time.Minute), a.Action)
		if a.Assumed {
			s += " assumed"
		}
		out = append(out, s)
	}
	return out
}

func reasons(o replay.Replayed) (out []plan.Reason) {
	for _, h := range o.Holds {
		out = append(out, h.Reason)
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// What a policy in mode remediate would have done with a node that nobody acted on.
func TestActsThatTheRecordDoesNotHave(t *testing.T) {
	checks := watched()
	ran, err := replay.AsItRan(checks)
	if err != nil || len(ran.Acts) > 0 || !slices.Equal(reasons(ran), []plan.Reason{plan.ModeObserve}) {
		t.Fatalf("%v: %q, held for %q", err, said(ran), reasons(ran))
	}
	whole := time.Duration(total-2) * every // from the second check on; the last one lasts for no time
	if ran.Lost != whole {
		t.Errorf("lost %s as it ran, want %s", ran.Lost, whole)
	}
	for name, tt := range map[string]struct {
		policy    string
		permitted policy.Mode
		want      []string
		lost      time.Duration // at most
	}{
		"the ladder":       {"mode: remediate", policy.Remediate, []string{"35m0s reboot assumed", "45m0s terminate assumed"}, 45 * time.Minute},
		"no reboot":        {"mode: remediate\nladders: {Unknown: [{do: notify}, {do: terminate}]}", policy.Remediate, []string{"35m0s terminate assumed"}, 35 * time.Minute},
		"more patience":    {"mode: remediate\nconditions: [{type: Ready, status: Unknown, tolerate: 2h}]\nladders: {Unknown: [{do: notify}, {do: terminate}]}", policy.Remediate, []string{"2h5m0s terminate assumed"}, 125 * time.Minute},
		"observe":          {"mode: observe", policy.Remediate, nil, whole},
		"not permitted":    {"mode: remediate", policy.Observe, nil, whole},
		"the mode is less": {"mode: notify", policy.Remediate, nil, whole},
	} {
		o := replay.Play(name, checks, document(t, tt.policy), tt.permitted)
		if !slices.Equal(said(o), tt.want) || o.Lost > tt.lost || o.Lost < tt.lost-2*every {
			t.Errorf("%s: %q, %s lost, want %q and %s; held for %q", name, said(o), o.Lost, tt.want, tt.lost, reasons(o))
		}
	}
}

// A finding that the record did not diagnose may have a cause that a replacement would have too.
func TestWhatWasNotDiagnosedIsNotActedOn(t *testing.T) {
	checks := watched()
	for i := range checks {
		checks[i].Diagnoses = nil
	}
	o := replay.Play("the ladder", checks, document(t, "mode: remediate\nladders: {Unknown: [{do: notify}, {do: terminate}]}"), policy.Remediate)
	if len(o.Acts) > 0 || !slices.Contains(reasons(o), plan.CauseNotChecked) {
		t.Errorf("%q, held for %q", said(o), reasons(o))
	}
}

// A machine that only the record ended stays as it was.
func TestActsThatOnlyTheRecordHas(t *testing.T) {
	checks := watched()
	ended := start.Add(40 * time.Minute)
	act := ledger.Action{ID: "0123456789abcdef", Do: "terminate", Instance: silent, Group: "asg/w", Kind: roll.Unknown, At: ended, Outcome: &ledger.Outcome{Result: ledger.Done, At: ended}}
	for i := range checks {
		if c := &checks[i]; c.Now.After(ended) {
			c.State.Actions = []ledger.Action{act}
			c.Snapshot.Instances = slices.DeleteFunc(c.Snapshot.Instances, func(i roll.Instance) bool { return i.ID == silent })
			c.Snapshot.Nodes = slices.DeleteFunc(c.Snapshot.Nodes, func(n roll.Node) bool { return n.Instance == silent })
		}
	}
	ran, err := replay.AsItRan(checks)
	if err != nil || ran.Lost > 45*time.Minute {
		t.Fatalf("%v: lost %s", err, ran.Lost)
	}
	if o := replay.Play("idle", checks, document(t, "mode: observe"), policy.Remediate); len(o.Acts) > 0 || o.Lost != time.Duration(total-2)*every {
		t.Errorf("without the act: %q, %s lost", said(o), o.Lost)
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	var good bytes.Buffer
	w, err := replay.NewWriter(&good)
	must.Succeed(t, err)
	for _, c := range watched()[:3] {
		must.Succeed(t, w.Write(c))
	}
	must.Succeed(t, w.Close())
	if checks, err := replay.Read(bytes.NewReader(good.Bytes())); err != nil || len(checks) != 3 || checks[2].Snapshot.Nodes[0].Ready.Status != roll.ConditionUnknown {
		t.Errorf("%v: %d checks", err, len(checks))
	}
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("apiVersion: v1"), "half of it": good.Bytes()[:good.Len()/2]} {
		if _, err := replay.Read(bytes.NewReader(data)); err == nil || name != "half of it" && !errors.Is(err, replay.ErrNoRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := watched()[:1]
	broken[0].Policy.Text = "mode: sometimes"
	if _, err := replay.AsItRan(broken); err == nil || !strings.Contains(err.Error(), "the policy of the check of demo") {
		t.Errorf("a policy that is none: %v", err)
	}
}

// What it takes to record a check of 5,000 nodes.
func BenchmarkRecord(b *testing.B) {
	c := watched()[1]
	first, node := c.Snapshot.Instances[1], c.Snapshot.Nodes[1]
	for i := range 5000 {
		first.ID = roll.InstanceID(fmt.Sprintf("i-%017x", 0x9e3779b97f4a7c15*uint64(i+100)>>4))
		first.PrivateDNS, node.Name = fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/250, i%250), fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/250, i%250)
		node.Instance, node.UID = first.ID, string(first.ID)
		c.Snapshot.Instances, c.Snapshot.Nodes = append(c.Snapshot.Instances, first), append(c.Snapshot.Nodes, node)
	}
	size := 0
	for b.Loop() {
		var to bytes.Buffer
		w, err := replay.NewWriter(&to)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(w.Write(c), w.Close()); err != nil {
			b.Fatal(err)
		}
		size = to.Len()
	}
	b.ReportMetric(float64(size), "bytes/check")
}
