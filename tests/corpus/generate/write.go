package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/tests/corpus"
)

// expectation is the file expect.json.
func expectation(e corpus.Expectation) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "    ")
	if err := enc.Encode(e); err != nil {
		panic(fmt.Sprintf("an expectation has no JSON: %v", err))
	}
	return out.Bytes()
}

// Write writes all cases as folders of dir, and removes what else is in there.
func Write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	for _, c := range Cases() {
		m := c.Make()
		for _, name := range slices.Sorted(maps.Keys(m.Files)) {
			file := filepath.Join(dir, c.Name, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return fmt.Errorf("make a folder for case %s: %w", c.Name, err)
			}
			if err := os.WriteFile(file, m.Files[name], 0o644); err != nil {
				return fmt.Errorf("write case %s: %w", c.Name, err)
			}
		}
	}
	return nil
}

// tableStart is the line behind which the README's table begins; the rest of the file
// is the table.
const tableStart = "<!-- Written by make corpus: do not edit below. -->\n"

// Readme is the README with the table of the cases behind its text.
func Readme(old []byte) ([]byte, error) {
	text, _, found := strings.Cut(string(old), tableStart)
	if !found {
		return nil, fmt.Errorf("the README has no line %q, behind which the table is written", strings.TrimSpace(tableStart))
	}
	return []byte(text + tableStart + Table()), nil
}

// Table is a table of all cases: name, finding, first decisive cause, source.
func Table() string {
	var out strings.Builder
	counts := map[Class]int{}
	cases := Cases()
	for _, c := range cases {
		counts[c.Class]++
	}
	fmt.Fprintf(&out, "\n%d cases: %d broken, %d misleading, %d healthy.\n\n", len(cases), counts[Broken], counts[Misleading], counts[Well])
	out.WriteString("| case | class | report | finding | first decisive cause | sources |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range cases {
		m := c.Make()
		var kinds, firsts, sources []string
		for _, f := range m.Expect.Findings {
			first := "none"
			if f.FirstDecisive != "" {
				first = "`" + f.FirstDecisive + "`"
			}
			kinds, firsts = append(kinds, f.Kind), append(firsts, first)
		}
		for i, s := range c.Sources {
			sources = append(sources, fmt.Sprintf("[%d](%s)", i+1, s))
		}
		fmt.Fprintf(&out, "| [%s](cases/%s) | %s | %s | %s | %s | %s |\n", c.Name, c.Name, c.Class, c.Report,
			strings.Join(slices.Compact(kinds), ", "), strings.Join(slices.Compact(firsts), ", "), strings.Join(sources, " "))
	}
	return out.String()
}
