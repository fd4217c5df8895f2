package fleet

import (
	"fmt"
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// webhooks asks whether an admission webhook that nobody answers must approve what a
// node needs: to be created, to be relabelled when it is ready for work, or to report
// its status.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy
func webhooks(c *evidence.Case, s *cause.Sheet) {
	needs := map[roll.Kind]struct{ resource, operation, what string }{
		roll.Unregistered:  {"nodes", "CREATE", "so no node can register"},
		roll.Uninitialized: {"nodes", "UPDATE", "so no startup taint can be taken off a node"},
		roll.NotReady:      {"nodes/status", "UPDATE", "so no node can report that it is ready"},
	}
	need, ok := needs[c.Finding.Kind]
	if !ok {
		return
	}
	fact := c.Cluster.Webhooks
	if !fact.Settled() {
		s.NotChecked(fact.Gap(), cause.AdmissionWebhookBlocks)
		return
	}
	for _, w := range fact.Value {
		if w.FailurePolicy != "Fail" || w.Service == "" || !matches(w.Resources, need.resource) || !slices.Contains(w.Operations, need.operation) && !slices.Contains(w.Operations, "*") {
			continue
		}
		switch {
		case !w.Endpoints.Settled():
			s.NotChecked(w.Endpoints.Gap(), cause.AdmissionWebhookBlocks)
		case w.Endpoints.Value == 0:
			s.Found(blocks(c, w, need.what))
		}
	}
	s.RuledOut(cause.AdmissionWebhookBlocks) // unless one of them was found or could not be checked
}

// matches reports whether a rule's resources hold the one: by name, or by a star for all
// resources, all subresources, or both.
func matches(rules []string, resource string) bool {
	return slices.ContainsFunc(rules, func(r string) bool {
		switch r {
		case resource, "*/*":
			return true
		case "*":
			return resource == "nodes"
		case "nodes/*":
			return resource != "nodes"
		}
		return r == "*/status" && resource == "nodes/status"
	})
}

func blocks(c *evidence.Case, w evidence.Webhook, what string) roll.Cause {
	confidence, perhaps := roll.Decisive, ""
	if w.Selective {
		confidence, perhaps = roll.Suggestive, " if its selectors match"
	}
	return roll.Cause{
		Code: cause.AdmissionWebhookBlocks, Confidence: confidence, Subject: "webhook/" + w.Configuration + "/" + w.Name,
		Summary: fmt.Sprintf("the webhook %s (%s) must approve nodes of %s%s and its service %s/%s has no endpoints, %s", w.Name, w.Configuration, c.ClusterID.Name, perhaps, w.Namespace, w.Service, what),
		Evidence: []roll.Evidence{
			{Source: w.Kind, Field: w.Configuration + ".webhooks." + w.Name + ".failurePolicy", Observed: w.FailurePolicy, Expected: "Ignore, or a service that answers"},
			{Source: "endpoint slices", Field: w.Namespace + "/" + w.Service, Observed: "0 ready", Expected: "at least 1"},
		},
		Fix: fmt.Sprintf("kubectl -n %[1]s get endpointslices -l kubernetes.io/service-name=%[2]s\nkubectl -n %[1]s get pods   # bring the webhook's pods back\n"+
			"kubectl delete %[3]s %[4]s   # or, if they need a node to run on, remove it until they run: what it checks is then not checked", w.Namespace, w.Service, kubectlKind(w.Kind), w.Configuration),
	}
}

func kubectlKind(kind string) string {
	if kind == "MutatingWebhookConfiguration" {
		return "mutatingwebhookconfiguration"
	}
	return "validatingwebhookconfiguration"
}
