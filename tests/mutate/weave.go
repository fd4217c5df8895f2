package mutate

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variable is the environment variable that holds the number, counted from 1, of the
// mutation in force.
const Variable = "ROLLCALL_MUTATION"

// switched is added to each package that has a mutation.
const switched = `package %s

import (
	"os"
	"strconv"
)

var mutation__, _ = strconv.Atoi(os.Getenv(%q))
`

// Weave returns the mutated sources by their path from the root. A mutated function
// becomes several: one that calls the version in force, the original, and one for each of
// its mutations.
func Weave(root string, all []Mutation) (map[string][]byte, error) {
	files, packages := map[string]*source{}, map[string]string{}
	var faults []error
	for i, m := range all {
		s := files[m.File]
		if s == nil {
			text, err := os.ReadFile(filepath.Join(root, m.File))
			if err != nil {
				return nil, err
			}
			if s, err = parse(m.File, text); err != nil {
				return nil, err
			}
			files[m.File] = s
			packages[filepath.Dir(m.File)] = s.file.Name.Name
		}
		if err := s.add(i+1, m); err != nil {
			faults = append(faults, fmt.Errorf("mutation %q of %s: %w", m.Name, m.File, err))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	woven := map[string][]byte{}
	for name, s := range files {
		woven[name] = s.woven()
	}
	for dir, name := range packages {
		woven[filepath.Join(dir, "mutation__.go")] = fmt.Appendf(nil, switched, name, Variable)
	}
	return woven, nil
}

// source is a file with the mutations of its functions.
type source struct {
	text     []byte
	fset     *token.FileSet
	file     *ast.File
	versions map[*ast.FuncDecl]map[int]string
}

func parse(name string, text []byte) (*source, error) {
	s := &source{text: text, fset: token.NewFileSet(), versions: map[*ast.FuncDecl]map[int]string{}}
	var err error
	s.file, err = parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution)
	return s, err
}

// at returns the offset of a position in the text.
func (s *source) at(p token.Pos) int { return s.fset.Position(p).Offset }

func (s *source) between(from, to token.Pos) string { return string(s.text[s.at(from):s.at(to)]) }

// add records a mutated version of a function.
func (s *source) add(number int, m Mutation) error {
	if n := bytes.Count(s.text, []byte(m.Old)); n != 1 {
		return fmt.Errorf("the old text occurs %d times, and should occur once", n)
	}
	if m.Old == m.New {
		return fmt.Errorf("the new text is the old one")
	}
	at := bytes.Index(s.text, []byte(m.Old))
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || at < s.at(f.Body.Pos()) || at+len(m.Old) > s.at(f.End()) {
			continue
		}
		if s.versions[f] == nil {
			s.versions[f] = map[int]string{0: s.version(f, 0, "", "")}
		}
		s.versions[f][number] = s.version(f, number, m.Old, m.New)
		return nil
	}
	return fmt.Errorf("the old text is in no body of a function")
}

// named returns the name of a version of a function.
func named(f *ast.FuncDecl, number int) string { return fmt.Sprintf("%s__%d", f.Name.Name, number) }

// version returns a function under its version's name, with the old text replaced.
func (s *source) version(f *ast.FuncDecl, number int, old, text string) string {
	body := s.between(f.Name.End(), f.End())
	if old != "" {
		body = strings.Replace(body, old, text, 1)
	}
	return s.between(f.Pos(), f.Name.Pos()) + named(f, number) + body
}

// woven returns the file with all versions.
func (s *source) woven() []byte {
	var out bytes.Buffer
	last := 0
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || s.versions[f] == nil {
			continue
		}
		out.Write(s.text[last:s.at(f.Pos())])
		out.WriteString(s.chooser(f))
		last = s.at(f.End())
	}
	out.Write(s.text[last:])
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			for _, number := range slices.Sorted(maps.Keys(s.versions[f])) {
				out.WriteString("\n" + s.versions[f][number] + "\n")
			}
		}
	}
	return out.Bytes()
}

// chooser returns the function that calls the version in force.
func (s *source) chooser(f *ast.FuncDecl) string {
	var params, args []string
	for _, p := range f.Type.Params.List {
		for range max(1, len(p.Names)) {
			name := fmt.Sprintf("p%d__", len(args))
			params = append(params, name+" "+s.between(p.Type.Pos(), p.Type.End()))
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				name += "..."
			}
			args = append(args, name)
		}
	}
	var results []string
	if f.Type.Results != nil {
		for _, r := range f.Type.Results.List {
			for range max(1, len(r.Names)) {
				results = append(results, s.between(r.Type.Pos(), r.Type.End()))
			}
		}
	}
	receiver, of := "", ""
	if f.Recv != nil {
		receiver, of = "(r__ "+s.between(f.Recv.List[0].Type.Pos(), f.Recv.List[0].Type.End())+") ", "r__."
	}
	generic := ""
	if t := f.Type.TypeParams; t != nil {
		generic = s.between(t.Pos(), t.End())
	}
	call := func(number int) string {
		c := of + named(f, number) + "(" + strings.Join(args, ", ") + ")"
		if len(results) > 0 {
			return "return " + c
		}
		return c + "; return"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "func %s%s%s(%s) (%s) {\n", receiver, f.Name.Name, generic, strings.Join(params, ", "), strings.Join(results, ", "))
	for _, number := range slices.Sorted(maps.Keys(s.versions[f])) {
		if number > 0 {
			fmt.Fprintf(&b, "\tif mutation__ == %d { %s }\n", number, call(number))
		}
	}
	fmt.Fprintf(&b, "\t%s\n}", call(0))
	return b.String()
}
