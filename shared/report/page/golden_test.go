package page

import (
	"testing"

	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

func render(t testing.TB, d Document) []byte {
	t.Helper()
	b, err := Render(d)
	must.Succeed(t, err)
	return b
}

func TestPages(t *testing.T) {
	for name, d := range map[string]Document{"day": day(), "look": glance(), "minimal": {Title: "Nothing to show"}} {
		t.Run(name, func(t *testing.T) { golden.File(t, "testdata/"+name+".golden.html", string(render(t, d))) })
	}
}
