package sim

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"rollcall/shared/policy"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// sound checks that a random scenario can be run, and that its faults name existing targets.
func sound(t *testing.T, o Options) {
	t.Helper()
	sc := Random(o)
	expect.That(t, reflect.DeepEqual(sc, Random(o)), "%+v: two scenarios", o)
	total := sc.Storm + sc.Calm + sc.Healed
	expect.That(t, total == time.Duration(max(o.Hours, LeastHours))*time.Hour && sc.Storm >= time.Hour && sc.Calm >= time.Hour && sc.Healed >= time.Hour, "%+v: %s of storm, %s of calm, %s healed", o, sc.Storm, sc.Calm, sc.Healed)
	_, err := policy.Parse([]byte(sc.Policy))
	expect.That(t, err == nil, "%+v: %v", o, err)
	if len(sc.Clusters) != max(o.Clusters, 1) || o.Faults > 0 && len(sc.Faults) != o.Faults {
		t.Errorf("%+v: %d clusters, %d faults", o, len(sc.Clusters), len(sc.Faults))
	}
	names, scaling := map[string]bool{}, map[string]bool{}
	for _, c := range sc.Clusters {
		expect.That(t, !names[c.Name], "%+v: two clusters %s", o, c.Name)
		names[c.Name] = true
		for _, g := range c.Groups {
			expect.That(t, g.Desired >= 1 && kindOf(g.Type).Price != 0, "%+v: %+v", o, g)
			if scaling[g.Name] && g.Owner == autoScaling {
				t.Errorf("%+v: two Auto Scaling groups %s", o, g.Name)
			}
			scaling[g.Name] = scaling[g.Name] || g.Owner == autoScaling
		}
	}
	for i, f := range sc.Faults {
		expect.That(t, f.ID == i+1 && f.At >= 0 && f.At+f.For <= sc.Storm, "%+v: %s at %s, and the storm lasts %s", o, f, f.At, sc.Storm)
		if f.Share < 0 || f.Share > 1 || f.Kind.faultType().spell && (f.Share == 0 || f.For == 0) {
			t.Errorf("%+v: %s befalls a share of %v", o, f, f.Share)
		}
		if f.Zone != "" && !slices.Contains(zones, f.Zone) {
			t.Errorf("%+v: %s", o, f)
		}
		c := slices.IndexFunc(sc.Clusters, func(c ClusterSpec) bool { return c.Name == f.Cluster })
		switch {
		case f.Cluster == "" && f.Group == "":
		case c < 0:
			t.Errorf("%+v: there is no cluster of %s", o, f)
		case f.Group != "" && !slices.ContainsFunc(sc.Clusters[c].Groups, func(g GroupSpec) bool { return g.Name == f.Group }):
			t.Errorf("%+v: there is no group of %s", o, f)
		}
		if f.Kind == FaultDeleted && f.Cluster == sc.Clusters[0].Name {
			t.Errorf("%+v: the last cluster may go: %s", o, f)
		}
	}
}

func TestRandomScenariosAreSound(t *testing.T) {
	for seed := range uint64(500) {
		sound(t, Options{Seed: seed, Hours: 6 + int(seed%40), Clusters: 1 + int(seed%9), Nodes: 4 + int(seed%200), Faults: int(seed % 3 * 20)})
	}
	sound(t, Options{Certain: []FaultKind{FaultNoReplacement, FaultNoReplacement, FaultAccelerator, FaultScheduled}, Hours: CertainHours, Clusters: 4})
	sound(t, Options{})
	sound(t, Options{Hours: -1, Clusters: -1, Nodes: -1})
}

func FuzzRandom(f *testing.F) {
	f.Add(uint64(1), 24, 2, 30, 0)
	f.Fuzz(func(t *testing.T, seed uint64, hours, clusters, nodes, faults int) {
		if hours > 24*366 || clusters > 100 || nodes > 10_000 || faults > 1000 {
			t.Skip("too much to be told of")
		}
		sound(t, Options{Seed: seed, Hours: hours, Clusters: clusters, Nodes: nodes, Faults: faults})
	})
}

