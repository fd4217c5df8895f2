package policy

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func FuzzParse(f *testing.F) {
	documents := bad(f)
	files, err := filepath.Glob("testdata/good/*")
	must.Succeed(f, err)
	for _, file := range files {
		if documents[file], err = os.ReadFile(file); err != nil {
			f.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		data := documents[name]
		f.Add(data, "gpu-a", "", "nodepool/training", "gpu", "")
		f.Add(data, "a", "remediate", "none", "slow", "45m")
		f.Add(data, "lab", "notify", "nodepool/metal-1", "windows", "1")
	}
	f.Fuzz(func(t *testing.T, data []byte, cluster, tag, group, preset, deadline string) {
		d, err := Parse(data)
		checkStop(t, data, err == nil)
		if err != nil {
			checkFaults(t, d, err)
			return
		}
		for _, w := range d.Warnings() {
			expect.That(t, w.Line >= 1 && w.Column >= 1 && w.Key != "" && w.Problem != "", "warning %+v", w)
		}
		g := roll.GroupSelector(roll.Group(group))
		instance := roll.Selector{Group: g.Group, Preset: preset, Deadline: deadline}
		for _, of := range []roll.Selector{{}, g, instance} {
			p := d.For(cluster, tag, of)
			checkPolicy(t, p)
			checkWatched(t, d.Watch(), p)
			for _, s := range d.Explain(cluster, tag, of) {
				expect.That(t, s.Key != "" && s.Value != "" && s.From != "", "setting %+v", s)
			}
		}
		checkOnlyLonger(t, d, cluster, tag, roll.Selector{Group: g.Group, Preset: preset})
		checkModeOnlyLower(t, d, cluster, tag, instance)
	})
}

// checkStop checks that a valid document can be stopped, if its text can be changed that way, and
// that the stop can be lifted again.
func checkStop(t *testing.T, data []byte, valid bool) {
	t.Helper()
	with, _, err := WithStop(data)
	if err != nil || !valid || len(with) > maxSize {
		return
	}
	d, err := Parse(with)
	must.That(t, err == nil && d.Stopped() && Stops(with), "%v: %q became %q", err, data, with)
	if without, err := WithoutStop(with); err == nil && Stops(without) {
		t.Errorf("%q still stops", without)
	}
}

func checkFaults(t *testing.T, d *Document, err error) {
	t.Helper()
	var faults Faults
	must.That(t, d == nil && errors.As(err, &faults) && len(faults) > 0, "%v with error %v", d, err)
	for _, f := range faults {
		expect.That(t, f.Line >= 1 && f.Column >= 1 && f.Problem != "", "fault %+v", f)
	}
}

func checkPolicy(t *testing.T, p Policy) {
	t.Helper()
	if _, err := ParseMode(string(p.Mode)); err != nil {
		t.Error(err)
	}
	if p.Registration.WarnAfter <= 0 || p.Registration.Deadline < p.Registration.WarnAfter || p.Initialization.Deadline <= 0 {
		t.Errorf("deadlines %+v %+v", p.Registration, p.Initialization)
	}
	for _, kind := range []roll.Kind{roll.Impaired, roll.Ghost, roll.Orphaned, roll.Stuck} {
		expect.That(t, p.Tolerances[kind] > 0, "%s is tolerated for %s", kind, p.Tolerances[kind])
	}
	expect.That(t, len(p.Tolerances) == 4, "tolerances %v", p.Tolerances)
	seen := make(map[[2]string]bool)
	for _, c := range p.Conditions {
		key := [2]string{c.Type, c.Status}
		expect.That(t, c.Type != "" && c.Status != "" && c.Tolerate > 0 && !seen[key], "condition %+v", c)
		seen[key] = true
	}
	for _, share := range []Percent{p.Limits.Unhealthy, p.Limits.Zone, p.Limits.MassSilence} {
		expect.That(t, share >= 0 && share <= 100, "limits %+v", p.Limits)
	}
	l := p.Limits
	expect.That(t, l.ActionsPerCheck >= 0 && l.ActionsPerHour >= 0 && l.Replacements >= 0 && l.StormCooldown > 0 && l.ReplacementWait > 0, "limits %+v", l)
	expect.That(t, p.Drain.Timeout > 0 && p.Drain.BudgetTimeout > 0, "drain %+v", p.Drain)
	checkLadders(t, p)
	for owner, rule := range p.Owners {
		if rule == OwnerDeleteNodeClaim && owner != roll.OwnerKarpenter ||
			rule != OwnerNotify && (owner == roll.OwnerAutoMode || owner == roll.OwnerClusterAPI) {
			t.Errorf("%s may be exposed to %s", owner, rule)
		}
	}
}

func checkLadders(t *testing.T, p Policy) {
	t.Helper()
	for kind, steps := range p.Ladders {
		reboots := 0
		for i, s := range steps {
			last := i == len(steps)-1
			switch s.Do {
			case DoReboot:
				reboots++
			case DoDeleteNode:
				expect.That(t, kind == roll.Ghost && last, "%s: step %d is %+v", kind, i, s)
			case DoTerminate:
				expect.That(t, last, "%s: step %d is %+v", kind, i, s)
			}
			if gone := kind == roll.Ghost; s.After < 0 || gone && (s.Do == DoReboot || s.Do == DoTerminate || s.Do == DoDrain) {
				t.Errorf("%s: step %d is %+v", kind, i, s)
			}
		}
		expect.That(t, reboots <= 1, "%s: reboots %d times", kind, reboots)
	}
}

// checkWatched checks that everything that a policy needs is read.
func checkWatched(t *testing.T, w roll.Watch, p Policy) {
	t.Helper()
	for _, c := range p.Conditions {
		key := (roll.ConditionKey{Type: c.Type, Status: roll.ConditionStatus(c.Status)})
		expect.That(t, w.Conditions[key] != (c.Type == "Ready"), "%s %s: watched %v", c.Type, c.Status, w.Conditions[key])
	}
	for _, key := range p.Initialization.Taints {
		expect.That(t, roll.StartupTaint(key, w.Taints), "taint %s is not watched", key)
	}
}

// checkOnlyLonger checks that a preset suggested by platform and type shortens no time. A document
// may do so with match.preset; such documents are left out.
func checkOnlyLonger(t *testing.T, d *Document, cluster, tag string, of roll.Selector) {
	t.Helper()
	for _, o := range d.overrides {
		if o.preset != "" {
			return
		}
	}
	with, without := d.For(cluster, tag, of), d.For(cluster, tag, roll.GroupSelector(of.Group))
	for name, times := range map[string][2]time.Duration{
		"warning":        {with.Registration.WarnAfter, without.Registration.WarnAfter},
		"registration":   {with.Registration.Deadline, without.Registration.Deadline},
		"initialization": {with.Initialization.Deadline, without.Initialization.Deadline},
	} {
		expect.That(t, times[0] >= times[1], "preset %q takes %s from %s to %s", of.Preset, name, times[1], times[0])
	}
	expect.That(t, len(with.Initialization.Taints) == len(without.Initialization.Taints), "preset %q changes the taints", of.Preset)
}

// checkModeOnlyLower checks that the tag rollcall:mode of the cluster raises no mode, whatever the
// caller permits.
func checkModeOnlyLower(t *testing.T, d *Document, cluster, tag string, of roll.Selector) {
	t.Helper()
	if with, without := d.For(cluster, tag, of).Mode, d.For(cluster, "", of).Mode; Lower(with, without) != with {
		t.Errorf("tag %q raises %s to %s", tag, without, with)
	}
	for _, permitted := range modes {
		with, without := d.Cluster(cluster, tag, permitted)(of).Mode, d.Cluster(cluster, "", permitted)(of).Mode
		expect.That(t, Lower(with, without) == with && Lower(without, permitted) == without, "permitted %s: tag %q makes %s of %s", permitted, tag, with, without)
		if _, err := ParseMode(tag); err != nil && tag != "" && with != Observe {
			t.Errorf("permitted %s: unreadable tag %q leaves %s", permitted, tag, with)
		}
	}
}
