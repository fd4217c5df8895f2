package collect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// webhookConfiguration has the fields of webhook configurations of both kinds that are read.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
type webhookConfiguration struct {
	Kind     string    `json:"kind"`
	Metadata metadata  `json:"metadata"`
	Webhooks []webhook `json:"webhooks"`
}

type webhook struct {
	Name          string  `json:"name"`
	FailurePolicy *string `json:"failurePolicy"`
	Rules         []rule  `json:"rules"`
	ClientConfig  struct {
		Service *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
	} `json:"clientConfig"`
	NamespaceSelector json.RawMessage   `json:"namespaceSelector"`
	ObjectSelector    json.RawMessage   `json:"objectSelector"`
	MatchConditions   []json.RawMessage `json:"matchConditions"`
}

type rule struct {
	APIGroups  []string `json:"apiGroups"`
	Operations []string `json:"operations"`
	Resources  []string `json:"resources"`
	Scope      string   `json:"scope"`
}

// hooks are the webhooks of a configuration that concern nodes, and those that concern pods.
type hooks struct{ nodes, pods []evidence.Webhook }

// readWebhooks reads the admission webhooks that are called when a node is created or reports its
// status, and when a pod is created.
func (l *look) readWebhooks() {
	if len(l.needing(needWebhooks)) == 0 {
		return
	}
	all := items(l.topic(), kube.Webhooks(), hooksOf)
	some := func(of func(hooks) []evidence.Webhook) evidence.Fact[[]evidence.Webhook] {
		return evidence.Then(all, func(each []hooks) evidence.Fact[[]evidence.Webhook] {
			return evidence.Read(append([]evidence.Webhook{}, slices.Concat(roll.Map(each, of)...)...))
		})
	}
	l.ev.Cluster.Webhooks = some(func(h hooks) []evidence.Webhook { return h.nodes })
	l.podHooks = some(func(h hooks) []evidence.Webhook { return h.pods })
}

func hooksOf(c *webhookConfiguration) (out hooks) {
	add := func(to *[]evidence.Webhook, found evidence.Webhook, ok bool) {
		if ok {
			found.Configuration, found.Kind = c.Metadata.Name, c.Kind
			*to = append(*to, found)
		}
	}
	for _, w := range c.Webhooks {
		found, ok := nodesOnly(w)
		add(&out.nodes, found, ok)
		found, ok = podsOnly(w)
		add(&out.pods, found, ok)
	}
	return out
}

// nodesOnly reduces a webhook to its rules about nodes; false if it has none.
func nodesOnly(w webhook) (evidence.Webhook, bool) {
	found, ok := w.only(rule.nodes, selector{"objectSelector", w.ObjectSelector})
	names, others := w.namespaces()
	found.Leases = slices.ContainsFunc(w.Rules, rule.renewals) && evidence.Webhook{Namespaces: names}.MayAskIn(kube.NamespaceNodeLease)
	found.LeasesIf = others
	return found, ok
}

// podsOnly reduces a webhook to its rules about new pods; false if it has none.
func podsOnly(w webhook) (evidence.Webhook, bool) {
	names, others := w.namespaces()
	selectors := []selector{{"objectSelector", w.ObjectSelector}}
	if others {
		selectors = append(selectors, selector{"namespaceSelector", w.NamespaceSelector})
	}
	found, ok := w.only(rule.pods, selectors...)
	found.Namespaces = names
	return found, ok
}

// selector is one of a webhook's selectors. The API server always sets it, so a missing one was
// taken out.
type selector struct {
	name string
	text json.RawMessage
}

// only reduces a webhook to the given resources of its rules, which its selectors may narrow; false
// if there are none.
func (w webhook) only(of func(rule) []string, selectors ...selector) (evidence.Webhook, bool) {
	out := evidence.Webhook{Name: w.Name, FailurePolicy: "Fail", Selective: len(w.MatchConditions) > 0}
	for _, s := range selectors {
		if len(s.text) == 0 {
			out.Lacks = s.name
		}
		out.Selective = out.Selective || selects(s.text)
	}
	if w.FailurePolicy != nil {
		out.FailurePolicy = *w.FailurePolicy
	}
	for _, r := range w.Rules {
		if resources := of(r); len(resources) > 0 {
			out.Resources = distinct(append(out.Resources, resources...))
			out.Operations = distinct(append(out.Operations, r.Operations...))
		}
	}
	if s := w.ClientConfig.Service; s != nil {
		out.Namespace, out.Service = s.Namespace, s.Name
	} else {
		out.Endpoints = evidence.Skipped[int]("it is called by URL, not through a service")
	}
	return out, len(out.Resources) > 0
}

