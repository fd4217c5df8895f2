package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	viewers     = "rollcall:viewers"
	remediators = "rollcall:remediators"
)

// permission is what RBAC can express about a request: verb, API group, resource,
// namespace (all if empty) and object name (any if empty).
type permission struct {
	verb, group, resource, namespace, name string
}

// String returns the permission in a form such as "configmaps get aws-auth in
// kube-system".
func (p permission) String() string {
	s := strings.TrimSuffix(p.resource+"."+p.group, ".") + " " + p.verb
	if p.name != "" {
		s += " " + p.name
	}
	if p.namespace != "" {
		s += " in " + p.namespace
	}
	return s
}

// covers reports whether p permits a request that needs the other permission.
func (p permission) covers(need permission) bool {
	return p.verb == need.verb && p.group == need.group && p.resource == need.resource &&
		(p.namespace == "" || p.namespace == need.namespace) && (p.name == "" || p.name == need.name)
}

// rule is one rule of a role.
type rule struct {
	APIGroups     []string `yaml:"apiGroups"`
	Resources     []string
	ResourceNames []string `yaml:"resourceNames"`
	Verbs         []string
}

func (r rule) permissions(namespace string) (out []permission) {
	named := r.ResourceNames
	if named == nil {
		named = []string{""}
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				for _, name := range named {
					out = append(out, permission{verb, group, resource, namespace, name})
				}
			}
		}
	}
	return out
}

// manifest is a document of rbac.yaml: a role or a binding.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Rules    []rule
	RoleRef  struct{ Kind, Name string } `yaml:"roleRef"`
	Subjects []struct{ Kind, Name string }
}

// rbacGrants returns the permissions that infra/rbac.yaml gives to each group.
func rbacGrants(t *testing.T) map[string][]permission {
	t.Helper()
	roles, out := map[string]manifest{}, map[string][]permission{}
	var bindings []manifest
	decoder := yaml.NewDecoder(strings.NewReader(text(t, "infra", "rbac.yaml")))
	for {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		must.Succeed(t, err)
		switch m.Kind {
		case "ClusterRole", "Role":
			roles[m.Kind+" "+m.Metadata.Namespace+"/"+m.Metadata.Name] = m
		case "ClusterRoleBinding", "RoleBinding":
			bindings = append(bindings, m)
		default:
			t.Errorf("infra/rbac.yaml has a %s", m.Kind)
		}
	}
	for _, b := range bindings {
		key := b.RoleRef.Kind + " " + b.Metadata.Namespace + "/" + b.RoleRef.Name
		role, known := roles[key]
		expect.That(t, known && b.Kind == b.RoleRef.Kind+"Binding", "%s %s binds %s, which is not there", b.Kind, b.Metadata.Name, key)
		for _, s := range b.Subjects {
			expect.That(t, s.Kind == "Group", "%s is bound to %+v", key, s)
			for _, r := range role.Rules {
				out[s.Name] = append(out[s.Name], r.permissions(role.Metadata.Namespace)...)
			}
		}
		delete(roles, key)
	}
	for key := range roles {
		t.Errorf("%s is bound to nobody", key)
	}
	return out
}

// recorder answers requests of a client and records the permissions that they need.
type recorder struct {
	needs []permission
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	need, err := needOf(q)
	if err != nil {
		return nil, err
	}
	r.needs = append(r.needs, need)
	var answer any = map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{}}
	switch {
	case need.resource == "pods": // for a drain
		answer = map[string]any{"apiVersion": "v1", "kind": "PodList", "items": []any{map[string]any{"metadata": map[string]any{"name": "p", "namespace": "team", "uid": "u"}}}}
	case need.resource == "nodes" && need.name != "":
		answer = map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{
			"name": "n", "uid": "u", "resourceVersion": "1", "annotations": map[string]any{roll.AnnotationCordoned: "theirs"},
		}}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body))), Request: q}, nil
}

// needOf returns the permission that a request needs, as the API server derives it from method and
// path.
// https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
func needOf(q *http.Request) (p permission, err error) {
	segments := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	switch {
	case segments[0] == "api" && len(segments) > 2:
		segments = segments[2:]
	case segments[0] == "apis" && len(segments) > 3:
		p.group, segments = segments[1], segments[3:]
	default:
		return p, fmt.Errorf("%s is no path of a resource", q.URL.Path)
	}
	if segments[0] == "namespaces" && len(segments) > 2 {
		p.namespace, segments = segments[1], segments[2:]
	}
	p.resource = segments[0]
	if len(segments) > 1 {
		p.name = segments[1]
	}
	if byName, ok := strings.CutPrefix(q.URL.Query().Get("fieldSelector"), "metadata.name="); ok {
		p.name = byName
	}
	if len(segments) > 2 {
		p.resource += "/" + segments[2]
	}
	p.verb = map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete"}[q.Method]
	if q.Method == http.MethodGet && len(segments) == 1 {
		p.verb = "list"
	}
	return p, nil
}

