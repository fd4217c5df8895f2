package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// LintDocument is what rollcall lint prints as JSON.
type LintDocument struct {
	At      time.Time `json:"at"`
	Cluster string    `json:"cluster,omitempty"`
	// Launches names what would be launched, such as nodepool/default.
	Launches []string `json:"launches"`
	// Findings are the causes that would keep nodes from joining, Hints what may be one.
	Findings   []LintFinding `json:"findings"`
	Hints      []LintFinding `json:"hints"`
	NotChecked []LintGap     `json:"notChecked"`
	Notes      []string      `json:"notes"`
}

// LintFinding is a cause in what would be launched.
type LintFinding struct {
	Launches []string `json:"launches"` // those that have it
	LintPlace
	Code     string         `json:"code"`
	Summary  string         `json:"summary"`
	Evidence []LintEvidence `json:"evidence"`
	Fix      string         `json:"fix"`
	Subject  string         `json:"subject,omitempty"`
}

// LintEvidence is one observation.
type LintEvidence struct {
	roll.Evidence
	LintPlace
}

// LintPlace is a place in a file; the zero value is none.
type LintPlace struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // from 1, 0 if unknown
}

// String returns the place as compilers write it, "" for none.
func (p LintPlace) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// LintGap are causes that could not be checked for one reason.
type LintGap struct {
	Codes  []string `json:"codes"`
	Reason string   `json:"reason"`
}

// Write writes the document as text. It returns the first error of w.
func (d LintDocument) Write(w io.Writer, layout Layout) error {
	t := &text{w: w, Layout: layout}
	n := len(d.Findings)
	where := roll.Behind(" in ", d.Cluster)
	if len(d.Launches) > 0 {
		t.head(fmt.Sprintf("%d %s would keep nodes from joining%s: judged %s", n, roll.Plural(n, "cause", "causes"), where, roll.Few(d.Launches, 5)))
	} else {
		t.head("nothing was judged" + where)
	}
	t.lint("would fail", d.Findings)
	t.lint("may fail", d.Hints)
	t.list("not checked", d.gaps())
	t.list("notes", d.Notes)
	return t.err
}

// gaps returns what could not be checked, and why.
func (d LintDocument) gaps() []string {
	return roll.Map(d.NotChecked, func(g LintGap) string { return roll.Few(g.Codes, 3) + ": " + g.Reason })
}

// GitHub writes the findings and hints, and as notices what was not checked, as commands by which
// GitHub Actions annotates files. It returns the first error of w.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
func (d LintDocument) GitHub(w io.Writer) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var b strings.Builder
	d.each(func(f LintFinding, level string) {
		at := ""
		if f.File != "" {
			at = fmt.Sprintf("file=%s,line=%d,", property.Replace(f.File), max(f.Line, 1))
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", level, at, property.Replace(f.Code), data.Replace(f.message()))
	})
	for _, words := range slices.Concat(d.gaps(), d.Notes) {
		fmt.Fprintf(&b, "::notice title=not checked::%s\n", data.Replace(words))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lint writes a section of findings.
func (t *text) lint(name string, all []LintFinding) {
	if len(all) == 0 {
		return
	}
	t.section(name)
	for _, f := range all {
		t.item("%s: %s", f.Code, roll.Few(f.Launches, 2))
		t.wrap(6, f.Summary)
		for _, e := range f.Evidence {
			place := e.String()
			if place != "" {
				place += ": "
			}
			t.wrap(6, place+evidenceInWords(e.Evidence))
		}
		t.fix(6, f.Fix)
	}
}
