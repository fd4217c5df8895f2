package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/tests/harness/expect"
)

const (
	coverage   = "shared/diagnose/COVERAGE.md"
	modes      = 64
	lastHeader = "## Codes beyond these lists"
)

// checklists returns the rows of both lists that the page compares with.
func checklists(t *testing.T) [][]string {
	t.Helper()
	rows := table(t, coverage, "| mode | in our words | our codes | seen from | state |")
	return append(rows, table(t, coverage, "| check | in our words | our codes | seen from | state |")...)
}

// beyond returns the codes of the page's last section.
func beyond(t *testing.T) []cause.Code {
	t.Helper()
	var out []cause.Code
	for _, row := range table(t, coverage, "| code | in our words |") {
		out = append(out, names(row[0])...)
	}
	return out
}

func TestEveryModeOfTheChecklistHasOneRow(t *testing.T) {
	seen := map[string]int{}
	for _, row := range table(t, coverage, "| mode | in our words | our codes | seen from | state |") {
		seen[row[0]]++
	}
	for n := 1; n <= modes; n++ {
		mode := fmt.Sprintf("NJ%d", n)
		expect.That(t, seen[mode] == 1, "%s has %d rows", mode, seen[mode])
		delete(seen, mode)
	}
	for mode := range seen {
		t.Errorf("there is no mode %s", mode)
	}
}

// In the tables only codes are set as code, so that a misspelt one is noticed.
func TestTheCoveragePageNamesCodesThatThereAre(t *testing.T) {
	for _, row := range checklists(t) {
		for _, cell := range row {
			for _, name := range names(cell) {
				expect.That(t, cause.Known(name), "%s: there is no code %s", row[0], name)
			}
		}
	}
	for _, code := range beyond(t) {
		expect.That(t, cause.Known(code), "there is no code %s", code)
	}
}

func TestEveryCodeIsInAListOrBeyondThem(t *testing.T) {
	listed := map[cause.Code]bool{}
	for _, row := range checklists(t) {
		for _, name := range names(row[2]) {
			listed[name] = true
		}
	}
	other := beyond(t)
	for _, code := range cause.Codes() {
		switch {
		case listed[code] && slices.Contains(other, code):
			t.Errorf("%s answers a row, and is said to be beyond the lists", code)
		case !listed[code] && !slices.Contains(other, code):
			t.Errorf("%s is nowhere on the page", code)
		}
	}
	text := page(t, coverage)
	if i := strings.LastIndex(text, "\n## "); !strings.HasPrefix(text[i+1:], lastHeader) {
		t.Errorf("the page's last section is not %q", lastHeader)
	}
}

// A row that claims detection names a code; any other row gives a reason.
func TestEveryRowOfTheCoveragePageHasAState(t *testing.T) {
	for _, row := range checklists(t) {
		if len(row) != 5 {
			t.Errorf("%s has %d cells", row[0], len(row))
			continue
		}
		state, reason, _ := strings.Cut(row[4], ": ")
		codes := len(names(row[2]))
		switch state {
		case "covered":
			expect.That(t, codes != 0, "%s is covered by no code", row[0])
		case "suggestive":
			expect.That(t, codes != 0 && reason != "", "%s lacks a code, or the reason why it proves nothing", row[0])
		case "not visible", "left out":
			expect.That(t, reason != "", "%s is %s for no reason", row[0], state)
		default:
			t.Errorf("%s has the state %q", row[0], row[4])
		}
	}
}
