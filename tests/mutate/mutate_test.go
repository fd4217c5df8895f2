package mutate

import (
	"reflect"
	"strings"
	"testing"

	"rollcall/shared/sim"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// root is the root of the repository.
const root = "../.."

// Every text in the table must occur in the current product.
func TestEachMutationApplies(t *testing.T) {
	if _, err := Weave(root, Table()); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range Table() {
		expect.That(t, !named[m.Name], "two mutations are called %q", m.Name)
		named[m.Name] = true
		expect.That(t, (len(m.Rules) > 0) != (m.Survives != "") && m.Harm != "", "%q needs a harm, and rules or why it survives", m.Name)
	}
	if n := len(Table()); n < 80 {
		t.Errorf("%d mutations, and there should be at least 80", n)
	}
}

// Runs a sample that covers as many rules as possible; make mutate runs all mutations.
func TestSampleIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole product")
	}
	b, err := Build(t.Context(), root, t.TempDir(), Table())
	must.Succeed(t, err)
	t.Run("the product itself", func(t *testing.T) {
		t.Parallel()
		runs := []Run{{Seed: 1}}
		right, err := Simulate(runs)
		must.Succeed(t, err)
		woven, err := b.run(t.Context(), 0, runs)
		must.Succeed(t, err)
		expect.That(t, right[0].Digest == woven[0].Digest, "with no mutation in force something else happens than without any")
	})
	sampled := 0
	for i, m := range Table() {
		if !m.Sample {
			continue
		}
		sampled++
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			v, err := b.Try(t.Context(), i+1, m, Seeds)
			must.Succeed(t, err)
			if v.Fault != "" {
				t.Error(v.Fault)
			}
		})
	}
	expect.That(t, sampled >= 15, "%d mutations are in the sample, and there should be at least 15", sampled)
}

// A function with every kind of receiver, parameter and result is woven so that it compiles
// and behaves as before.
func TestWeaves(t *testing.T) {
	s, err := parse("x.go", []byte(`package x

// F does.
func (m *M[K]) F(_ int, a, b string, rest ...K) (n int, err error) {
	return len(a), nil
}

func G[T any](v T) { println("old", v) }
`))
	must.Succeed(t, err)
	for i, m := range []Mutation{{Old: "len(a)", New: "len(b)"}, {Old: `"old"`, New: `"new"`}} {
		must.Succeed(t, s.add(i+1, m))
	}
	want := `package x

// F does.
func (r__ *M[K]) F(p0__ int, p1__ string, p2__ string, p3__ ...K) (int, error) {
	if mutation__ == 1 { return r__.F__1(p0__, p1__, p2__, p3__...) }
	return r__.F__0(p0__, p1__, p2__, p3__...)
}

func G[T any](p0__ T) () {
	if mutation__ == 2 { G__2(p0__); return }
	G__0(p0__); return
}

func (m *M[K]) F__0(_ int, a, b string, rest ...K) (n int, err error) {
	return len(a), nil
}

func (m *M[K]) F__1(_ int, a, b string, rest ...K) (n int, err error) {
	return len(b), nil
}

func G__0[T any](v T) { println("old", v) }

func G__2[T any](v T) { println("new", v) }
`
	if got := string(s.woven()); got != want {
		t.Errorf("woven is\n%s\nand should be\n%s", got, want)
	}
	for _, bad := range []Mutation{{Old: "a", New: "b"}, {Old: "nil", New: "nil"}, {Old: "func G", New: "func H"}, {Old: "missing", New: "x"}} {
		if err := s.add(9, bad); err == nil {
			t.Errorf("%q for %q should not apply", bad.New, bad.Old)
		}
	}
}

func TestRunsBeginWithTheFaults(t *testing.T) {
	runs := Runs(faults(sim.FaultZone), Seeds)
	if len(runs) != 50 || runs[0].Faults[0] != sim.FaultZone || runs[24].Seed != 25 || runs[25].Faults != nil || runs[25].Seed != 1 {
		t.Errorf("the runs are %v", runs)
	}
	long := Runs(faults(sim.FaultZone), Seeds+10)
	if len(long) != Seeds+10 || !reflect.DeepEqual(long[:Seeds], runs) || long[Seeds].Faults != nil || long[Seeds].Seed != 26 {
		t.Errorf("the runs beyond the usual number are %v", long[Seeds:])
	}
	if runs := Runs(nil, Seeds); len(runs) != 50 || runs[49].Faults != nil || runs[49].Seed != 50 {
		t.Errorf("the runs without faults are %v", runs)
	}
}

// Faults in two clusters would not interact.
func TestFaultsMeet(t *testing.T) {
	for seed := range uint64(20) {
		sc := Run{Seed: seed + 1, Faults: faults(sim.FaultNoReplacement, sim.FaultAPIErrors, sim.FaultPeople)}.Scenario()
		certain := sc.Faults[len(sc.Faults)-3:]
		for _, f := range certain[1:] {
			if f.At != certain[0].At || f.Cluster != certain[0].Cluster || f.Group != "" && f.Group != certain[0].Group {
				t.Errorf("seed %d: %s does not meet %s", seed+1, f, certain[0])
			}
		}
	}
}

// The table's expectations are compared with the results.
func TestVerdicts(t *testing.T) {
	caught := &Outcome{Rule: sim.RuleZone}
	for _, c := range []struct {
		v    Verdict
		want string
	}{
		{Verdict{Mutation: Mutation{Rules: rules(sim.RuleZone)}, Caught: caught}, ""},
		{Verdict{Mutation: Mutation{Rules: rules(sim.RulePace)}, Caught: caught}, "breaks zone first"},
		{Verdict{Mutation: Mutation{Rules: rules(sim.RulePace)}}, "breaks no rule"},
		{Verdict{Mutation: Mutation{Survives: "of another guard"}, Caught: caught}, "is said to survive"},
		{Verdict{Mutation: Mutation{Survives: "of another guard"}, Differs: true}, ""},
		{Verdict{Mutation: Mutation{Survives: "of another guard"}}, ""},
	} {
		if got := c.v.wrong(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("of %+v the table is wrong: %q, and should be %q", c.v, got, c.want)
		}
	}
}
