package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
)

// A pattern is compiled at its first use: here each is compiled that stands in the source whole.
func TestPatternsCompile(t *testing.T) {
	tried := 0
	err := filepath.WalkDir("../../shared", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			of, selects := call.Fun.(*ast.SelectorExpr)
			literal, whole := call.Args[0].(*ast.BasicLit)
			if !selects || !whole || of.Sel.Name != "New" {
				return true
			}
			if pkg, named := of.X.(*ast.Ident); !named || pkg.Name != "pattern" {
				return true
			}
			tried++
			expression, err := strconv.Unquote(literal.Value)
			if err == nil {
				_, err = regexp.Compile(expression)
			}
			if err != nil {
				t.Errorf("%s: %v", fset.Position(literal.Pos()), err)
			}
			return true
		})
		return nil
	})
	expect.That(t, err == nil && tried >= 80, "%d patterns, %v", tried, err)
}