// namespaces returns what the namespace selector requires of a namespace's name, and whether it
// requires anything else, or may, since it is missing.
func (w webhook) namespaces() (names []evidence.Requirement, others bool) {
	var s labelSelector
	if len(w.NamespaceSelector) == 0 || json.Unmarshal(w.NamespaceSelector, &s) != nil {
		return nil, true
	}
	for key, value := range s.MatchLabels {
		s.MatchExpressions = append(s.MatchExpressions, evidence.Requirement{Key: key, Operator: "In", Values: []string{value}})
	}
	for _, r := range s.MatchExpressions {
		if r.Key == labelNamespace {
			names = append(names, r)
		}
	}
	return names, len(names) < len(s.MatchExpressions)
}

// labelNamespace is the label that the API server sets to a namespace's name.
// https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name
const labelNamespace = "kubernetes.io/metadata.name"

// labelSelector is a label selector.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements
type labelSelector struct {
	MatchLabels      map[string]string      `json:"matchLabels"`
	MatchExpressions []evidence.Requirement `json:"matchExpressions"`
}

// selects reports whether a selector excludes objects, or may, since it is missing. A namespace
// selector excludes no node, since nodes have no namespace.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-namespaceselector
func selects(selector json.RawMessage) bool {
	var s labelSelector
	if len(selector) == 0 {
		return true
	}
	return json.Unmarshal(selector, &s) != nil || len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// about reports whether the rule is about one of the operations on objects of the API group.
func (r rule) about(group string, operations ...string) bool {
	return lists(r.APIGroups, group) && lists(r.Operations, operations...)
}

// lists reports whether a list of a rule has one of the names, or a star for all.
func lists(all []string, wanted ...string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return s == "*" || slices.Contains(wanted, s) })
}

// renewals reports whether the rule is about the renewal of leases.
func (r rule) renewals() bool {
	return r.about("coordination.k8s.io", "UPDATE") && r.Scope != "Cluster" && lists(r.Resources, "leases", "*/*")
}

// nodes returns the resources of the rule that mean nodes or their status, as written, if the rule
// is about creating or changing them.
func (r rule) nodes() []string {
	if !r.about("", "CREATE", "UPDATE") || r.Scope == "Namespaced" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Resources), func(s string) bool {
		name, sub, _ := strings.Cut(s, "/")
		return name != "nodes" && name != "*" || sub != "" && sub != "status" && sub != "*"
	})
}

// pods returns the resources of the rule that mean pods, as written, if the rule is about creating
// them.
func (r rule) pods() []string {
	if !r.about("", "CREATE") || r.Scope == "Cluster" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Resources), func(s string) bool { return s != "pods" && s != "*" && s != "*/*" })
}

type service struct{ namespace, name string }

// readServices counts the ready addresses of the services behind the webhooks, each once: those
// that concern nodes, and those that concern pods if a node waits for its network plugin and has no
// pod of one.
func (l *look) readServices() {
	t, known := l.topic(), map[service]evidence.Fact[int]{}
	l.serve(t, known, l.ev.Cluster.Webhooks.Value)
	if slices.ContainsFunc(l.needing(needPlugin), func(f *roll.Finding) bool { return l.nodeOf(f.Node).Starved() }) {
		l.serve(t, known, l.podHooks.Value)
		l.ev.Cluster.PodWebhooks = l.podHooks
	}
}

// serve sets the ready addresses of each webhook's service. A webhook whose failures are ignored
// blocks nothing.
func (l *look) serve(t *topic, known map[service]evidence.Fact[int], hooks []evidence.Webhook) {
	for i := range hooks {
		w := &hooks[i]
		s := service{w.Namespace, w.Service}
		_, asked := known[s]
		switch {
		case w.Service == "" || w.Namespace == "":
			continue
		case w.FailurePolicy != "Fail":
			w.Endpoints = evidence.Skipped[int]("its failure policy is " + w.FailurePolicy)
			continue
		case !asked && len(known) >= l.most(servicesTotal):
			w.Endpoints = evidence.Skipped[int](fmt.Sprintf("the services of %d webhooks are read per check", servicesTotal))
			continue
		case !asked:
			known[s] = l.endpointsOf(t, s.namespace, s.name)
		}
		w.Endpoints = known[s]
	}
}

// sliceJSON has the fields of an EndpointSlice that are read.
// https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
type sliceJSON struct {
	Endpoints []struct {
		Addresses  []string `json:"addresses"`
		Conditions struct {
			Ready *bool `json:"ready"` // nil means true
		} `json:"conditions"`
	} `json:"endpoints"`
}

func (l *look) endpointsOf(t *topic, namespace, name string) evidence.Fact[int] {
	ready := items(t, kube.EndpointSlicesOf(namespace, name), func(s *sliceJSON) int {
		n := 0
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				n += len(e.Addresses)
			}
		}
		return n
	})
	return evidence.Then(ready, func(all []int) evidence.Fact[int] {
		total := 0
		for _, n := range all {
			total += n
		}
		return evidence.Read(total)
	})
}
