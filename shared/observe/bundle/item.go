package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rollcall/shared/kube"
)

// resource is a kind of Kubernetes object, and the file with its objects.
type resource struct {
	file, apiVersion, kind string
	kubectl                string // the command that writes the file
}

var served = []resource{
	{fileNodes, "v1", "Node", "get nodes"},
	{fileLeases, "coordination.k8s.io/v1", "Lease", "-n kube-node-lease get leases"},
	{fileEvents, "v1", "Event", "get events -A"},
	{fileNodeClaims, "karpenter.sh/v1", "NodeClaim", "get nodeclaims"},
	{fileNodePools, "karpenter.sh/v1", "NodePool", "get nodepools"},
	{fileNodeClasses, "karpenter.k8s.aws/v1", "EC2NodeClass", "get ec2nodeclasses"},
	{fileAwsAuth, "v1", "ConfigMap", "-n kube-system get configmap aws-auth"},
	{filePods, "v1", "Pod", "get pods -A"},
	{fileBudgets, "policy/v1", "PodDisruptionBudget", "get poddisruptionbudgets -A"},
	{fileVolumes, "v1", "PersistentVolume", "get persistentvolumes"},
	{fileAccounts, "v1", "ServiceAccount", "get serviceaccounts -A"},
	{fileDaemonSets, "apps/v1", "DaemonSet", "get daemonsets -A"},
	{fileEndpointSlices, "discovery.k8s.io/v1", "EndpointSlice", "get endpointslices -A"},
	{fileWebhooks, "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", kubectlWebhooks},
	{fileWebhooks, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", kubectlWebhooks},
}

const kubectlWebhooks = "get mutatingwebhookconfigurations,validatingwebhookconfigurations"

func kubernetesSpecs() []spec {
	var out []spec
	for _, r := range served {
		if slices.ContainsFunc(out, func(s spec) bool { return s.name == r.file }) {
			continue
		}
		out = append(out, spec{
			name: r.file, command: "kubectl " + r.kubectl + " -o json", required: r.file == fileNodes,
			// The objects of a list are read one by one. The whole tree of a large cluster's events
			// would take a gigabyte.
			read: readObjects, folded: true,
			table: func() filed { return newTable(r.file, (*item).key) },
			write: func(c *contents) (any, error) { return writeObjects(c, r.file) },
		})
	}
	return out
}

// item is a Kubernetes object: its name, and the whole object as in the file or in the answer of an
// API server.
type item struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`

	object *kube.Item
}

func (i *item) key() string {
	return strings.Join([]string{i.Kind, i.Metadata.Namespace, i.Metadata.Name}, "/")
}

// newItem reads an object, which is of kind r if it does not name its kind. Lists of the API server
// do not name the kind of each item.
func newItem(raw json.RawMessage, r *resource) (item, error) {
	var i item
	if err := json.Unmarshal(raw, &i); err != nil {
		return item{}, err
	}
	if i.Metadata.Name == "" {
		return item{}, fmt.Errorf("it has no metadata.name")
	}
	var said []string
	if i.APIVersion == "" {
		i.APIVersion = r.apiVersion
		said = append(said, fmt.Sprintf("%q:%q,", "apiVersion", i.APIVersion))
	}
	if i.Kind == "" {
		i.Kind = r.kind
		said = append(said, fmt.Sprintf("%q:%q,", "kind", i.Kind))
	}
	if len(said) > 0 { // it has metadata, so something follows
		raw = json.RawMessage("{" + strings.Join(said, "") + string(raw[1:]))
	}
	i.object = kube.NewItem(raw)
	return i, nil
}

// readObjects reads a list printed by kubectl or the API server, an array of objects, or one
// object.
func readObjects(c *contents, in *input, v *value) {
	t := c.objects(in.spec.name)
	if r, ok := in.refused(v); ok {
		c.refused[in.spec.name] = r
		return
	}
	t.single = v.kind == object && !v.has("items")
	at := map[string]int{}
	for _, folded := range in.objects(v) {
		row := new(in.unfold(folded, whole))
		r := in.resourceOf(row)
		if r == nil {
			continue
		}
		i, err := newItem(json.RawMessage(in.data[row.from:row.to]), r)
		switch {
		case err != nil:
			in.fail(row.from, "this is no %s: %v", r.kind, err)
		case i.APIVersion != r.apiVersion && !strings.HasPrefix(r.apiVersion, "karpenter."):
			in.fail(row.from, "this %s is of %s, not of %s: write it again with: %s", r.kind, i.APIVersion, r.apiVersion, in.spec.command)
		case in.spec.name == fileAwsAuth && i.Metadata.Name != "aws-auth":
			// a listing of the namespace also has others
		default:
			t.put(i)
			at[i.key()] = row.from
			if in.spec.required {
				in.refuseTrimmed(row)
			} else {
				t.trim(i.key(), in.trimmed(row))
			}
		}
	}
	if in.spec.name == fileNodes && readNodes(t.rows) != nil {
		in.badNodes(t.rows, at)
	}
}

// badNodes adds faults for Nodes that cannot be read. A bundle with an invalid Node must not look
// like one with fewer nodes.
func (in *input) badNodes(nodes []item, at map[string]int) {
	for i := range nodes {
		if err := readNodes(nodes[i : i+1]); err != nil {
			in.fail(at[nodes[i].key()], "the Node %s cannot be read: %v", nodes[i].Metadata.Name, err)
		}
	}
}

// refusal is a Status with which the API server refused to answer.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
type refusal struct {
	code int
	raw  json.RawMessage
}

// refused reads a file with a Status instead of objects.
func (in *input) refused(v *value) (refusal, bool) {
	if v.kind != object || v.said("kind") != "Status" {
		return refusal{}, false
	}
	code, err := strconv.Atoi(v.said("code"))
	if v.said("status") != "Failure" || err != nil || code < 400 || code > 599 {
		in.fail(v.from, "this is a Status without a failure and its code: the file should hold what %s prints", in.spec.command)
	}
	return refusal{code, json.RawMessage(in.data[v.from:v.to])}, true
}

func (in *input) objects(v *value) []*value {
	switch {
	case v.kind == array:
		var out []*value
		for i := range v.items {
			inner := in.unfold(&v.items[i], 1)
			out = append(out, in.objects(&inner)...)
		}
		return out
	case v.kind != object:
		in.fail(v.from, "this is %s, not what %s prints", v.kind, in.spec.command)
		return nil
	case v.has("items") && v.get("items").kind == array:
		if m := v.get("metadata"); m != nil && m.kind == object && m.said("continue") != "" {
			in.fail(m.get("continue").from, "metadata.continue says that this is not all: write it again with: %s", in.spec.command)
		}
		items := in.unfold(v.get("items"), 1)
		return items.each()
	case v.has("metadata"):
		return []*value{v}
	}
	in.fail(v.from, "there is no array \"items\" in this: it should be what %s prints", in.spec.command)
	return nil
}

// resourceOf returns the resource of an object's kind; nil, with a fault, if the object does not
// belong in the file.
func (in *input) resourceOf(v *value) *resource {
	said := v.said("kind")
	if r := servedAs(said); r != nil && r.file == in.spec.name {
		return r
	}
	switch {
	case said != "":
		in.fail(v.from, "this is a %s, which does not belong here: the file should hold what %s prints", said, in.spec.command)
		return nil
	case in.spec.name == fileWebhooks:
		in.fail(v.from, "this has no kind: the file should hold what %s prints", in.spec.command)
		return nil
	}
	at := slices.IndexFunc(served, func(r resource) bool { return r.file == in.spec.name })
	return &served[at]
}
