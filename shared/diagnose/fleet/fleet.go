// Package fleet looks for causes in the cluster as a whole, in a zone, or in the instance's
// group.
//
// The package is pure.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Analyze notes what it finds about the cluster and the group of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	l := &look{cause.Look{Case: c, Sheet: s}}
	l.cluster()
	s.Note(cause.ZoneOutage, l.zone())
	s.Note(cause.OwnerGone, l.owner())
	if l.joins() {
		l.nodeGroup()
		s.Note(cause.ReplacementRepeats, l.repeats())
	}
	if l.joins() || c.Finding.Kind == roll.Flapping {
		s.Note(cause.LaunchTemplateDrift, l.drift())
	}
	l.webhooks()
}

// refusesNodes are the cluster health issues that alone keep nodes from joining: without the
// region's STS endpoint no token can be verified.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ClusterIssue.html
var refusesNodes = []string{"StsRegionalEndpointDisabled"}

// look is the state for one finding.
type look struct{ cause.Look }

// joins reports whether the finding is about an instance that does not become, or stay, a
// working node. What blocks that explains the finding.
func (l *look) joins() bool {
	switch l.Finding.Kind {
	case roll.Unregistered, roll.Uninitialized, roll.NotReady, roll.Unknown:
		return true
	}
	return false
}

// inCluster returns the subject of a cause that lies in the cluster.
func (l *look) inCluster() string { return "cluster/" + l.ClusterID.Name }

// cluster checks the cluster's own state.
func (l *look) cluster() {
	for _, g := range l.Gaps {
		if g.Scope != roll.ScopeNodes {
			continue // nodes were listed: the control plane answered, and one call failed
		}
		if g.Kind == roll.GapClusterUnreachable || g.Kind == roll.GapUnauthorized {
			l.Note(cause.ControlPlaneUnreachable, l.unreachable(g))
		}
	}
	switch config := l.Cluster.Config; {
	case config.Known():
		l.Note(cause.ClusterNotActive, l.notActive(config.Value.Status))
		l.Note(cause.ClusterUnhealthy, l.unhealthy(config.Value.Issues))
	case config.State != evidence.Absent:
		l.NotChecked(config.Gap(), cause.ClusterNotActive, cause.ClusterUnhealthy)
	}
}

func (l *look) notActive(status string) cause.Verdict {
	if status == roll.ClusterActive {
		return cause.RuledOut
	}
	name := l.ClusterID.Name
	v := cause.Decisive().In(l.inCluster()).Saw("EKS cluster", "status", status, roll.ClusterActive)
	if status == "DELETING" {
		return v.Says("cluster %s is being deleted: nothing joins it any more", name).
			Fix(l.AWS("ec2", "describe-instances", "--filters", "Name=tag-key,Values=kubernetes.io/cluster/"+name, "--query", "Reservations[].Instances[].[InstanceId,State.Name]", "--output", "table") + "   # what is left of it: delete the groups that own it")
	}
	return v.
		Says("cluster %s is %s: until it is ACTIVE nothing can be concluded about its nodes", name, status).
		Fix(paste.Format("aws eks list-updates --region %[1]s --name %[2]s\naws eks wait cluster-active --region %[1]s --name %[2]s", l.Region, name))
}

// unreachable returns a decisive cause unless EC2 or the tags show what is wrong.
func (l *look) unreachable(g roll.Gap) cause.Verdict {
	return cause.DecisiveIf(l.joins()).In(l.inCluster()).
		Says("the Kubernetes API of %s could not be read, so nothing can be concluded about its nodes", l.ClusterID.Name).
		Saw("Kubernetes API", g.Call, g.Detail, "an answer").
		Fix(paste.Format("aws eks describe-cluster --region %s --name %s --query 'cluster.{status:status,health:health,endpoint:endpoint,vpc:resourcesVpcConfig,access:accessConfig}'", l.Region, l.ClusterID.Name))
}

func (l *look) unhealthy(issues []roll.HealthIssue) cause.Verdict {
	if len(issues) == 0 {
		return cause.RuledOut
	}
	if !l.joins() {
		return cause.Verdict{}
	}
	codes := roll.Map(issues, func(issue roll.HealthIssue) string { return issue.Code })
	refuses := func(code string) bool { return slices.Contains(refusesNodes, code) }
	return cause.DecisiveIf(l.Finding.Kind == roll.Unregistered && slices.ContainsFunc(codes, refuses) && l.Joined() == "").In(l.inCluster()).
		Says("EKS reports health issues of cluster %s itself: %s", l.ClusterID.Name, strings.Join(codes, ", ")).
		Shows(health("EKS cluster", issues)...).
		Fix(paste.Format("aws eks describe-cluster --region %s --name %s --query cluster.health   # and correct what it names", l.Region, l.ClusterID.Name))
}

