package view

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// store records the keys under which evidence is put, and the time that was left.
type store struct {
	keys []archive.Key
	left []time.Duration
	err  error
}

func (s *store) Put(ctx context.Context, key archive.Key, _ map[string][]byte) (string, error) {
	end, _ := ctx.Deadline()
	s.keys, s.left = append(s.keys, key), append(s.left, time.Until(end))
	if s.err != nil {
		return "", s.err
	}
	return "s3://evidence/" + key.Stage + "/", nil
}

// silent is a captured cluster with a node whose kubelet fell silent.
func silent(t *testing.T) *bundle.Bundle {
	t.Helper()
	b, err := bundle.OpenFS(generate.Named(t, "silent").FS())
	must.Succeed(t, err)
	return b
}

// keeping returns a view of a captured cluster that keeps evidence in the store.
func keeping(t *testing.T, s *store) (*View, *roll.Snapshot) {
	t.Helper()
	b := silent(t)
	id := b.ClusterID()
	e := New(b.AWS(), b.Kube(), Options{Store: s, PageInterval: time.Nanosecond})
	at, _ := b.At()
	return e, e.Observer.Snapshot(t.Context(), id.Name, at, roll.Watch{})
}

func finding(instance roll.InstanceID) roll.Finding {
	return roll.Finding{Instance: instance, Kind: roll.Unknown, Stage: roll.Warned, Group: "nodepool/default", Owner: roll.OwnerKarpenter}
}

// If a check dies before it records where its evidence is, the next one keeps its own, which may
// have more than what exists already.
func TestWhatAnotherCheckHasToKeepHasAnotherPlace(t *testing.T) {
	s := &store{}
	e, snapshot := keeping(t, s)
	for _, findings := range [][]roll.Finding{
		{finding("i-0bad0000000000001")}, {finding("i-0bad0000000000001"), finding("i-0bad0000000000002")}, {finding("i-0bad0000000000002"), finding("i-0bad0000000000001")},
	} {
		_, keep := e.Check(t.Context(), snapshot, findings, ledger.State{}, true)
		c := report.Check{Snapshot: snapshot, Assessment: assess.Assessment{Findings: findings}}
		if _, err := keep(t.Context(), c, finding("i-0bad0000000000001"), snapshot.At); err != nil {
			t.Fatal(err)
		}
	}
	if one, two, again := s.keys[0].Stage, s.keys[1].Stage, s.keys[2].Stage; one != archive.StageWarned || two == one || !strings.HasPrefix(two, archive.StageWarned+"-") || again != two {
		t.Errorf("the stages are %q, %q and %q", one, two, again)
	}
}

func TestEvidenceBeforeAnActIsOfTheOrder(t *testing.T) {
	s := &store{}
	e, snapshot := keeping(t, s)
	o := plan.Order{ID: "3f9a0c5d7e1b2468", ClusterID: snapshot.Cluster.ID, Instance: "i-0bad0000000000001", Kind: roll.Unknown, FirstSeen: snapshot.At.Add(-time.Hour), At: snapshot.At}
	found, keep := e.Act(t.Context(), snapshot, []roll.Finding{finding(o.Instance)}, ledger.State{})
	expect.That(t, len(found) == 1, "%d diagnoses", len(found))
	where, err := keep(t.Context(), o, remediate.Seen{Snapshot: snapshot, Diagnoses: found})
	expect.That(t, err == nil && where == "s3://evidence/"+o.ID+"/", "kept in %q: %v", where, err)
	if want := (archive.Key{Cluster: o.ClusterID, Instance: o.Instance, Kind: o.Kind, At: o.FirstSeen, Stage: o.ID}); s.keys[0] != want {
		t.Errorf("kept under %+v, want %+v", s.keys[0], want)
	}
	s.err = errors.New("denied")
	if where, err = keep(t.Context(), o, remediate.Seen{Snapshot: snapshot}); err == nil || where != "" {
		t.Errorf("kept in %q: %v", where, err)
	}
	for _, left := range s.left {
		expect.That(t, left > 0 && left <= KeepTime, "there were %s to keep it", left)
	}
}

func TestWithoutAPlaceNothingIsKept(t *testing.T) {
	e, snapshot := keeping(t, &store{})
	if _, keep := e.Check(t.Context(), snapshot, []roll.Finding{finding("i-0bad0000000000001")}, ledger.State{}, false); keep != nil {
		t.Error("what was not recorded can be kept")
	}
	if _, keep := e.Explain(t.Context(), snapshot, nil, ledger.State{}, true); keep != nil {
		t.Error("what is only explained can be kept")
	}
	if _, keep := OfBundle(silent(t)).Check(t.Context(), snapshot, []roll.Finding{finding("i-0bad0000000000001")}, ledger.State{}, true); keep != nil {
		t.Error("evidence can be kept nowhere")
	}
}

// dialer records the goroutines that dial.
type dialer struct {
	bundle.Dialer
	by map[string]bool
}

func (d dialer) Dial(c roll.Cluster) (*kube.Client, error) {
	d.by[goroutine()] = true
	return d.Dialer.Dial(c)
}

// goroutine returns the name of the caller's goroutine, as in a stack trace.
func goroutine() string {
	name, _, _ := strings.Cut(string(debug.Stack()), " [")
	return name
}

func TestInSeriesTheCallerAsks(t *testing.T) {
	_, snapshot := keeping(t, &store{})
	b := silent(t)
	d := dialer{b.Kube(), map[string]bool{}}
	for range 5 {
		New(b.AWS(), d, Options{Serial: true}).Check(t.Context(), snapshot, []roll.Finding{finding("i-0bad0000000000001")}, ledger.State{}, true)
	}
	expect.That(t, len(d.by) == 1 && d.by[goroutine()], "asked in %d goroutines", len(d.by))
}
