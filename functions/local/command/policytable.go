package command

import (
	"strings"

	"rollcall/shared/policy"
	"rollcall/shared/report"
)

// The columns of the table of settings, from 0.
const (
	policyWidth = 80
	valueAt     = 33
	fromAt      = 48
)

// settingsTable writes settings under the names of their sections. A section of one
// setting has no line of its own.
func settingsTable(b *strings.Builder, settings []policy.Setting) {
	inSection := map[string]int{}
	for _, s := range settings {
		section, _, _ := strings.Cut(s.Key, ".")
		inSection[section]++
	}
	before := ""
	for _, s := range settings {
		section, key, _ := strings.Cut(s.Key, ".")
		if key == "" || inSection[section] == 1 {
			settingRow(b, s.Key, s.Value, s.From)
			continue
		}
		if section != before {
			b.WriteString(section + "\n")
		}
		before = section
		settingRow(b, "  "+key, s.Value, s.From)
	}
}

// settingRow writes one setting. If the value is too long for its column, the source
// follows it directly or, if that does not fit either, on the next line.
func settingRow(b *strings.Builder, key, value, from string) {
	sources := report.Wrapped(from, policyWidth-fromAt)
	switch {
	case len([]rune(key)) < valueAt && len([]rune(value)) < fromAt-valueAt:
		row(b, key, value, sources[0])
		sources = sources[1:]
	case len([]rune(key)) < valueAt && valueAt+len([]rune(value+"  "+from)) <= policyWidth:
		row(b, key, value+"  "+from, "")
		sources = nil
	default:
		for _, v := range report.Wrapped(value, policyWidth-valueAt) {
			row(b, key, v, "")
			key = ""
		}
	}
	for _, s := range sources {
		row(b, "", "", s)
	}
}

// row writes one line of the table.
func row(b *strings.Builder, key, value, from string) {
	line := pad(key, valueAt) + value
	if from != "" {
		line = pad(line, fromAt) + from
	}
	b.WriteString(line + "\n")
}

// pad pads a text with spaces up to a column, with at least one.
func pad(s string, column int) string {
	return s + strings.Repeat(" ", max(1, column-len([]rune(s))))
}

// hanging writes a text after a word, with its further lines indented.
func hanging(b *strings.Builder, word, text string) {
	for _, line := range report.Wrapped(text, policyWidth-len(word)) {
		b.WriteString(word + line + "\n")
		word = strings.Repeat(" ", len(word))
	}
}
