package collect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
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
	ObjectSelector  json.RawMessage   `json:"objectSelector"`
	MatchConditions []json.RawMessage `json:"matchConditions"`
}

type rule struct {
	APIGroups  []string `json:"apiGroups"`
	Operations []string `json:"operations"`
	Resources  []string `json:"resources"`
	Scope      string   `json:"scope"`
}

// readWebhooks reads the admission webhooks that are called when a node is created or reports its
// status.
func (l *look) readWebhooks() {
	if len(l.needing(needWebhooks)) == 0 {
		return
	}
	l.ev.Cluster.Webhooks = evidence.Then(items(l.kube.topic(), kube.Webhooks(), webhooksOfNodes), func(each [][]evidence.Webhook) evidence.Fact[[]evidence.Webhook] {
		return evidence.Read(append([]evidence.Webhook{}, slices.Concat(each...)...))
	})
}

func webhooksOfNodes(c *webhookConfiguration) (out []evidence.Webhook) {
	for _, w := range c.Webhooks {
		if found, ok := nodesOnly(w); ok {
			found.Configuration, found.Kind = c.Metadata.Name, c.Kind
			out = append(out, found)
		}
	}
	return out
}

// nodesOnly reduces a webhook to its rules about nodes; false if it has none.
func nodesOnly(w webhook) (evidence.Webhook, bool) {
	out := evidence.Webhook{Name: w.Name, FailurePolicy: "Fail", Selective: selects(w.ObjectSelector) || len(w.MatchConditions) > 0}
	if w.FailurePolicy != nil {
		out.FailurePolicy = *w.FailurePolicy
	}
	for _, r := range w.Rules {
		if resources := r.nodes(); len(resources) > 0 {
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

// selects reports whether a selector excludes objects. A namespace selector excludes no node, since
// nodes have no namespace.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-namespaceselector
func selects(selector json.RawMessage) bool {
	var s struct {
		MatchLabels      map[string]string `json:"matchLabels"`
		MatchExpressions []json.RawMessage `json:"matchExpressions"`
	}
	if len(selector) == 0 {
		return false
	}
	return json.Unmarshal(selector, &s) != nil || len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// nodes returns the resources of the rule that mean nodes or their status, as written, if the rule
// is about creating or changing them.
func (r rule) nodes() []string {
	named := func(all []string, wanted ...string) bool {
		return slices.ContainsFunc(all, func(s string) bool { return slices.Contains(wanted, s) })
	}
	if !named(r.APIGroups, "", "*") || !named(r.Operations, "CREATE", "UPDATE", "*") || r.Scope == "Namespaced" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Resources), func(s string) bool {
		name, sub, _ := strings.Cut(s, "/")
		return name != "nodes" && name != "*" || sub != "" && sub != "status" && sub != "*"
	})
}

// readServices counts the ready addresses of the services behind the webhooks, each once. A webhook
// whose failures are ignored blocks nothing.
func (l *look) readServices() {
	type service struct{ namespace, name string }
	t := l.kube.topic()
	known := map[service]evidence.Fact[int]{}
	hooks := l.ev.Cluster.Webhooks.Value
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
