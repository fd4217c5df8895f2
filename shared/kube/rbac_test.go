package kube

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// What is applied is what is removed.
func TestTheManifestIsThatOfThePage(t *testing.T) {
	page := must.Read(t, "../../infra/rbac.yaml")
	field := func(text, name string) string {
		if m := regexp.MustCompile(name + `: (\S+)`).FindStringSubmatch(text); m != nil {
			return m[1]
		}
		return ""
	}
	var want, got []string
	for _, text := range strings.Split(string(page), "\n---\n") {
		_, metadata, _ := strings.Cut(text, "\nmetadata:")
		metadata, _, _ = strings.Cut(metadata, "\nr") // roleRef or rules
		want = append(want, Grant{Kind: field(text, "(?m)^kind"), Namespace: field(metadata, "namespace"), Name: field(metadata, "name")}.String())
	}
	for _, g := range manifest {
		got = append(got, g.String())
	}
	slices.Sort(want)
	slices.Sort(got)
	expect.That(t, slices.Equal(got, want), "infra/rbac.yaml has\n%s\nand these are removed\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// grants is an API server with some RBAC objects, by path; the value is the uid.
type grants map[string]string

func (g grants) answer(r *http.Request) (code int, body string, err error) {
	switch uid, ok := g[r.URL.Path]; {
	case !ok:
		return http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, nil
	case uid == "denied":
		return http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, nil
	case r.Method == http.MethodDelete:
		delete(g, r.URL.Path)
		return http.StatusOK, `{"kind":"Status","apiVersion":"v1","status":"Success"}`, nil
	default:
		return http.StatusOK, fmt.Sprintf(`{"metadata":{"uid":%q}}`, uid), nil
	}
}

func TestGrantsAreRevokedBindingsFirst(t *testing.T) {
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	g := grants{rbac + "/clusterroles/rollcall-viewer": "1", rbac + "/clusterrolebindings/rollcall-viewer": "2", rbac + "/namespaces/kube-system/roles/rollcall-viewer": "3", rbac + "/clusterroles/view": "4"}
	c, _ := over(t, g.answer)
	found, err := c.Grants(t.Context())
	must.That(t, err == nil && fmt.Sprint(found) == "[ClusterRoleBinding rollcall-viewer ClusterRole rollcall-viewer Role kube-system/rollcall-viewer]", "%v, %v", found, err)
	for _, some := range found {
		expect.Succeed(t, c.Revoke(t.Context(), some))
	}
	expect.That(t, len(g) == 1 && g[rbac+"/clusterroles/view"] != "", "left are %v", g)
	if err := c.Revoke(t.Context(), found[0]); !errors.Is(err, ErrGone) {
		t.Errorf("once more: %v", err)
	}
	if err := c.Revoke(t.Context(), Grant{Kind: "ClusterRole", Name: "view"}); err == nil {
		t.Error("an object that was not found as Rollcall's is deleted")
	}
}

func TestAGrantThatCannotBeReadIsNotAbsent(t *testing.T) {
	c, _ := over(t, grants{"/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-viewer": "denied"}.answer)
	found, err := c.Grants(t.Context())
	expect.That(t, err != nil, "found %v", found)
}
