package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The module repeats the template's parameters, with types: none is missing, and each has
// the same default and bounds.
func TestTheTerraformModuleTakesWhatTheTemplateTakes(t *testing.T) {
	var (
		block = regexp.MustCompile(`(?ms)^variable "([a-z_]+)" \{\n(.*?)^\}`)
		field = regexp.MustCompile(`(?m)^  (type|default) += (.*)$`)
		given = regexp.MustCompile(`(?m)^    ([A-Za-z]+) += var\.([a-z_]+)$`)
	)
	variables, bodies := map[string]map[string]string{}, map[string]string{}
	for _, m := range block.FindAllStringSubmatch(text(t, "infra", "terraform", "variables.tf"), -1) {
		variables[m[1]], bodies[m[1]] = map[string]string{}, m[2]
		for _, f := range field.FindAllStringSubmatch(m[2], -1) {
			variables[m[1]][f[1]] = f[2]
		}
	}
	parameters, passed := parametersOf(t, "template.yaml"), map[string]string{}
	for _, m := range given.FindAllStringSubmatch(text(t, "infra", "terraform", "main.tf"), -1) {
		passed[m[1]] = m[2]
	}
	got, want := slices.Sorted(maps.Keys(passed)), slices.Sorted(maps.Keys(parameters))
	expect.That(t, slices.Equal(got, want), "the module passes on %v, the template takes %v", got, want)
	for name, p := range parameters {
		variable := passed[name]
		expect.That(t, strings.ReplaceAll(variable, "_", "") == strings.ToLower(name), "%s is given %s", name, variable)
		allowed, _ := json.Marshal(p["AllowedValues"])
		kind, value := "string", fmt.Sprintf("%q", p["Default"])
		switch {
		case p["Type"] == "Number":
			kind, value = "number", fmt.Sprint(p["Default"])
		case string(allowed) == `["true","false"]`:
			kind, value = "bool", fmt.Sprint(p["Default"])
		}
		if variables[variable]["type"] != kind || variables[variable]["default"] != value {
			t.Errorf("%s is a %s with the default %s, want a %s with %s", variable, variables[variable]["type"], variables[variable]["default"], kind, value)
		}
		var bound string
		switch {
		case kind == "bool":
			continue
		case p["AllowedValues"] != nil:
			bound = strings.ReplaceAll(string(allowed), ",", ", ")
		case p["AllowedPattern"] != nil:
			pattern, _ := json.Marshal(p["AllowedPattern"])
			bound = "regex(" + string(pattern) + ","
		default:
			bound = fmt.Sprintf(">= %v && var.%s <= %v", p["MinValue"], variable, p["MaxValue"])
		}
		expect.That(t, strings.Contains(bodies[variable], bound), "%s is not bounded by %s:\n%s", variable, bound, bodies[variable])
	}
	// terraform checks the format of the files too, where it is installed.
	if terraform, err := exec.LookPath("terraform"); err == nil {
		dir, err := filepath.Abs(filepath.Join(root, "infra", "terraform"))
		must.Succeed(t, err)
		if out, err := exec.CommandContext(t.Context(), terraform, "fmt", "-check", "-diff", dir).CombinedOutput(); err != nil {
			t.Errorf("terraform fmt: %v\n%s", err, out)
		}
	}
}
