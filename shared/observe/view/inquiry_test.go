package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/ledger"
	"rollcall/shared/observe"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/view"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// world is a captured account: its answers, and its findings.
type world struct {
	bundle   *bundle.Bundle
	observer *observe.Observer
	at       time.Time
}

func open(t *testing.T, fsys fs.FS) world {
	t.Helper()
	b, err := bundle.OpenFS(fsys)
	must.Succeed(t, err)
	at, _ := b.At()
	return world{b, observe.New(observe.Options{
		AWS: b.AWS(), Kube: b.Kube(), PageInterval: time.Nanosecond, RollFrom: -1, // as OfBundle
	}), at}
}

// look observes everything, or one instance as before an act.
func (w world) look(t *testing.T, target roll.InstanceID) (*roll.Snapshot, []roll.Finding) {
	t.Helper()
	doc := policy.Default()
	var s *roll.Snapshot
	if target == "" {
		s = w.observer.Snapshot(t.Context(), w.bundle.ClusterID().Name, w.at, doc.Watch())
	} else {
		s = w.observer.Target(t.Context(), w.bundle.ClusterID().Name, target, w.at, doc.Watch())
	}
	a := assess.Thoroughly(assess.Input{Snapshot: s, Policy: doc.Cluster(w.bundle.ClusterID().Name, "", policy.Remediate), State: ledger.State{}, Now: w.at},
		func(q []roll.Question) { w.observer.Details(t.Context(), s, q) })
	return s, a.Findings
}

func (w world) inquirer(store view.Store) *view.View {
	return view.New(w.bundle.AWS(), w.bundle.Kube(), view.Options{Store: store})
}

func first(d map[roll.FindingKey]roll.Diagnosis, key roll.FindingKey) string {
	c, _ := d[key].Decisive()
	return c.Code
}

// Kept evidence leads to the same findings later and elsewhere.
func TestKeptEvidenceTellsTheSameAgain(t *testing.T) {
	for name, target := range map[string]roll.InstanceID{
		"role-in-neither-store": "", "controller-role-in-aws-auth": "i-0bad0000000000001", "silent": "", "memory-pressure-remembered": "i-0bad0000000000001",
		"kernel-panic": "", "cni-not-initialized": "i-0bad0000000000001", "flags-with-a-quote-that-never-ends": "", "zone-went-silent": "",
	} {
		for _, of := range []roll.InstanceID{target, ""} {
			w := open(t, generate.Named(t, name).FS())
			s, findings := w.look(t, of)
			must.That(t, len(findings) != 0, "%s: nothing is wrong", name)
			root := t.TempDir()
			q := w.inquirer(archive.NewDir(root)).Inquire(t.Context(), collect.Input{Snapshot: s, Findings: findings}, true)
			f := findings[0]
			key := archive.Key{Cluster: s.Cluster.ID, Instance: f.Instance, Kind: f.Kind, At: w.at, Stage: archive.StageWarned}
			link, err := q.Keep(t.Context(), key, map[string]string{"what": "findings"})
			must.That(t, err == nil, "%s: %v", name, err)
			expect.That(t, strings.HasPrefix(link, "file://"), "%s: kept in %q", name, link)
			folder := filepath.Join(strings.TrimPrefix(link, "file://"), "bundle")
			again := open(t, os.DirFS(folder))
			s2, findings2 := again.look(t, "")
			q2 := again.inquirer(nil).Inquire(t.Context(), collect.Input{Snapshot: s2, Findings: findings2}, false)
			found := map[roll.FindingKey]bool{}
			for _, g := range findings {
				found[g.Key()] = true
			}
			for _, g := range findings2 {
				expect.That(t, found[g.Key()], "%s of %q: the evidence shows %s of %s, which was not there", name, of, g.Kind, g.Instance)
			}
			if a, b := first(q.Diagnoses, f.Key()), first(q2.Diagnoses, f.Key()); a != b {
				t.Errorf("%s of %q: %s then, %s from what was kept", name, of, a, b)
			}
		}
	}
}

func TestTheFindingsStandBesideTheBundle(t *testing.T) {
	w := open(t, generate.Named(t, "silent").FS())
	s, findings := w.look(t, "")
	root := t.TempDir()
	q := w.inquirer(archive.NewDir(root)).Inquire(t.Context(), collect.Input{Snapshot: s, Findings: findings}, true)
	link, err := q.Keep(t.Context(), archive.Key{Cluster: s.Cluster.ID, Instance: findings[0].Instance, Kind: findings[0].Kind, At: w.at, Stage: "00000000feed0027"}, map[string]int{"n": len(findings)})
	must.Succeed(t, err)
	data := must.Read(t, filepath.Join(strings.TrimPrefix(link, "file://"), archive.Findings))
	var got map[string]int
	if err := json.Unmarshal(data, &got); err != nil || got["n"] != len(findings) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestNothingIsKeptThatWasNotRecorded(t *testing.T) {
	w := open(t, generate.Named(t, "silent").FS())
	s, findings := w.look(t, "")
	for _, q := range []*view.Inquiry{
		w.inquirer(nil).Inquire(t.Context(), collect.Input{Snapshot: s, Findings: findings}, true),
		w.inquirer(archive.NewDir(t.TempDir())).Inquire(t.Context(), collect.Input{Snapshot: s, Findings: findings}, false),
	} {
		if _, err := q.Keep(t.Context(), archive.Key{}, nil); !errors.Is(err, view.ErrNotRecorded) {
			t.Errorf("got %v", err)
		}
		expect.That(t, len(q.Diagnoses) == len(findings), "%d diagnoses of %d findings", len(q.Diagnoses), len(findings))
	}
}

// Evidence that cannot be stored is an error, so an act is refused.
func TestAStoreThatRefusesIsAnError(t *testing.T) {
	w := open(t, generate.Named(t, "silent").FS())
	s, findings := w.look(t, "")
	q := w.inquirer(refusing{}).Inquire(t.Context(), collect.Input{Snapshot: s, Findings: findings}, true)
	if _, err := q.Keep(t.Context(), archive.Key{Instance: findings[0].Instance}, nil); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("got %v", err)
	}
}

type refusing struct{}

func (refusing) Put(context.Context, archive.Key, map[string][]byte) (string, error) {
	return "", errors.New("s3:PutObject was denied")
}
