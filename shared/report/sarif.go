package report

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// SARIF is a log of SARIF 2.1.0, with what code scanning reads of it.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type SARIF struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results     []sarifResult     `json:"results"`
	Invocations []sarifInvocation `json:"invocations"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID string `json:"id"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// The levels of findings and hints, in SARIF and as GitHub's commands.
const (
	levelError   = "error"
	levelWarning = "warning"
	levelNote    = "note"
)

// SARIF returns the document as a SARIF log of this version of the tool. Code scanning refuses a log
// with a result that is in no file, so such a finding is a notification, as is what was not checked.
func (d LintDocument) SARIF(version string) SARIF {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "rollcall", Version: version, Rules: []sarifRule{}}
	notes := []sarifNotification{}
	d.each(func(f LintFinding, level string) {
		if f.File == "" {
			notes = append(notes, sarifNotification{level, sarifMessage{f.Code + ": " + f.message()}})
			return
		}
		rule := sarifRule{ID: f.Code}
		if !slices.Contains(run.Tool.Driver.Rules, rule) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		run.Results = append(run.Results, sarifResult{RuleID: f.Code, Level: level, Message: sarifMessage{f.message()}, Locations: []sarifLocation{f.location()}})
	})
	for _, words := range slices.Concat(d.gaps(), d.Notes) {
		notes = append(notes, sarifNotification{levelNote, sarifMessage{words}})
	}
	run.Invocations = []sarifInvocation{{Successful: true, Notifications: notes}}
	return SARIF{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// each calls do with every finding and hint, and its level.
func (d LintDocument) each(do func(f LintFinding, level string)) {
	for _, f := range d.Findings {
		do(f, levelError)
	}
	for _, f := range d.Hints {
		do(f, levelWarning)
	}
}

// message returns what is wrong, and the fix.
func (f LintFinding) message() string {
	text := strings.Join(f.Launches, ", ") + ": " + f.Summary
	if fix := strings.TrimSpace(f.Fix); fix != "" {
		text += "\n\n" + fix
	}
	return text
}

// location returns the place of the finding, which is in a file.
func (f LintFinding) location() sarifLocation {
	at := url.URL{Path: filepath.ToSlash(f.File)}
	if strings.HasPrefix(at.Path, "/") {
		at.Scheme = "file"
	}
	var l sarifLocation
	l.Physical.Artifact.URI = at.String()
	if f.Line > 0 {
		l.Physical.Region = &sarifRegion{f.Line}
	}
	return l
}
