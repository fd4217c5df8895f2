package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/functions/local/command"
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	diagnosis = "shared/diagnose/README.md"
	bundles   = "shared/observe/bundle/README.md"
)

// cures maps each cure to the page's words for it.
var cures = map[roll.Cure]string{
	roll.CureUnclear: "open", roll.CureChange: "change", roll.CureReplace: "replace", roll.CureReboot: "reboot", roll.CureWait: "wait", roll.CureNone: "none",
}

// The page must explain every code that a notice can hold.
func TestTheDiagnosisPageHasEveryCodeOnceWithItsCure(t *testing.T) {
	seen := map[cause.Code]int{}
	for _, row := range table(t, diagnosis, "| code | what is wrong | decisive when | what to change | cure |") {
		must.That(t, len(row) == 5, "%s has %d cells", row[0], len(row))
		code := names(row[0])[0]
		seen[code]++
		if !cause.Known(code) {
			t.Errorf("there is no code %s", code)
			continue
		}
		if want := cures[cause.CureOf(code)]; row[4] != want {
			t.Errorf("the cure of %s is %s, the page says %s", code, want, row[4])
		}
		if said := strings.HasPrefix(row[1], "symptom: "); said != cause.Symptom(code) {
			t.Errorf("%s is a symptom: %v; the page says %v", code, cause.Symptom(code), said)
		}
	}
	for _, code := range cause.Codes() {
		expect.That(t, seen[code] == 1, "%s has %d rows", code, seen[code])
	}
}

func TestTheDiagnosisPageSaysWhatEachCureDoes(t *testing.T) {
	var got, want []string
	for _, row := range table(t, diagnosis, "| cure | effect, if it is decisive and first |") {
		got = append(got, row[0])
	}
	for _, word := range cures {
		want = append(want, word)
	}
	slices.Sort(got)
	slices.Sort(want)
	expect.That(t, slices.Equal(got, want), "rows for %v, cures %v", got, want)
}

// bundleFiles returns the files and folders that a bundle may hold: the constants of
// shared/observe/bundle/spec.go whose names begin with file or folder.
func bundleFiles(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "shared/observe/bundle/spec.go"), nil, 0)
	must.Succeed(t, err)
	var out []string
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			value := s.(*ast.ValueSpec)
			name := value.Names[0].Name
			if !strings.HasPrefix(name, "file") && !strings.HasPrefix(name, "folder") {
				continue
			}
			text, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			must.Succeed(t, err)
			out = append(out, text)
		}
	}
	must.That(t, len(out) >= 35, "found only %v", out)
	return out
}

func TestTheBundlePageHasEveryFileOnce(t *testing.T) {
	seen := map[string]int{}
	for _, row := range table(t, bundles, "| file | content, as printed by | not checked without it |") {
		seen[names(row[0])[0]]++
		for _, name := range names(row[2]) {
			if !cause.Known(name) && !slices.Contains(roll.Kinds(), roll.Kind(name)) && !strings.HasPrefix(name, "--") && !strings.HasSuffix(name, ".json") && name != "EC2" {
				t.Errorf("%s: %s is neither a code nor a kind", row[0], name)
			}
		}
	}
	for _, file := range bundleFiles(t) {
		expect.That(t, seen[file] == 1, "%s has %d rows", file, seen[file])
		delete(seen, file)
	}
	for file := range seen {
		t.Errorf("a bundle has no file %s", file)
	}
}

// A bundle made by the page's commands has every file that the page lists, except those
// that only a capture can write.
func TestTheBundlePageMakesTheFilesThatItLists(t *testing.T) {
	_, script, _ := strings.Cut(page(t, bundles), "## By hand")
	script, _, ok := strings.Cut(script, "## The files")
	must.That(t, ok, "there is no script")
	for _, file := range bundleFiles(t) {
		switch file {
		case "ledger.json", "instance-attributes.json", "zonal-shifts.json", "inline-policies.json", "managed-policies.json", "policy-versions.json", "host-logs":
			continue
		}
		name := strings.TrimSuffix(file, ".json")
		if !strings.Contains(script, file) && !strings.Contains(script, " "+name+" ") && !strings.Contains(script, " "+name+";") {
			t.Errorf("the script does not write %s", file)
		}
	}
}

var listedCommand = regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`)

func TestTheReadmeNamesEveryCommand(t *testing.T) {
	var help strings.Builder
	if code := command.Run(t.Context(), []string{"--help"}, command.Environment{Stdout: &help, Stderr: &help, Now: time.Now}); code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, help.String())
	}
	text := page(t, "README.md")
	found := 0
	for _, m := range listedCommand.FindAllStringSubmatch(help.String(), -1) {
		if m[1] == "help" {
			continue
		}
		found++
		expect.That(t, strings.Contains(text, "rollcall "+m[1]), "the README does not name rollcall %s", m[1])
	}
	expect.That(t, found >= 4, "found %d commands in:\n%s", found, help.String())
}