// Over many scenarios, each fault is drawn about as often as its weight says.
func TestFaultsAreDrawnByTheirWeights(t *testing.T) {
	weight, drawn := map[FaultKind]int{}, map[FaultKind]int{}
	total, n := 0, 0
	for _, l := range faultTypes {
		weight[l.kind] += l.weight
		total += l.weight
	}
	for seed := range uint64(1500) {
		for _, f := range Random(Options{Seed: seed, Hours: 24, Clusters: 3, Nodes: 30, Faults: 40}).Faults {
			drawn[f.Kind]++
			n++
		}
	}
	for kind, w := range weight {
		if kind == FaultDeleted || kind == FaultSilence {
			continue // a machine that must not be deleted falls silent instead
		}
		want := float64(n) * float64(w) / float64(total)
		got := float64(drawn[kind])
		expect.That(t, got >= want*0.75 && got <= want*1.25, "%s is drawn %.0f times, and should be about %.0f", kind, got, want)
	}
}

// Over many scenarios, policies have each setting with another value than its default, in the document or
// in an override.
func TestEachSettingOfAPolicyIsDrawn(t *testing.T) {
	never := []string{ // each account has them as they are
		"stop", "initialization.taints", "launch.tolerance", "launch.pending", "owners.auto-mode", "owners.cluster-api",
		"conditions.AcceleratedHardwareReady=False", "conditions.StorageReady=False", "conditions.KernelReady=False", "conditions.ContainerRuntimeReady=False", "conditions.DiskPressure=True", "conditions.PIDPressure=True",
	}
	drawn := map[string]bool{}
	for seed := range uint64(2000) {
		d, ok := readPolicy(Random(Options{Seed: seed, Hours: 24, Clusters: 3, Nodes: 30}).Policy, defaults)
		must.That(t, ok, "the policy of seed %d cannot be read", seed)
		parts := []settings{d.settings}
		for _, o := range d.overrides {
			parts = append(parts, o.settings)
			drawn["match.preset="+o.preset] = true
		}
		for _, s := range parts {
			for key, value := range s.values {
				drawn[key+"="+value] = true
				drawn[key] = drawn[key] || value != defaults.values[key]
			}
			for kind, ladder := range s.ladders {
				drawn["ladders."+kind] = drawn["ladders."+kind] || !reflect.DeepEqual(ladder, defaults.ladders[kind])
			}
		}
	}
	want := []string{"limits.actionsPerHour=0", "match.preset=windows", "match.preset=gpu", "mode", "ladders.Unknown/MemoryPressurePreceded"}
	for key := range defaults.values {
		want = append(want, key)
	}
	for kind := range defaults.ladders {
		want = append(want, "ladders."+kind)
	}
	for _, says := range gpuSays {
		for _, repair := range []string{"reboot", "replace", "hold"} {
			want = append(want, "repair."+says[0]+"="+repair)
		}
	}
	for _, key := range want {
		expect.That(t, drawn[key] != slices.Contains(never, key), "%s: drawn is %t", key, drawn[key])
	}
}

// Whatever happened to the account, it is healthy in the end by itself. What is left over then is
// therefore Rollcall's.
func TestEverythingIsHealedInTheEnd(t *testing.T) {
	for seed := range uint64(12) {
		sc := Random(Options{Seed: 9000 + seed, Hours: 6, Clusters: 2, Nodes: 15, Faults: 25})
		sc.Permitted = "observe"
		var last []Standing
		_, err := Run(sc, Watch{Step: func(_ time.Time, s []Standing) { last = s }})
		must.Succeed(t, err)
		for _, s := range last {
			if s.Exists && (s.Nodes != s.Ready || s.Nodes != s.Machines) || !s.Exists && s.Machines > 0 {
				t.Errorf("seed %d: %+v", sc.Seed, s)
			}
		}
	}
}
