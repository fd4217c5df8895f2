package rules

import (
	"os/exec"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A function links what it needs: code that it never runs costs a cold start time all the same.
func TestFunctionsLinkNoClientThatTheyDoNotUse(t *testing.T) {
	const kubernetes, templates = "k8s.io/", "html/template"
	// What links whole APIs, or registries, for a few types: k8s.io/api registers all of a group.
	registries := []string{"k8s.io/api/", "k8s.io/client-go/kubernetes", "k8s.io/client-go/applyconfigurations", "k8s.io/component-base/", "github.com/prometheus/", "google.golang.org/protobuf/proto", "rollcall/shared/sim"}
	for function, without := range map[string][]string{
		"statechange": {kubernetes, templates, "rollcall/shared/observe/collect", "rollcall/shared/report/page"},
		"sweep":       {kubernetes, templates, "rollcall/shared/observe/collect", "rollcall/shared/report/page"},
		"inspect":     registries,
		"remediate":   registries,
	} {
		out, err := exec.Command("go", "list", "-tags", "lambda.norpc", "-deps", "../../functions/"+function).Output()
		must.Succeed(t, err)
		linked := strings.Fields(string(out))
		must.That(t, len(linked) >= 100, "%s links %d packages", function, len(linked))
		for _, path := range linked {
			for _, no := range without {
				expect.That(t, !strings.HasPrefix(path, no), "%s links %s", function, path)
			}
		}
	}
}
