package report

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// hostile is what a name may end in. A shell that reads it unquoted runs it.
const hostile = "$(x)`x`; 'x' \"x\" & x\nx #"

// names are the fields of findings and orders that hold names of an account, and are printed.
var names = []string{"Node", "Zone", "Claim", "Condition", "Summary", "Why", "Detail", "Group"}

// poison appends hostile to every field of the value that holds a name, and to instances too
// if all is true, which no API answers, but a file may say.
func poison(v reflect.Value, all bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), all)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case !v.Type().Field(i).IsExported():
			case f.Kind() != reflect.String:
				poison(f, all)
			case f.String() != "" && (slices.Contains(names, name) || all && name == "Instance"):
				f.SetString(f.String() + hostile)
			}
		}
	}
}

// copied returns notices whose entries can be changed.
func copied(s said) said {
	s.notice.Entries = slices.Clone(s.notice.Entries)
	for i := range s.notice.Entries {
		e := &s.notice.Entries[i]
		if e.Order != nil {
			o := *e.Order
			e.Order = &o
		}
		if e.Held != nil {
			h := *e.Held
			e.Held = &h
		}
	}
	return s
}

// readBy returns what a shell would do with a command: the commands that it would run, one per
// list element, and whether it would expand anything.
func readBy(t *testing.T, command string) (run []string, expands bool) {
	t.Helper()
	file, err := syntax.NewParser(syntax.KeepComments(false)).Parse(strings.NewReader(command), "")
	if err != nil {
		t.Errorf("no shell reads %s: %v", command, err)
		return nil, false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ProcSubst:
			expands = true
		case *syntax.CallExpr:
			if len(x.Args) > 0 {
				run = append(run, x.Args[0].Lit())
			}
		}
		return true
	})
	return run, expands
}

// programs are what the commands of notices call.
var programs = []string{"aws", "kubectl", "rollcall", "eksctl", "mkdir", "tar"}

func checkCommands(t *testing.T, name string, recipes []Recipe) {
	t.Helper()
	for _, r := range recipes {
		for _, c := range r.Commands {
			expect.That(t, !strings.Contains(c, "\n"), "%s: more than one line: %s", name, c)
			run, expands := readBy(t, c)
			if expands || len(run) == 0 || slices.ContainsFunc(run, func(p string) bool { return !slices.Contains(programs, p) }) {
				t.Errorf("%s: a shell expands or runs a part of a name (%v, %v):\n%s", name, run, expands, c)
			}
		}
	}
}

// Whatever the names in an account are, what a reader pastes runs the named programs and
// nothing else.
func TestNoNameRunsInTheShellOfAReader(t *testing.T) {
	from := From{Stack: "rollcall" + hostile}
	id := cluster
	id.Name, id.Region = id.Name+hostile, id.Region+hostile
	for name, s := range notices() {
		for _, all := range []bool{false, true} {
			if s.notice.Over {
				continue // it has no commands
			}
			n := copied(s)
			poison(reflect.ValueOf(n.notice.Entries), all)
			for i := range n.notice.Entries {
				if e := &n.notice.Entries[i]; e.Evidence != "" {
					e.Evidence = "s3://bucket" + hostile + "/a" + hostile + "/b/"
				}
			}
			n.notice.Key.Group = n.notice.Entries[0].Finding.Group
			l := from.letter(id, document(id, now, string(n.notice.Key.Group), "", n.notice.Incident), n.notice, n.notice.Entries, nil, n.mode, now)
			recipes := slices.Concat(stop(id, n.notice.Key.Kind, n.notice.Entries, n.mode, now), byHand(id, n.notice, n.notice.Entries), []Recipe{fetch(id.Region, "s3://bucket"+hostile+"/a"+hostile+"/b/")})
			for _, r := range []*Recipe{l.run, l.stop, l.rest} {
				if r != nil {
					recipes = append(recipes, *r)
				}
			}
			checkCommands(t, name, recipes)
		}
	}
	for name, a := range alarms() {
		checkCommands(t, name, []Recipe{check(id, a.Reason)})
	}
	for _, kind := range []string{"nodepool/", "nodegroup/", "asg/", "volume/", "eni/", "nodeclaim/", "node/", "i-0123456789abcdef0"} {
		f := unlaunched()
		f.Instance = roll.InstanceID(kind + hostile)
		checkCommands(t, kind, []Recipe{{Commands: launches(id, f)}, {Commands: []string{from.explain(id, f.Instance, policy.Observe), From{}.explain(id, f.Instance, policy.Observe)}}})
		f.Kind = roll.Stuck
		f.Removal.Claim, f.Node = "claim"+hostile, "node"+hostile
		checkCommands(t, kind, []Recipe{{Commands: lookAtStuck(id, f)}})
	}
	for _, k := range slices.Sorted(maps.Keys(kindTable)) {
		f := silent(1, 0)
		f.Kind, f.Node, f.Instance = k, "node"+hostile, f.Instance+hostile
		checkCommands(t, string(k), []Recipe{{Commands: look(id, plan.Entry{Finding: f})}})
	}
}

// A value of a command is what the program gets, to the last character.
func TestAProgramGetsTheNamesAsTheyAre(t *testing.T) {
	f := unlaunched()
	f.Instance = roll.InstanceID("asg/workers" + hostile)
	if want := paste.Word("workers" + hostile); !strings.Contains(launches(cluster, f)[0], " "+want+" ") {
		t.Errorf("%s has no %s", launches(cluster, f)[0], want)
	}
	run, expands := readBy(t, fmt.Sprintf("aws x %s", paste.Word(hostile)))
	expect.That(t, len(run) == 1 && !expands, "%v, %v", run, expands)
}