// questions are all requests of a diagnosis, by the function that makes them.
var questions = map[string]kube.Question{
	"ANode": kube.ANode("n"), "AllNodes": kube.AllNodes(), "LeaseOf": kube.LeaseOf("n"), "AllLeases": kube.AllLeases(),
	"AwsAuth": kube.AwsAuth(), "EventsOfNode": kube.EventsOfNode("n"), "EventsOfNodeClaim": kube.EventsOfNodeClaim("c"), "EventsOfPod": kube.EventsOfPod("team", "p"),
	"PodsOf": kube.PodsOf("n"), "PodsWithoutNode": kube.PodsWithoutNode(), "PodsLike": kube.PodsLike("team", map[string]string{"app": "a"}), "AllBudgets": kube.AllBudgets(), "AllVolumes": kube.AllVolumes(), "ControllerAccounts": kube.ControllerAccounts(), "NodeClaimsOf": kube.NodeClaimsOf("default"), "LaunchesWithoutCapacity": kube.LaunchesWithoutCapacity(), "ANodePool": kube.ANodePool("default"), "AllNodePools": kube.AllNodePools(),
	"AnEC2NodeClass": kube.AnEC2NodeClass("default"), "Webhooks": kube.Webhooks(), "EndpointSlicesOf": kube.EndpointSlicesOf("team", "s"), "DaemonSets": kube.DaemonSets(),
}

// readings makes every read request and returns the permissions that each needs.
func readings(t *testing.T) map[string][]permission {
	t.Helper()
	out := map[string][]permission{}
	reading := func(name string, read func(*kube.Client) error) {
		r := &recorder{}
		c, err := kube.NewInMemoryClient(r)
		must.Succeed(t, err)
		_ = read(c) // most answers are of another type than requested
		expect.That(t, len(r.needs) > 0, "%s asks for nothing", name)
		out[name] = r.needs
	}
	reading("Nodes", func(c *kube.Client) error { return c.Nodes(t.Context(), roll.Watch{}, func(roll.Node) {}, func() {}) })
	reading("NodeClaims", func(c *kube.Client) error { _, err := c.NodeClaims(t.Context(), []string{"default"}); return err })
	for name, q := range questions {
		reading(name, func(c *kube.Client) error { _, err := c.Read(t.Context(), q); return err })
	}
	return out
}

// acts makes every change and returns the permissions that each needs.
func acts(t *testing.T) map[string][]permission {
	t.Helper()
	out := map[string][]permission{}
	for name, act := range map[string]func(*kube.Client) error{
		"Cordon":       func(c *kube.Client) error { return c.Cordon(t.Context(), "n", "u", "ours") },
		"Uncordon":     func(c *kube.Client) error { return c.Uncordon(t.Context(), "n", "u", "theirs") },
		"OutOfService": func(c *kube.Client) error { return c.OutOfService(t.Context(), "n", "u") },
		"Drain": func(c *kube.Client) error {
			_, err := c.Drain(t.Context(), "n", kube.Pass{Evictions: 1, Now: time.Now()})
			return err
		},
		"DeleteNode":      func(c *kube.Client) error { return c.DeleteNode(t.Context(), "n", "u") },
		"DeleteNodeClaim": func(c *kube.Client) error { return c.DeleteNodeClaim(t.Context(), "c", "u") },
	} {
		r := &recorder{}
		c, err := kube.NewInMemoryClient(r)
		must.Succeed(t, err)
		if err := act(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out[name] = r.needs
	}
	return out
}

// Each of the roles' groups has the permissions it needs and no more: one reads, and only
// the other may change anything.
func TestWhatTheGroupsMayDoInACluster(t *testing.T) {
	look := []string{
		"nodes list", "nodes get", "events list", "pods list", "poddisruptionbudgets.policy list", "persistentvolumes list", "nodeclaims.karpenter.sh list", "nodepools.karpenter.sh list", "nodepools.karpenter.sh get", "serviceaccounts list karpenter", "ec2nodeclasses.karpenter.k8s.aws get", "daemonsets.apps list",
		"mutatingwebhookconfigurations.admissionregistration.k8s.io list", "validatingwebhookconfigurations.admissionregistration.k8s.io list", "endpointslices.discovery.k8s.io list",
		"configmaps get aws-auth in kube-system", "leases.coordination.k8s.io get in kube-node-lease", "leases.coordination.k8s.io list in kube-node-lease",
	}
	want := map[string][]string{
		viewers:     look,
		remediators: append(slices.Clone(look), "nodes patch", "nodes delete", "nodeclaims.karpenter.sh delete", "pods/eviction create"),
	}
	got := map[string][]string{}
	for group, all := range rbacGrants(t) {
		for _, p := range all {
			got[group] = append(got[group], p.String())
		}
	}
	expect.Same(t, got, want, "got")
}

// Every request is granted to the role that makes it, and every grant is used by some
// request.
func TestEveryRequestToAClusterIsGrantedAndEveryGrantIsUsed(t *testing.T) {
	granted := rbacGrants(t)
	for group, requests := range map[string]map[string][]permission{viewers: readings(t), remediators: merged(readings(t), acts(t))} {
		unused := map[permission]bool{}
		for _, p := range granted[group] {
			unused[p] = true
		}
		for name, needs := range requests {
			for _, need := range needs {
				may := false
				for _, p := range granted[group] {
					if p.covers(need) {
						may = true
						delete(unused, p)
					}
				}
				expect.That(t, may, "%s may not make %s, which needs %q", group, name, need)
			}
		}
		for p := range unused {
			t.Errorf("%s may %q, which nothing needs", group, p)
		}
	}
}

func merged(all ...map[string][]permission) map[string][]permission {
	out := map[string][]permission{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

func TestEveryQuestionIsTried(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "shared", "kube", "*.go"))
	must.Succeed(t, err)
	var made []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		must.Succeed(t, err)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Type.Results == nil || !f.Name.IsExported() {
				continue
			}
			if kind, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && kind.Name == "Question" {
				made = append(made, f.Name.Name)
			}
		}
	}
	slices.Sort(made)
	tried := slices.Sorted(maps.Keys(questions))
	expect.That(t, slices.Equal(made, tried), "shared/kube makes the questions %v, tried are %v", made, tried)
}
