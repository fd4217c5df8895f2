package sim_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"rollcall/shared/plan/replay"
	"rollcall/shared/sim"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// recorded runs a scenario, and reads the record that it writes.
func recorded(t *testing.T, sc sim.Scenario) []replay.Recorded {
	t.Helper()
	var file bytes.Buffer
	w, err := replay.NewWriter(&file)
	must.Succeed(t, err)
	if _, err := sim.Run(sc, sim.Watch{Record: w.Write}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, w.Close())
	checks, err := replay.Read(&file)
	must.Succeed(t, err)
	return checks
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must.Succeed(t, err)
	return string(data)
}

// What is read back from a record is all that a check decided from: the same orders follow, byte for
// byte, in whatever storm.
func TestARecordGivesItsOrdersAgain(t *testing.T) {
	orders, held := 0, 0
	seeds, leastOrders, leastHeld := uint64(3), 20, 100
	if testing.Short() {
		seeds, leastOrders, leastHeld = 1, 7, 34
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		for _, c := range recorded(t, sim.Random(sim.Options{Seed: seed, Clusters: 2, Nodes: 30, Hours: 24})) {
			p, err := c.Plan()
			must.Succeed(t, err)
			if got, want := asJSON(t, p.Orders), asJSON(t, c.Orders); got != want {
				t.Fatalf("seed %d, %s at %s: orders\n%s\nwant\n%s", seed, c.Cluster().Name, c.Now, got, want)
			}
			orders, held = orders+len(p.Orders), held+len(p.Held)
		}
	}
	expect.That(t, orders >= leastOrders && held >= leastHeld, "only %d orders and %d held acts were compared", orders, held)
}

// machines are faults of machines and groups. Calls, messages and functions work.
var machines = []sim.FaultKind{
	sim.FaultSilence, sim.FaultImpaired, sim.FaultNotReady, sim.FaultFlapping, sim.FaultRole, sim.FaultTemplate, sim.FaultScale,
}

func withoutStorm(seed uint64) sim.Scenario {
	sc := sim.Random(sim.Options{Seed: seed, Clusters: 2, Nodes: 30, Hours: 24, Faults: 150})
	sc.Faults = slices.DeleteFunc(sc.Faults, func(f sim.Fault) bool { return !slices.Contains(machines, f.Kind) })
	return sc
}

// Under the policy that was in force, a replay that begins with the first memory, and remembers by
// itself from then on, comes to the same orders.
func TestAReplayRemembersAsTheLedgerDoes(t *testing.T) {
	orders := 0
	seeds, least := uint64(3), 10
	if testing.Short() {
		seeds, least = 1, 4
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		sc := withoutStorm(seed)
		for _, checks := range replay.ByCluster(recorded(t, sc)) {
			ran, err := replay.AsItRan(checks)
			must.Succeed(t, err)
			doc, err := checks[0].Policy.Document()
			must.Succeed(t, err)
			again := replay.Play("again", checks, doc, checks[0].Permitted)
			for i := range max(len(ran.Acts), len(again.Acts)) {
				var a, b string
				if i < len(ran.Acts) {
					a = asJSON(t, ran.Acts[i].Order)
				}
				if i < len(again.Acts) {
					b = asJSON(t, again.Acts[i].Order)
				}
				if a != b {
					t.Errorf("seed %d, act %d:\n%s\nin the replay\n%s", seed, i, a, b)
					break
				}
			}
			orders += len(ran.Acts)
			t.Logf("seed %d %s: %d checks, %d acts, %d assumed, %d and %d notices, %s and %s lost", seed, checks[0].Cluster().Name, len(checks), len(ran.Acts), again.Assumed(), ran.Notices, again.Notices, ran.Lost, again.Lost)
		}
	}
	expect.That(t, orders >= least, "only %d acts were compared", orders)
}
