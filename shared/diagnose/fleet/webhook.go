package fleet

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

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

// needs are what a kind of finding must do and a webhook may refuse: create a node, relabel
// it when it is ready for work, or report its status.
var needs = map[roll.Kind]struct{ resource, operation, what string }{
	roll.Unregistered:  {"nodes", "CREATE", "so no node can register"},
	roll.Uninitialized: {"nodes", "UPDATE", "so no startup taint can be taken off a node"},
	roll.NotReady:      {"nodes/status", "UPDATE", "so no node can report that it is ready"},
}

// webhooks looks for an admission webhook without endpoints that must approve what a node
// needs.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy
func (l *look) webhooks() {
	need, ok := needs[l.Finding.Kind]
	if !ok {
		return
	}
	fact := l.Cluster.Webhooks
	if !fact.Settled() {
		l.NotChecked(fact.Gap(), cause.AdmissionWebhookBlocks)
		return
	}
	for _, w := range fact.Value {
		if w.FailurePolicy != "Fail" || w.Service == "" || !matches(w.Resources, need.resource) || !slices.Contains(w.Operations, need.operation) && !slices.Contains(w.Operations, "*") {
			continue
		}
		switch {
		case !w.Endpoints.Settled():
			l.NotChecked(w.Endpoints.Gap(), cause.AdmissionWebhookBlocks)
		case w.Endpoints.Value == 0:
			l.Note(cause.AdmissionWebhookBlocks, l.blocks(w, need.what))
		}
	}
	l.RuledOut(cause.AdmissionWebhookBlocks) // unless one of them was found or could not be checked
}

func (l *look) blocks(w evidence.Webhook, what string) cause.Verdict {
	perhaps := ""
	if w.Selective {
		perhaps = " if its selectors match"
	}
	return cause.DecisiveIf(!w.Selective).In("webhook/"+w.Configuration+"/"+w.Name).
		Says("the webhook %s (%s) must approve nodes of %s%s and its service %s/%s has no endpoints, %s", w.Name, w.Configuration, l.ClusterID.Name, perhaps, w.Namespace, w.Service, what).
		Saw(w.Kind, w.Configuration+".webhooks."+w.Name+".failurePolicy", w.FailurePolicy, "Ignore, or a service that answers").
		Saw("endpoint slices", w.Namespace+"/"+w.Service, "0 ready", "at least 1").
		Fix(fmt.Sprintf("kubectl -n %[1]s get endpointslices -l kubernetes.io/service-name=%[2]s\nkubectl -n %[1]s get pods   # bring the webhook's pods back\n"+
			"kubectl delete %[3]s %[4]s   # or, if they need a node to run on, remove it until they run: what it checks is then not checked", w.Namespace, w.Service, strings.ToLower(w.Kind), w.Configuration))
}
