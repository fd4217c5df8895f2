package policy

import (
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func readme(t *testing.T) string {
	t.Helper()
	data := must.Read(t, "README.md")
	return string(data)
}

// indented returns the blocks of a page that are indented by four, without the indent.
func indented(page string) []string {
	var blocks []string
	inside := false
	for line := range strings.Lines(page) {
		text, ok := strings.CutPrefix(line, "    ")
		switch {
		case ok && inside:
			blocks[len(blocks)-1] += text
		case ok:
			blocks = append(blocks, text)
		}
		inside = ok
	}
	return blocks
}

func TestReadmesPoliciesAreValid(t *testing.T) {
	found := 0
	for _, block := range indented(readme(t)) {
		if !strings.HasPrefix(block, "apiVersion:") {
			continue
		}
		found++
		d, err := Parse([]byte(block))
		if err != nil {
			t.Errorf("%v in\n%s", err, block)
			continue
		}
		w := d.Warnings()
		expect.That(t, len(w) == 0, "%v in\n%s", w, block)
	}
	expect.That(t, found >= 9, "%d policies", found)
}

func TestReadmeHasEveryKeyAndDefault(t *testing.T) {
	page := readme(t)
	for _, s := range Default().Explain("", "", roll.Selector{}) {
		section, name, _ := strings.Cut(s.Key, ".")
		row := "| `" + s.Key + "` | `" + s.Value + "` |"
		switch section {
		case "conditions":
			conditionType, status, _ := strings.Cut(name, "=")
			row = "| `" + conditionType + "` | `" + status + "` | `" + s.Value + "` |"
		case "ladders":
			row = "| `" + name + "` | " + s.Value + " |"
		case "owners":
			row = "| `" + name + "` | `" + s.Value + "` | `" + string(OwnerNotify) + "`"
			for _, rule := range allowedRules[roll.Owner(name)][1:] {
				row += ", `" + string(rule) + "`"
			}
		}
		expect.That(t, strings.Contains(page, "\n"+row), "no row %s", row)
	}
}

func TestReadmeHasWhatBecomesOfEveryStep(t *testing.T) {
	page := readme(t)
	for _, kind := range roll.Kinds() {
		row := "\n| `" + string(kind) + "` |"
		for _, do := range verbs {
			becomes, _ := useOf(do, kind)
			row += map[use]string{useful: " yes |", idle: " idle |", senseless: " |"}[becomes]
		}
		expect.That(t, strings.Contains(page, row+"\n"), "no row %s", row)
	}
}
