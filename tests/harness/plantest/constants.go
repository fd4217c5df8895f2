// Package plantest helps the tests of other packages to keep up with package plan.
package plantest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/tests/harness/must"
)

// Constants returns the values of the constants of a type, read from the source of package plan.
// Tests use it to check that a schema accepts each of them.
func Constants(t *testing.T, typeName string) (out []string) {
	t.Helper()
	root := "."
	for _, err := os.Stat("go.mod"); err != nil; _, err = os.Stat(filepath.Join(root, "go.mod")) {
		if root = filepath.Join(root, ".."); len(root) > 100 {
			t.Fatal("no go.mod above this package")
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "shared/plan/*.go"))
	must.Succeed(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must.Succeed(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				id, typed := v.Type.(*ast.Ident)
				if text, ok := v.Values[0].(*ast.BasicLit); ok && typed && id.Name == typeName && text.Kind == token.STRING {
					out = append(out, strings.Trim(text.Value, `"`))
				}
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatalf("package plan has no constants of type %s", typeName)
	}
	return out
}
