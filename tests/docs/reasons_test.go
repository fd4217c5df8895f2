package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"rollcall/shared/plan"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// reasons returns the constants of type plan.Reason.
func reasons(t *testing.T) []plan.Reason {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "shared/plan/reason.go"), nil, 0)
	must.Succeed(t, err)
	var out []plan.Reason
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			value, ok := s.(*ast.ValueSpec)
			if !ok || len(value.Values) != 1 {
				t.Fatalf("a constant without a value at %v", s.Pos())
			}
			literal, ok := value.Values[0].(*ast.BasicLit)
			must.That(t, ok, "%s is no literal", value.Names[0])
			text, err := strconv.Unquote(literal.Value)
			must.Succeed(t, err)
			out = append(out, plan.Reason(text))
		}
	}
	must.That(t, len(out) >= 40, "found only %v", out)
	return out
}

// The page must explain every reason that a notice can hold.
func TestThePlanPageHasEveryReasonAndWhatEndsIt(t *testing.T) {
	ended := map[plan.Reason]string{}
	var order []plan.Reason
	rows := append(table(t, "shared/plan/README.md", "| reason | holds when | it ends |"), table(t, "shared/plan/README.md", "| reason | refused when | it ends |")...)
	for _, row := range rows {
		reason := plan.Reason(names(row[0])[0])
		if _, twice := ended[reason]; twice {
			t.Errorf("%s has two rows", reason)
		}
		ended[reason] = row[2]
		order = append(order, reason)
	}
	all := reasons(t)
	for _, r := range all {
		want := r.Ends()
		if r.Passing() {
			want = "by itself: " + want
		}
		if says, ok := ended[r]; !ok {
			t.Errorf("no row of %s", r)
		} else if says != want {
			t.Errorf("%s ends %q; the page says %q", r, want, says)
		}
		delete(ended, r)
	}
	for r := range ended {
		t.Errorf("there is no reason %s", r)
	}
	expect.That(t, slices.Equal(order, all), "the reasons are declared in the order %v; the page has %v", all, order)
}

func TestThePlanPageSaysHowManyMayBeUnhealthy(t *testing.T) {
	share := defaults.Limits.Unhealthy
	for _, row := range table(t, "shared/plan/README.md", "| N | 20% of N, rounded up | min(2, N-1) | allowed | so |") {
		n, err := strconv.Atoi(row[0])
		must.Succeed(t, err)
		want := []string{fmt.Sprint(share.Of(n)), fmt.Sprint(min(2, n-1)), fmt.Sprint(plan.AllowedOverdue(n, share))}
		expect.That(t, slices.Equal(row[1:4], want), "for %d nodes the numbers are %v, the page says %v", n, want, row[1:4])
	}
	expect.That(t, share.String() == "20%", "limits.unhealthy is %s by default, the page says 20%%", share)
}
