// Package docs checks that the pages agree with the code.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const root = "../.."

func page(t *testing.T, name string) string {
	t.Helper()
	data := must.Read(t, filepath.Join(root, name))
	return string(data)
}

// table returns the cells of every table row on a page below this header.
func table(t *testing.T, name, header string) [][]string {
	t.Helper()
	var rows [][]string
	inside := false
	for line := range strings.Lines(page(t, name)) {
		line = strings.TrimSpace(line)
		switch {
		case line == header:
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && !strings.HasPrefix(line, "| ---"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	must.That(t, len(rows) > 0, "%s has no table %s", name, header)
	return rows
}

var code = regexp.MustCompile("`([^`]+)`")

// names returns the words of a cell that are set as code.
func names(cell string) []string {
	var out []string
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

var (
	anchored = regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
	dropped  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(page(t, name)) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			text := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			out = append(out, strings.ReplaceAll(text, " ", "-"))
		}
	}
	return out
}

func TestLinksToHeadingsLeadToOne(t *testing.T) {
	found := 0
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		must.Succeed(t, err)
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			must.Succeed(t, err)
			for _, m := range anchored.FindAllStringSubmatch(page(t, name), -1) {
				found++
				target := name
				if m[1] != "" {
					target = filepath.Join(filepath.Dir(name), m[1])
				}
				expect.That(t, slices.Contains(anchors(t, target), m[2]), "%s links to #%s of %s, which has no such heading", name, m[2], target)
			}
		}
	}
	expect.That(t, found >= 5, "found %d links to headings", found)
}

func TestEveryPackageHasARow(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "shared"))
	must.Succeed(t, err)
	var want, got []string
	for _, e := range entries {
		if e.IsDir() {
			want = append(want, e.Name())
		}
	}
	expect.That(t, len(want) <= 14, "%d folders, more than 14", len(want))
	for _, row := range table(t, "shared/README.md", "| package | what it is | kind |") {
		for _, name := range names(row[0]) {
			if info, err := os.Stat(filepath.Join(root, "shared", name)); err != nil || !info.IsDir() {
				t.Errorf("there is no folder %s: %v", name, err)
			}
			folder, _, _ := strings.Cut(name, "/")
			got = append(got, folder)
		}
	}
	slices.Sort(got)
	got = slices.Compact(got)
	expect.That(t, slices.Equal(got, want), "rows for %v\nfolders %v", got, want)
}