// health returns what EKS reports about a cluster or a node group.
func health(source string, issues []roll.HealthIssue) []roll.Evidence {
	var seen []roll.Evidence
	for i, issue := range issues {
		seen = append(seen, roll.Evidence{Source: source, Field: fmt.Sprintf("health.issues[%d]", i), Observed: issue.Code + ": " + issue.Message, Expected: "no issue"})
	}
	return seen
}

// A zone is down when this share and this number of its nodes went silent within this time of
// each other. The Kubernetes node lifecycle controller uses the same numbers to call a zone
// disrupted (--unhealthy-zone-threshold).
// https://kubernetes.io/docs/concepts/architecture/nodes/#node-eviction-rate-limits
const (
	outShare = 55 // percent
	outLeast = 3
	together = 10 * time.Minute
)

// out reports whether a zone's nodes went silent together.
func out(z evidence.Zone) bool {
	n := atOnce(z.Silent)
	return n >= outLeast && n*100 >= outShare*z.Nodes
}

// atOnce returns the largest number of times that lie together. The times are sorted.
func atOnce(times []time.Time) int {
	most, from := 0, 0
	for to := range times {
		for times[to].Sub(times[from]) > together {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// zone checks whether the finding is one of many in its zone while other zones are healthy. An
// instance that fails EC2's checks in a silent zone has the same trouble.
func (l *look) zone() cause.Verdict {
	if l.Finding.Kind != roll.Unknown && l.Finding.Kind != roll.Impaired || l.Finding.Zone == "" {
		return cause.Verdict{}
	}
	var own evidence.Zone
	others, well := 0, true
	for _, z := range l.Zones {
		if z.Zone == l.Finding.Zone {
			own = z
			continue
		}
		others += z.Nodes
		well = well && !out(z)
	}
	if l.Finding.Kind == roll.Unknown { // those that went silent at another time say nothing of this one
		own.Silent = slices.DeleteFunc(slices.Clone(own.Silent), func(t time.Time) bool { return t.Sub(l.Finding.Began).Abs() > together })
	}
	switch {
	case len(l.Zones) == 0:
		return cause.NotChecked("the nodes of the cluster were not counted by zone")
	case !out(own) || others == 0 || !well:
		return cause.RuledOut
	}
	zoneID := cmp.Or(l.Finding.ZoneID, "ID_OF_"+own.Zone)
	// A zone may have a subnet, a NAT gateway or a role of its own.
	of := func(c roll.Cause) bool {
		return c.Proven() && (cause.AboutAccess(c.Code) || cause.AboutNetwork(c.Code))
	}
	return cause.DecisiveIf(!slices.ContainsFunc(l.Causes(), of)).In("zone/"+own.Zone).
		Says("%d of %d nodes in zone %s went silent within %.0f min of each other, while the other zones are healthy: the zone failed, not its nodes", atOnce(own.Silent), own.Nodes, own.Zone, together.Minutes()).
		Saw("nodes", "Ready by zone", fmt.Sprintf("%d of %d of %s silent", len(own.Silent), own.Nodes, own.Zone), fmt.Sprintf("fewer than %d%%", outShare)).
		Fix(paste.Format("aws health describe-events --region us-east-1 --filter services=EC2,availabilityZones=%[1]s,eventStatusCodes=open   # needs a support plan; or look at the Health Dashboard\n"+
			"aws arc-zonal-shift start-zonal-shift --region %[2]s --resource-identifier %[3]s --away-from %[4]s --expires-in 2h --comment 'nodes silent'", own.Zone, l.Region, l.ClusterID.ARN(), zoneID))
}

// request is a request that a webhook may refuse, with its objects and what a refusal prevents.
type request struct{ resource, operation, objects, what string }

// needs maps a kind of finding to the request that it waits for: create a node, or relabel it when it
// is ready for work.
var needs = map[roll.Kind]request{
	roll.Unregistered:  {"nodes", "CREATE", "nodes", "so no node can register"},
	roll.Uninitialized: {"nodes", "UPDATE", "nodes", "so no startup taint can be taken off a node"},
}

// needsStatus is what a node that is not Ready waits for: that its kubelet reports its status.
var needsStatus = request{"nodes/status", "UPDATE", "nodes", "so no node can report that it is ready"}

// unreported reports whether a kubelet that runs has yet to report that its node is ready. gap is what was
// not read and would show it. The control plane keeps a node Unknown until then, although the kubelet
// renews its lease, which is another object.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/nodelifecycle/node_lifecycle_controller.go
func (l *look) unreported() (waits bool, gap string) {
	node := l.Node()
	switch l.Finding.Kind {
	case roll.NotReady:
		return true, ""
	case roll.Uninitialized:
		r, _ := node.Object.Value.Condition("Ready")
		return node.Object.Known() && r.Status != string(roll.ConditionTrue), ""
	case roll.Unknown:
		if !node.Lease.Settled() {
			return true, node.Lease.Missing("lease of node " + l.Finding.Node)
		}
		return node.Lease.Known() && node.Lease.Value.Fresh(l.At), ""
	}
	return false, ""
}

// needsReport is what a node waits for that is not heard, not even by its lease.
var needsReport = request{"nodes/status", "UPDATE", "the leases and the status of nodes", "so no kubelet can report"}

// unheard checks for a webhook without endpoints that must approve both the leases and the status of nodes,
// where none of several nodes is heard. One node may have taken down the pods of the webhook. What refuses
// the status alone has not silenced the node, and would keep it from being ready when it comes back.
//
//   - https://blog.jetstack.io/blog/gke-webhook-outage/
//   - https://github.com/open-policy-agent/gatekeeper/issues/3829
func (l *look) unheard() {
	nodes, silent := 0, 0
	for _, z := range l.Zones {
		nodes, silent = nodes+z.Nodes, silent+len(z.Silent)
	}
	fact, all, open := l.Cluster.Webhooks, nodes > 1 && silent == nodes, nodes == 0
	for _, w := range fact.Value {
		switch {
		case !w.MustApprove(needsReport.resource, needsReport.operation):
		case all && w.Leases:
			w.Selective = w.Selective || w.LeasesIf
			l.refused([]evidence.Webhook{w}, needsReport, true, "")
		default:
			open = open || w.Endpoints.Value == 0
		}
	}
	switch {
	case fact.Settled() && !open:
		l.RuledOut(cause.AdmissionWebhookBlocks) // unless one was found or could not be checked
	case !fact.Settled() && all:
		l.NotChecked(fact.Gap(), cause.AdmissionWebhookBlocks)
	}
}

// needsChange is what the cloud controller and some network plugins need before a node is ready. That
// the former waits for it shows in its taint.
var needsChange = request{"nodes", "UPDATE", "nodes", "so neither the cloud controller nor a network plugin can prepare a node"}

var needsPlugin = request{"pods", "CREATE", "new pods", "so the node gets no pod of a network plugin"}

// webhooks checks for an admission webhook without endpoints that must approve a node's
// request, or the pod of its network plugin.
func (l *look) webhooks() {
	need, changes := needs[l.Finding.Kind]
	reports, gap := l.unreported()
	if !changes && !reports {
		if l.Finding.Kind == roll.Unknown {
			l.unheard()
		}
		return
	}
	fact := l.Cluster.Webhooks
	if !fact.Settled() {
		if gap == "" { // it certainly waits for one of them
			l.NotChecked(fact.Gap(), cause.AdmissionWebhookBlocks)
		}
		return
	}
	if changes {
		l.refused(fact.Value, need, true, "")
	}
	if reports {
		l.refused(fact.Value, needsStatus, gap == "", gap)
	}
	if l.Finding.Kind != roll.Unknown {
		l.prepared(fact.Value)
	}
	l.RuledOut(cause.AdmissionWebhookBlocks) // unless one of them was found or could not be checked
}

// prepared checks for a webhook that must approve what makes a node ready, beside its own report.
func (l *look) prepared(hooks []evidence.Webhook) {
	n := l.Node().Object.Value
	if waits := n.Tainted(evidence.TaintCloud); waits || n.AwaitsNetwork() {
		l.refused(hooks, needsChange, waits, "")
	}
	if l.Finding.Kind != roll.Unregistered {
		l.starved()
	}
}

// starved checks for an admission webhook without endpoints that must approve new pods, where a
// node has no pod of a network plugin. DaemonSets are no exception.
// https://github.com/kubernetes-sigs/windows-gmsa/issues/113
func (l *look) starved() {
	object, pods, hooks := l.Node().Object, l.Node().Pods, l.Cluster.PodWebhooks
	switch gap := l.Unexplained(); {
	case !object.Known():
		l.Note(cause.AdmissionWebhookBlocks, l.NoNode())
		return
	case gap != "":
		l.NotChecked(gap, cause.AdmissionWebhookBlocks)
		return
	case !l.Node().Starved():
		return
	case !pods.Settled():
		l.Note(cause.AdmissionWebhookBlocks, cause.Missing(pods, "pods of node "+object.Value.Name))
		return
	case !hooks.Settled():
		l.NotChecked(hooks.Gap(), cause.AdmissionWebhookBlocks)
		return
	}
	for _, w := range hooks.Value {
		if may, sure := l.asksForPlugin(w); may {
			gap := ""
			if !sure {
				gap = l.Cluster.DaemonSets.Gap()
			}
			l.refused([]evidence.Webhook{w}, needsPlugin, sure, gap)
		}
	}
}

// asksForPlugin reports whether a webhook may be asked about the pod of a network plugin, by the
// namespaces of the DaemonSets that are one, and whether it certainly is. Where these are not known,
// the plugin is taken for EKS's own, in kube-system.
func (l *look) asksForPlugin(w evidence.Webhook) (may, sure bool) {
	var spaces []string
	for _, d := range l.Cluster.DaemonSets.Value {
		if evidence.IsNetworkPlugin(d.Name) {
			spaces = append(spaces, d.Namespace)
		}
	}
	sure = len(spaces) > 0 || len(w.Namespaces) == 0
	if len(spaces) == 0 {
		spaces = []string{"kube-system"}
	}
	for _, s := range spaces {
		may, sure = may || w.MayAskIn(s), sure && w.MayAskIn(s)
	}
	return may, sure
}

// refused checks for a webhook that must approve the request and has no endpoints. sure reports
// whether the finding certainly waits for the request; if not, gap is what was not read and would show
// it, "" if nothing would.
func (l *look) refused(hooks []evidence.Webhook, r request, sure bool, gap string) {
	for _, w := range hooks {
		switch {
		case !w.MustApprove(r.resource, r.operation):
		case !w.Endpoints.Settled():
			l.NotChecked(w.Endpoints.Gap(), cause.AdmissionWebhookBlocks)
		case w.Endpoints.Value == 0:
			l.Note(cause.AdmissionWebhookBlocks, l.blocks(w, r, sure, gap))
		}
	}
}

func (l *look) blocks(w evidence.Webhook, r request, sure bool, gap string) cause.Verdict {
	perhaps := ""
	if w.Selective || !sure && len(w.Namespaces) > 0 {
		perhaps = " if its selectors match"
	}
	if w.Lacks != "" {
		gap = evidence.AnswerOf + "the Kubernetes API about webhook " + w.Name + " lacks its " + w.Lacks
	}
	v := cause.DecisiveIf(sure && !w.Selective && l.Joined() == "").Unsettled(gap)
	if id := l.Joined(); id != "" {
		v.Saw("instance "+string(id), "its node", "joined since then, and is healthy", "no node that passes the webhook")
	}
	return v.In("webhook/"+w.Configuration+"/"+w.Name).
		Says("the webhook %s (%s) must approve %s of %s%s and its service %s/%s has no endpoints, %s", w.Name, w.Configuration, r.objects, l.ClusterID.Name, perhaps, w.Namespace, w.Service, r.what).
		Saw(w.Kind, w.Configuration+".webhooks."+w.Name+".failurePolicy", w.FailurePolicy, "Ignore, or a service that answers").
		Saw("endpoint slices", w.Namespace+"/"+w.Service, "0 ready", "at least 1").
		Fix(paste.Format("kubectl -n %[1]s get endpointslices -l kubernetes.io/service-name=%[2]s\nkubectl -n %[1]s get pods   # bring those of the webhook back", w.Namespace, w.Service),
			paste.If("or, if they need a node to run on, remove it until they run (what it checks is then not checked)", paste.Kubectl("delete", strings.ToLower(w.Kind), w.Configuration)))
}
