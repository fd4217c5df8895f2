package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/must"
)

// A name of a type in more than two packages stands for more than one thing, or for one thing
// that has copies. This is how many there still are; lower it when one goes.
const manyNamed = 28

func TestATypeHasANameOfItsOwn(t *testing.T) {
	packages := map[string]map[string]bool{} // by name of the type
	for _, root := range []string{"../../shared", "../../functions"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, d := range file.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, s := range g.Specs {
					name := s.(*ast.TypeSpec).Name.Name
					if packages[name] == nil {
						packages[name] = map[string]bool{}
					}
					packages[name][strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")] = true
				}
			}
			return nil
		})
		must.Succeed(t, err)
	}
	must.That(t, len(packages) >= 500, "only %d names of types were found", len(packages))
	var offenders []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if in := slices.Sorted(maps.Keys(packages[name])); len(in) > 2 {
			offenders = append(offenders, name+": "+strings.Join(in, " "))
		}
	}
	if len(offenders) > manyNamed {
		t.Errorf("%d names of types are in more than two packages, %d are known:\n%s", len(offenders), manyNamed, strings.Join(offenders, "\n"))
	}
}
