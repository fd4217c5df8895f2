package plan

import (
	"math/rand/v2"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// For a finding that is not about an instance, nothing is ordered, held or tagged, and acts on
// instances stay the same.
func TestWhatIsNoInstanceIsOnlyTold(t *testing.T) {
	subjects := []roll.InstanceID{
		roll.SubjectID("nodeclaim", "general-x7k2p"), roll.SubjectID("node", "node-1"), roll.SubjectID("nodegroup", "w"), roll.SubjectID("asg", "w"),
		roll.SubjectID("nodepool", "general"), roll.SubjectID("volume", "vol-0123456789abcdef0"), roll.SubjectID("eni", "eni-0123456789abcdef0"),
	}
	kinds := roll.Kinds()
	for seed := range uint64(500) {
		d := rand.New(rand.NewPCG(seed, 1))
		w := healthy(20)
		w.silent(1, 2*time.Hour)
		pol := w.doc.Cluster("demo", "", policy.Remediate)
		a := assess.Assess(assess.Input{Snapshot: w.snapshot, Policy: pol, State: w.state, Now: now})
		alone := Make(Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Policy: pol, Now: now})
		for range 1 + d.IntN(3) {
			f := roll.Finding{
				Instance: subjects[d.IntN(len(subjects))], Kind: kinds[d.IntN(len(kinds))], Group: []roll.Group{"asg/w", roll.GroupNone}[d.IntN(2)],
				Owner: roll.Owners()[d.IntN(len(roll.Owners()))], Stage: []roll.Stage{roll.Watching, roll.Warned, roll.Overdue}[d.IntN(3)],
				Since: now.Add(-24 * time.Hour), Began: now.Add(-24 * time.Hour), Due: now.Add(-23 * time.Hour),
			}
			a.Findings = append(a.Findings, f)
			w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{{Instance: f.Instance, Kind: f.Kind}: {Instance: f.Instance, Kind: f.Kind, Group: f.Group, Stage: f.Stage, FirstSeen: f.Since, Opened: f.Since, Since: f.Since, Began: f.Began}}}})
		}
		p := Make(Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Policy: pol, Now: now})
		for _, o := range p.Orders {
			expect.That(t, o.Instance.IsInstance(), "seed %d: ordered %+v", seed, o)
		}
		for _, h := range p.Held {
			expect.That(t, h.Instance.IsInstance(), "seed %d: held %+v", seed, h)
		}
		for _, c := range p.Tags {
			expect.That(t, c.Instance.IsInstance(), "seed %d: tags %+v", seed, c)
		}
		expect.That(t, len(p.Orders) == len(alone.Orders), "seed %d: %d orders, without them %d: %+v", seed, len(p.Orders), len(alone.Orders), p.Held)
	}
}

// The end of such a finding is reported as recovered, since it cannot be gone as an instance is.
func TestWhatIsNoInstanceIsRecovered(t *testing.T) {
	w := healthy(1)
	p := &planner{Input: Input{Snapshot: w.snapshot, State: w.state}}
	id := roll.SubjectID("nodepool", "general")
	got := p.ends(ledger.Notice{Members: map[roll.InstanceID]ledger.MemberMemory{id: toldOverdue}})
	expect.That(t, len(got) == 1 && got[0].Instance == id && got[0].How == EndedRecovered, "%+v", got)
}

// The remnants of an orphan are recorded with it, and so is the owner of what is left.
func TestTheLedgerKnowsWhatOutlivesAnOrphan(t *testing.T) {
	w := healthy(3)
	w.snapshot.Instances[0].Outlives = []string{"vol-1"}
	volume := roll.Finding{Instance: "volume/vol-2", Kind: roll.Stuck, Group: "asg/w", Stage: roll.Watching, Since: now, Began: now, Left: roll.Leftover{ID: "vol-2", Instance: "i-0bad0000000000001"}}
	orphan := roll.Finding{Instance: instanceID(1), Kind: roll.Orphaned, Group: "asg/w", Stage: roll.Watching, Since: now, Began: now}
	silent := roll.Finding{Instance: instanceID(1), Kind: roll.Unknown, Group: "asg/w", Stage: roll.Watching, Since: now, Began: now}
	pol := w.doc.Cluster("demo", "", policy.Notify)
	in := Input{Snapshot: w.snapshot, Assessment: assess.Assess(assess.Input{Snapshot: w.snapshot, Policy: pol, State: w.state, Now: now}), State: w.state, Policy: pol, Now: now}
	in.Assessment.Findings = []roll.Finding{volume, orphan, silent}
	changes := Make(in).Changes
	must.That(t, len(changes.Put.Findings) == 3, "%+v", changes.Put.Findings)
	for _, f := range changes.Put.Findings {
		if want := f.Kind == roll.Orphaned; (len(f.Outlives) == 1) != want {
			t.Errorf("%s of %s: %v", f.Kind, f.Instance, f.Outlives)
		}
		want := f.Kind == roll.Stuck
		expect.That(t, (f.Left == "i-0bad0000000000001") == want, "%s of %s: %q", f.Kind, f.Instance, f.Left)
	}
	in.State.Apply(changes)
	if again := Make(in).Changes.Put.Findings; len(again) != 0 {
		t.Errorf("written again: %+v", again)
	}
	in.Snapshot.Instances[0].Outlives = []string{"vol-1", "vol-3"}
	again := Make(in).Changes.Put.Findings
	expect.That(t, len(again) == 1, "one that was attached since: %+v", again)
}
