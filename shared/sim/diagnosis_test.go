package sim

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// diagnosed returns the diagnosis of a machine with a finding of a kind.
func diagnosed(t *testing.T, a *account, m *machine, kind roll.Kind) roll.Diagnosis {
	t.Helper()
	var out roll.Diagnosis
	inside(t, a, inspect, func(v *env) {
		view := a.dep.view(v)
		s := view.Observer.Snapshot(t.Context(), m.c.name, a.Now(), roll.Watch{})
		expect.That(t, len(s.Gaps) == 0, "gaps: %+v", s.Gaps)
		i := slices.IndexFunc(s.Instances, func(i roll.Instance) bool { return string(i.ID) == m.id })
		must.That(t, i >= 0, "%s is not listed", m.id)
		f := roll.Finding{
			Instance: s.Instances[i].ID, Group: s.Instances[i].Group, Owner: s.Instances[i].Owner, Zone: m.zone, ZoneID: zoneID(m.zone),
			Kind: kind, Stage: roll.Overdue, Since: a.Now().Add(-time.Hour), Began: a.Now().Add(-time.Hour),
		}
		if m.node != nil {
			f.Node = m.node.name
		}
		if kind == roll.ConditionFailed {
			f.Condition = roll.MemoryPressure
		}
		found, _ := view.Check(t.Context(), s, []roll.Finding{f}, ledger.State{}, false)
		out = found[f.Key()]
	})
	return out
}

// unproven are causes that the simulation does not rule out: a console that does not show them, and an
// empty ledger, do not prove their absence.
var unproven = []string{"OutOfMemory", "KernelPanic", "DiskFull", "MemoryPressurePreceded", "DiskPressurePreceded", "PidPressurePreceded"}

func TestTheAccountItselfIsNoCause(t *testing.T) {
	a, c := shop(t)
	for _, g := range c.groups {
		for _, kind := range []roll.Kind{roll.Unregistered, roll.Uninitialized, roll.NotReady, roll.Unknown, roll.Impaired} {
			d := diagnosed(t, a, g.members[0], kind)
			for _, found := range d.Causes {
				t.Errorf("%s of %s: %+v", kind, g.groupName(), found)
			}
			for _, n := range d.NotChecked {
				expect.That(t, slices.Contains(unproven, n.Code), "%s of %s: not checked %+v", kind, g.groupName(), n)
			}
		}
	}
}

func TestWhatIsBrokenIsFound(t *testing.T) {
	for _, tt := range []struct {
		name, group string
		fault       func(*group) *machine
		kind        roll.Kind
		want        string
	}{
		{"user data", "batch", launchedAfter(FaultTemplate), roll.Unregistered, "UserDataUnparseable"},
		{"architecture", "general", launchedAfter(FaultArchitect), roll.Unregistered, "ArchitectureMismatch"},
		{"role", "general", func(g *group) *machine {
			g.unmap(true)
			return g.add()
		}, roll.Unregistered, "ControllerRoleMapped"},
		{"memory", "system", func(g *group) *machine {
			g.members[0].starve(time.Minute, false)
			return g.members[0]
		}, roll.Unknown, "MemoryPressurePreceded"},
		{"memory, and it works", "system", func(g *group) *machine {
			g.members[0].fall(short, false, false)
			return g.members[0]
		}, roll.ConditionFailed, "MemoryPressurePreceded"},
		{"status check", "batch", func(g *group) *machine {
			g.members[0].fall(impaired, false, false)
			return g.members[0]
		}, roll.Impaired, "InstanceStatusImpaired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, c := shop(t)
			var m *machine
			a.in(0, func() { m = tt.fault(c.group(tt.group)) })
			a.until(a.Now().Add(3 * time.Minute))
			d := diagnosed(t, a, m, tt.kind)
			if c, _ := d.Decisive(); c.Code != tt.want {
				t.Errorf("got %+v, want %s", d.Causes, tt.want)
			}
		})
	}
}

// launchedAfter launches a machine from a template that a fault broke.
func launchedAfter(fault FaultKind) func(*group) *machine {
	return func(g *group) *machine {
		g.breakBy(fault)
		return g.add()
	}
}
