package paste_test

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
	"rollcall/tests/harness/must"
)

var (
	// begins matches a literal that begins with a command, or has one at the beginning of a line.
	begins = regexp.MustCompile(`(?m)^\s*(aws [a-z0-9-]+ [a-z-]+|kubectl (-n |--|[a-z]+)|eksctl [a-z]+|rollcall (explain|check|stop|resume|capture|version))\b`)
	// within matches a flag of a command and the verb for its value, in any sentence.
	within = regexp.MustCompile(`\b(aws [a-z0-9-]+ [a-z-]+|kubectl [a-z-]+|eksctl [a-z]+|rollcall [a-z]+) [^\n]*--[a-z-]+[ =][^ ]*%(\[\d\])?[svq]`)
	verb   = regexp.MustCompile(`%(\[\d\])?[svq]`)
)

// unquoted returns where a file puts a command together without this package: as a format of
// another function, or joined with a value.
func unquoted(t *testing.T, name string, src any) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
	must.Succeed(t, err)
	report := func(n ast.Node, text string) {
		found = append(found, files.Position(n.Pos()).String()+": "+text)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			if ours(x) {
				return true
			}
			for _, arg := range x.Args {
				if text, ok := literal(arg); ok && (begins.MatchString(text) && verb.MatchString(text) || within.MatchString(text)) {
					report(x, text)
				}
			}
		case *ast.BinaryExpr:
			if text, ok := literal(x.X); x.Op == token.ADD && ok && begins.MatchString(text) && !safe(x.Y) {
				report(x, text)
			}
		}
		return true
	})
	return found
}

// ours reports whether a call is one of this package.
func ours(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	p, ok := f.X.(*ast.Ident)
	return ok && p.Name == "paste"
}

// safe reports whether an operand is a literal, a call of this package, or a sum of such.
func safe(e ast.Expr) bool {
	if _, ok := literal(e); ok {
		return true
	}
	call, ok := e.(*ast.CallExpr)
	return ok && ours(call)
}

// literal returns the text of a string literal, or of a sum of some.
func literal(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil && x.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := literal(x.X)
		b, also := literal(x.Y)
		return a + b, ok && also && x.Op == token.ADD
	case *ast.ParenExpr:
		return literal(x.X)
	}
	return "", false
}

// A command with a name in it is put together by this package, which quotes the name.
func TestNoCommandIsPutTogetherWithoutQuotes(t *testing.T) {
	for _, root := range []string{"../../../shared", "../../../functions"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, f := range unquoted(t, path, nil) {
				t.Errorf("not quoted: %s\nuse paste.Format or paste.Command", f)
			}
			return nil
		})
		must.Succeed(t, err)
	}
}

func TestWhatIsPutTogetherWithoutQuotesIsSeen(t *testing.T) {
	for src, want := range map[string]int{
		`fmt.Sprintf("aws ec2 describe-volumes --volume-ids %s", id)`:       1,
		`fmt.Sprintf("first\nkubectl get nodes %[1]s", id)`:                 1,
		`refuse("turn it off: aws ec2 modify-x --instance-id %s --no", id)`: 1,
		`"kubectl describe node " + name`:                                   1,
		`"aws ec2 " + "describe-volumes --volume-ids " + id`:                1,
		`paste.Format("aws ec2 describe-volumes --volume-ids %s", id)`:      0,
		`"kubectl get nodes -o wide   # all " + "of them"`:                  0,
		`"kubectl get events | " + paste.Command("grep", id)`:               0,
		`fmt.Sprintf("%d nodes; kubectl describe shows why", n)`:            0,
		`fmt.Errorf("aws-auth of %s cannot be read", name)`:                 0,
	} {
		got := unquoted(t, "x.go", "package x\nvar _ = "+src)
		expect.That(t, len(got) == want, "%s: %v", src, got)
	}
}
