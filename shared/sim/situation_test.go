package sim

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"rollcall/tests/harness/must"
)

// seedsEach returns how many seeds are run for each situation. ROLLCALL_SEEDS sets the number.
func seedsEach(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv("ROLLCALL_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		must.That(t, err == nil && n != 0, "ROLLCALL_SEEDS=%s: it takes a number of seeds", text)
		return n
	}
	if testing.Short() || raced {
		return 1
	}
	return 6
}

// No situation breaks a rule, whatever else happens to the account. With many seeds, each form of a
// situation must arise: a fault that does nothing would prove nothing.
func TestNoSituationBreaksARule(t *testing.T) {
	seeds := seedsEach(t)
	for _, sit := range faultTypes {
		if !sit.isSituation() {
			continue
		}
		t.Run(string(sit.kind), func(t *testing.T) {
			t.Parallel()
			arose, forms := 0, map[string]bool{}
			for seed := uint64(1); seed <= seeds; seed++ {
				sc := Random(Options{Seed: seed, Certain: []FaultKind{sit.kind}})
				here := false
				r, err := Run(sc, Watch{GoOn: true, Tell: func(e Event) {
					if e.Kind == EventArose && e.Stage == string(sit.kind) {
						here, forms[e.Reason] = true, true
					}
				}})
				must.Succeed(t, err)
				if here {
					arose++
				}
				if len(r.Violations) > 0 {
					v := r.Violations[0]
					t.Errorf("seed %d breaks %s at %s: %s; see rollcall simulate --fault %s --seed %d", seed, v.Rule, v.At.Format("15:04:05"), v.Detail, sit.kind, seed)
				}
			}
			if seeds >= 20 && uint64(arose)*2 < seeds {
				t.Errorf("it arises in %d of %d seeds", arose, seeds)
			}
			if i := slices.IndexFunc(sit.values, func(v string) bool { return !forms[v] }); i >= 0 && seeds >= 100 {
				t.Errorf("the form %s of it never arises", sit.values[i])
			}
		})
	}
}

// A run that is made for faults contains each of them, in a cluster in which it can arise.
func TestCertainFaultsAreThere(t *testing.T) {
	for _, kind := range Kinds() {
		for seed := range uint64(20) {
			sc := Random(Options{Seed: seed, Certain: []FaultKind{FaultBastion, kind}})
			if n := len(sc.Faults); n != besides+2 || sc.Faults[n-1].Kind != kind && kind != FaultDeleted || sc.Faults[n-2].Kind != FaultBastion || len(sc.Clusters) != 2 {
				t.Fatalf("seed %d, %s: %v", seed, kind, sc.Faults)
			}
			f := sc.Faults[len(sc.Faults)-1]
			sit := kind.faultType()
			if sit.fits == nil {
				continue
			}
			if i := slices.IndexFunc(sc.Clusters[1].Groups, func(g GroupSpec) bool { return g.Name == f.Group }); i < 0 || !sit.fits(sc.Clusters[1].Groups[i], f.Value) {
				t.Errorf("seed %d: %s in a group where it cannot arise", seed, fmt.Sprint(f))
			}
		}
	}
}
