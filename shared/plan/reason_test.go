package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// declared returns the reasons that reason.go declares.
func declared(t *testing.T) (all []Reason) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	must.Succeed(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		group, ok := n.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			return true
		}
		for _, spec := range group.Specs {
			literal, ok := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit)
			if !ok {
				continue
			}
			name, err := strconv.Unquote(literal.Value)
			must.Succeed(t, err)
			all = append(all, Reason(name))
		}
		return false
	})
	return all
}

// Each reason against an act must say what ends it.
func TestEveryReasonSaysWhatEndsIt(t *testing.T) {
	all := declared(t)
	expect.That(t, len(all) == len(ends), "%d reasons are declared, %d have an end", len(all), len(ends))
	for _, r := range all {
		says := r.Ends()
		switch {
		case !strings.HasPrefix(says, "when "):
			t.Errorf("%s ends %q, want a clause that begins with when", r, says)
		case strings.HasSuffix(says, "."), strings.Contains(says, ". "):
			t.Errorf("%s ends %q, which is more than a clause", r, says)
		case len(says) > 120:
			t.Errorf("%s ends in %d characters, more than 120", r, len(says))
		}
	}
}

// A reason that passes by itself asks nobody to do anything, except for the limits and the mode,
// which somebody has set.
func TestWhatPassesByItselfAsksForNothing(t *testing.T) {
	set := map[Reason]bool{ActionsPerHour: true, ActionsPerCheck: true, Stopped: true, ModeObserve: true, ModeNotify: true}
	for _, r := range declared(t) {
		if r.Passing() && strings.Contains(r.Ends(), "you ") != set[r] {
			t.Errorf("%s passes and ends %q", r, r.Ends())
		}
	}
}

func TestAnUnknownReasonEndsInNothing(t *testing.T) {
	expect.Equal(t, Reason("Whim").Ends(), "", "it ends")
}
