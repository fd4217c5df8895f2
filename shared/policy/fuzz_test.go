package policy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"rollcall/shared/roll"
)

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*", "testdata/bad/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, "gpu-a", "", "nodepool/training")
			f.Add(data, "a", "remediate", "none")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, cluster, tag, group string) {
		d, err := Parse(data)
		if err != nil {
			checkFaults(t, d, err)
			return
		}
		for _, w := range d.Warnings() {
			if w.Line < 1 || w.Column < 1 || w.Key == "" || w.Problem == "" {
				t.Errorf("warning %+v", w)
			}
		}
		checkPolicy(t, d.For(cluster, tag, roll.GroupSelector(roll.Group(group))))
		checkPolicy(t, d.For(cluster, tag, roll.Selector{}))
		for _, s := range d.Explain(cluster, tag, roll.GroupSelector(roll.Group(group))) {
			if s.Key == "" || s.Value == "" || s.From == "" {
				t.Errorf("setting %+v", s)
			}
		}
	})
}

func checkFaults(t *testing.T, d *Document, err error) {
	var faults Faults
	if d != nil || !errors.As(err, &faults) || len(faults) == 0 {
		t.Fatalf("%v with error %v", d, err)
	}
	for _, f := range faults {
		if f.Line < 1 || f.Column < 1 || f.Problem == "" {
			t.Errorf("fault %+v", f)
		}
	}
}

func checkPolicy(t *testing.T, p Policy) {
	if _, err := ParseMode(string(p.Mode)); err != nil {
		t.Error(err)
	}
	if p.Registration.WarnAfter <= 0 || p.Registration.Deadline < p.Registration.WarnAfter || p.Initialization.Deadline <= 0 {
		t.Errorf("deadlines %+v %+v", p.Registration, p.Initialization)
	}
	seen := make(map[[2]string]bool)
	for _, c := range p.Conditions {
		key := [2]string{c.Type, c.Status}
		if c.Type == "" || c.Status == "" || c.Tolerate <= 0 || seen[key] {
			t.Errorf("condition %+v", c)
		}
		seen[key] = true
	}
	if l := p.Limits; l.Unhealthy < 0 || l.Unhealthy > 100 || l.Zone < 0 || l.Zone > 100 || l.ActionsPerCheck < 0 || l.ActionsPerHour < 0 {
		t.Errorf("limits %+v", l)
	}
	for kind, steps := range p.Ladders {
		for i, s := range steps {
			if s.After < 0 || s.Do == DoTerminate && i != len(steps)-1 {
				t.Errorf("%s: step %d is %+v", kind, i, s)
			}
		}
	}
	for _, o := range []roll.Owner{roll.OwnerKarpenter, roll.OwnerAutoMode, roll.OwnerClusterAPI} {
		if p.Owners[o] != OwnerNotify {
			t.Errorf("%s may be %s", o, p.Owners[o])
		}
	}
}
