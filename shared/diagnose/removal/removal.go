// Package removal looks for what blocks the deletion of a Node or NodeClaim: pods that cannot
// be drained, volumes that stay attached, an instance that does not terminate, and finalizers
// whose owner does nothing. It also names why a volume or network interface outlived its
// instance.
//
// Karpenter drains the Node, waits for its volumes, terminates the instance, then removes its
// finalizer from the Node and then from the NodeClaim:
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/node/termination/controller.go
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/controller.go
//
// The package is pure.
package removal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

const (
	karpenters = "karpenter.sh/termination"
	// recent is the maximum age of an event that counts as current. Karpenter reports every few
	// minutes what it waits for.
	recent = 15 * time.Minute

	drained         = "Drained"
	volumesDetached = "VolumesDetached"
	drainFailed     = "FailedDraining"
	awaitsVolumes   = "AwaitingVolumeDetachment"
	graceEnds       = "TerminationGracePeriodExpiring"
)

// Analyze notes what it finds about the case's deletion.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Kind != roll.Stuck {
		return
	}
	l := &look{Look: cause.Look{Case: c, Sheet: s}, claim: c.NodeClaim()}
	if _, ok := c.Finding.Instance.Leftover(); ok {
		l.left()
		return
	}
	s.Note(cause.FinalizerHeld, l.foreign())
	if !slices.Contains(roll.Finalizers(c.Finding.Removal.NodeFinalizers), karpenters) && !slices.Contains(roll.Finalizers(c.Finding.Removal.ClaimFinalizers), karpenters) {
		s.RuledOut(cause.DrainBlocked, cause.VolumesAttached, cause.InstanceNotTerminating, cause.FinalizerOwnerGone)
		return
	}
	s.Note(cause.DrainBlocked, l.drain())
	s.Note(cause.VolumesAttached, l.volumes())
	s.Note(cause.InstanceNotTerminating, l.instance())
	s.Note(cause.FinalizerOwnerGone, l.owner())
}

// look is the state for one finding.
type look struct {
	cause.Look
	claim evidence.Fact[evidence.NodeClaim]
}

// object returns the object with its kind, as kubectl takes it.
func (l *look) object() string {
	kind, name := l.named()
	return kind + " " + name
}

func (l *look) named() (kind, name string) {
	if r := l.Finding.Removal; r.Claim != "" {
		return "nodeclaim", r.Claim
	}
	return "node", l.Finding.Node
}

// passed reports whether Karpenter has finished a step: its condition is present and not
// Unknown. False means that the grace period ended first.
func (l *look) passed(step string) bool {
	c, ok := l.claim.Value.Condition(step)
	return ok && c.Status != "Unknown"
}

// nodeless returns why the Node of a registered NodeClaim is not known, "" if it is, or if there is
// none.
func (l *look) nodeless() string {
	if l.Finding.Node != "" || !l.reached("Registered") {
		return ""
	}
	return l.nameless()
}

// nameless returns why the instance of a NodeClaim is not known, "" if it is, or if none was launched.
// Karpenter records the provider id of each instance that it launches.
func (l *look) nameless() string {
	r := l.Finding.Removal
	if r.Machine != "" || !l.reached("Launched") && !l.reached("Registered") {
		return ""
	}
	return evidence.AnswerOf + "the Kubernetes API about NodeClaim " + r.Claim + " lacks its provider id"
}

// reached reports whether a condition of the NodeClaim is True.
func (l *look) reached(step string) bool {
	c, _ := l.claim.Value.Condition(step)
	return c.Status == "True"
}

// told returns the latest recent event with the reason.
func (l *look) told(reason string) (evidence.Event, bool) {
	for _, e := range slices.Backward(l.Node().Events.Value) {
		if e.Reason == reason && l.At.Sub(e.Last) <= recent {
			return e, true
		}
	}
	return evidence.Event{}, false
}

// at returns the evidence that Karpenter is at the step, which has not passed: its condition or its event.
func (l *look) at(step, reason string) (seen []roll.Evidence) {
	if c, ok := l.claim.Value.Condition(step); ok {
		seen = append(seen, roll.Evidence{Source: "NodeClaim", Field: "status.conditions[" + step + "]", Observed: fmt.Sprintf("Unknown (%s) since %s", c.Reason, roll.Clock(c.Since)), Expected: "True"})
	}
	if e, ok := l.told(reason); ok {
		seen = append(seen, roll.Evidence{Source: "event of the node", Field: e.Reason, Observed: e.Message, Expected: "no such event for " + fmt.Sprint(recent)})
	}
	return seen
}

// owners maps a finalizer, or the domain before its slash, to its owner.
var owners = map[string]string{
	"foregroundDeletion": "Kubernetes' garbage collector: it waits for dependents with blockOwnerDeletion",
	"orphan":             "Kubernetes' garbage collector: it releases dependents first",
	"wrangler.cattle.io": "Rancher", "controller.cattle.io": "Rancher",
	"cluster.x-k8s.io": "Cluster API", "longhorn.io": "Longhorn",
}

// ownerOf returns the owner of the finalizer, as far as its name says.
func ownerOf(finalizer string) string {
	domain, _, _ := strings.Cut(finalizer, "/")
	for known, name := range owners {
		if domain == known || strings.HasSuffix(domain, "."+known) {
			return name
		}
	}
	return "the controller of " + domain
}

// others returns the finalizers of a field of a Removal that are not Karpenter's.
func others(text string) []string {
	return slices.DeleteFunc(roll.Finalizers(text), func(f string) bool { return f == karpenters })
}

// foreign checks for finalizers that are not Karpenter's. Nothing else shows what they wait
// for.
func (l *look) foreign() cause.Verdict {
	r := l.Finding.Removal
	var names, whose []string
	v := cause.Decisive()
	for _, o := range []struct{ kind, finalizers string }{{"NodeClaim", r.ClaimFinalizers}, {"Node", r.NodeFinalizers}} {
		for _, f := range others(o.finalizers) {
			names, whose = append(names, f), append(whose, ownerOf(f))
			v.Saw(o.kind, "metadata.finalizers", f, "removed by "+ownerOf(f))
		}
	}
	if len(names) == 0 {
		return cause.RuledOut
	}
	names, whose = slices.Compact(names), slices.Compact(whose)
	kind, name := l.named()
	return v.Says("%s keeps the object until its owner removes it: %s", strings.Join(names, ", "), strings.Join(whose, ", ")).
		Fix(paste.Format("kubectl get %s %s -o jsonpath='{.metadata.finalizers}'\nkubectl get deployments --all-namespaces   # does the controller that owns %s run? Removing a finalizer by hand skips what it is to clean up", kind, name, names[0]))
}

// drain checks whether pods block the Node's deletion.
func (l *look) drain() cause.Verdict {
	switch gap := l.nodeless(); {
	case l.passed(drained):
		return cause.RuledOut
	case gap != "":
		return cause.NotChecked(gap)
	case l.Finding.Node == "":
		return cause.RuledOut
	}
	node := l.Node()
	waits, pods := l.at(drained, drainFailed), node.Pods
	why, left := l.kept()
	if e, _ := l.told(drainFailed); strings.Contains(e.Message, "PDB") && len(why) == 0 {
		why = append(why, roll.Evidence{Source: "event of the node", Field: e.Reason, Observed: e.Message, Expected: "no such event"})
	}
	switch {
	case !pods.Known() && len(waits) == 0:
		return cause.Missing(pods, "the pods of node "+l.Finding.Node)
	case pods.Known() && left == 0:
		return cause.RuledOut
	case len(why) > 0: // decisive if Karpenter itself reports that it waits for them
		return l.drainBlocked(fmt.Sprintf("the drain of node %s cannot end: %s", l.Finding.Node, why[0].Observed)).Shows(waits...).Shows(why...).DecisiveIf(len(waits) > 0)
	case !pods.Known():
		return l.drainBlocked("Karpenter waits for the pods of node " + l.Finding.Node + " to be drained").Shows(waits...)
	case !node.Budgets.Settled():
		return cause.Missing(node.Budgets, "disruption budgets")
	case len(waits) > 0:
		return l.drainBlocked(fmt.Sprintf("Karpenter waits for %d %s of node %s, which no disruption budget or annotation keeps", left, roll.Plural(left, "pod", "pods"), l.Finding.Node)).Shows(waits...)
	}
	return cause.Verdict{}
}

// drainBlocked returns the cause that pods keep the node from being drained. Its fix names no grace period: that of a NodeClaim
// cannot be changed, and that of its NodePool is one of the fields that make nodes drift.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.9.0/pkg/apis/v1/nodeclaim.go
// https://github.com/kubernetes-sigs/karpenter/blob/v1.9.0/pkg/apis/v1/nodepool.go
func (l *look) drainBlocked(summary string) cause.Verdict {
	v := cause.Suggestive().Says("%s", summary).Fix(paste.Format("kubectl get pods --all-namespaces --field-selector spec.nodeName=%s\nkubectl get poddisruptionbudgets --all-namespaces   # raise the replicas, or let the budget allow a disruption, or take the annotation away, or delete the pod", l.Finding.Node),
		"# terminationGracePeriod in the NodePool only bounds the drains of later nodes, and once it changes Karpenter replaces all nodes of the NodePool (drift)")
	if e, ok := l.told(graceEnds); ok {
		v.Also("; Karpenter says: "+e.Message).Saw("event of the node", e.Reason, e.Message, "a drain that ends before")
	}
	return v
}

// kept returns what keeps pods from being evicted, and how many the drain waits for. It does not
// wait for pods that tolerate its taint, nor for those that are Terminating beyond their grace
// period.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/utils/pod/scheduling.go
func (l *look) kept() (why []roll.Evidence, left int) {
	waiting := map[string]evidence.Pod{}
	for _, p := range l.Node().Pods.Value {
		name := p.Namespace + "/" + p.Name
		switch {
		case !p.Evictable(), !p.Deleting.IsZero() && !p.Deleting.After(l.At):
			continue
		case !p.Deleting.IsZero():
			left++
			why = append(why, roll.Evidence{Source: "pod " + name, Field: "metadata.deletionTimestamp", Observed: fmt.Sprintf("pod %s is Terminating, and its grace period lasts until %s", name, roll.Clock(p.Deleting)), Expected: "a pod that ends"})
			continue
		}
		left++
		waiting[name] = p
		if l.notToDisrupt(p) {
			why = append(why, roll.Evidence{Source: "pod " + name, Field: "metadata.annotations", Observed: fmt.Sprintf("pod %s is annotated %s", name, p.NotToDisrupt), Expected: "no such annotation"})
		}
	}
	return append(why, l.budgeted(waiting)...), left
}

// notToDisrupt reports whether the pod's annotation makes Karpenter wait: its value is true, or a
// duration since the start of the pod that is not over.
// https://karpenter.sh/docs/concepts/disruption/#pod-level-controls
func (l *look) notToDisrupt(p evidence.Pod) bool {
	_, value, _ := strings.Cut(p.NotToDisrupt, "=")
	if d, err := time.ParseDuration(value); err == nil && !p.Started.IsZero() {
		return l.At.Sub(p.Started) < d
	}
	return p.NotToDisrupt != ""
}

// budgeted returns the budgets that keep pods from being evicted. A pod may have one budget. A pod
// that is Pending may always be evicted, and one that is not Ready while enough others are healthy.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/core/pod/storage/eviction.go
func (l *look) budgeted(waiting map[string]evidence.Pod) (why []roll.Evidence) {
	of := map[string][]string{} // the budgets of each pod
	for _, b := range l.Node().Budgets.Value {
		var covers []string
		for _, name := range b.Pods {
			p, ok := waiting[name]
			if !ok || p.Phase == "Pending" {
				continue
			}
			if !b.Unknown {
				of[name] = append(of[name], b.Name)
			}
			if p.Ready || !b.AlwaysAllow && (b.Healthy < b.Desired || b.Desired == 0) {
				covers = append(covers, name)
			}
		}
		if len(covers) == 0 || !b.Unknown && b.Healthy > b.Desired {
			continue
		}
		allows := fmt.Sprintf("%d healthy of %d that it needs", b.Healthy, b.Desired)
		if b.Unknown {
			allows = "its status is not up to date"
		}
		why = append(why, roll.Evidence{Source: "PodDisruptionBudget " + b.Name, Field: "status", Observed: fmt.Sprintf("PodDisruptionBudget %s allows no disruption of %s (%s)", b.Name, strings.Join(covers[:min(len(covers), 3)], ", "), allows), Expected: "more healthy pods than it needs"})
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if len(of[name]) > 1 {
			why = append(why, roll.Evidence{Source: "pod " + name, Field: "PodDisruptionBudgets", Observed: fmt.Sprintf("pod %s is covered by several PodDisruptionBudgets (%s), and such a pod cannot be evicted", name, strings.Join(of[name], ", ")), Expected: "one budget"})
		}
	}
	return why
}

// volumes checks whether Karpenter waits for volumes.
func (l *look) volumes() cause.Verdict {
	object, waits := l.Node().Object, l.at(volumesDetached, awaitsVolumes)
	attached := strings.Join(object.Value.Attached, ", ")
	switch gap := l.nodeless(); {
	case l.passed(volumesDetached):
		return cause.RuledOut
	case gap != "":
		return cause.NotChecked(gap)
	case l.Finding.Node == "":
		return cause.RuledOut
	case !object.Known():
		return l.NoNode()
	case len(waits) == 0 && attached == "":
		return cause.RuledOut
	case len(waits) == 0:
		return cause.NotChecked("Karpenter does not report yet that it waits for the volumes: the drain comes first")
	}
	v := cause.Decisive().Shows(waits...)
	if attached != "" {
		v.Saw("Node", "status.volumesAttached", attached, "none of pods that were drained")
	}
	for _, p := range l.Node().Pods.Value {
		if !p.Deleting.IsZero() && p.Deleting.Before(l.At.Add(-recent)) {
			v.Saw("pod "+p.Namespace+"/"+p.Name, "metadata.deletionTimestamp", fmt.Sprintf("Terminating, and its grace period ended at %s", roll.Clock(p.Deleting)), "a pod that is gone, so that its volumes can be detached")
		}
	}
	return v.Says("Karpenter waits for the VolumeAttachments of node %s to be deleted (%s)", l.Finding.Node, cmp.Or(attached, "the node lists none")).
		Fix(paste.Format("kubectl get volumeattachments | grep %s\nkubectl -n kube-system logs deployment/ebs-csi-controller -c csi-attacher --tail=100   # why it does not detach them", l.Finding.Node))
}

// instance checks whether Karpenter waits for EC2 to terminate the instance.
func (l *look) instance() cause.Verdict {
	r := l.Finding.Removal
	switch gap := l.nameless(); {
	case gap != "":
		return cause.NotChecked(gap)
	case r.Machine == "" || l.gone():
		return cause.RuledOut
	case r.State == "":
		return cause.NotChecked(fmt.Sprintf("EC2 was not read, or does not show %s", r.Machine))
	case l.Finding.Node != "" && !l.passed(volumesDetached): // the last step before it
		return cause.NotChecked("the drain and the volumes come first")
	}
	shift := l.shift()
	return cause.Decisive().
		Says("nothing is left to wait for but the termination of instance %s, and EC2 says that it is %s%s", r.Machine, r.State, shift.text).
		Saw("instance", "State", string(r.State), string(roll.StateTerminated)).Shows(shift.seen...).
		Fix(shift.fix, paste.Format("aws ec2 describe-instance-attribute --region %s --instance-id %s --attribute disableApiTermination", l.Region, string(r.Machine)), l.answered(r.Machine))
}

// shift is an active zonal shift away from the zone of the instance; zero if there is none.
type shift struct {
	text string // the end of a sentence
	seen []roll.Evidence
	fix  string
}

// shift returns the zonal shift away from the zone of the instance. A Karpenter that handles zonal shifts neither reads
// from EC2 the instances of such a zone nor terminates any. Whether this one does is a setting of its own.
// https://github.com/aws/karpenter-provider-aws/blob/v1.13.0/pkg/providers/instance/instance.go (Get, Delete)
func (l *look) shift() shift {
	zone := cmp.Or(l.Finding.ZoneID, l.claim.Value.Labels["topology.k8s.aws/zone-id"])
	if len(l.Shifts) == 0 || zone != "" && !slices.Contains(l.Shifts, zone) {
		return shift{}
	}
	return shift{
		text: ". ARC shifts the cluster away from its zone: with ENABLE_ZONAL_SHIFT, Karpenter terminates nothing there and sees no instance end until the shift is over",
		seen: []roll.Evidence{{Source: "ARC", Field: "zonal shift", Observed: "away from " + strings.Join(l.Shifts, ", "), Expected: "none from the zone of the instance"}},
		fix:  paste.Format("aws arc-zonal-shift get-managed-resource --region %s --resource-identifier %s   # until when is the cluster shifted away from the zone?", l.Region, l.ClusterID.ARN()),
	}
}

// answered returns the command that shows what EC2 answers to TerminateInstances. Auto Mode's
// Karpenter has no pod in the cluster.
func (l *look) answered(machine roll.InstanceID) string {
	if l.Finding.Owner == roll.OwnerAutoMode {
		return paste.Format("aws cloudtrail lookup-events --region %s --lookup-attributes AttributeKey=ResourceName,AttributeValue=%s --max-items 5   # what EC2 answers to TerminateInstances", l.Region, string(machine))
	}
	return paste.Lines(paste.Karpenter("logs", "-l", paste.KarpentersPods, "--tail=-1", "--since=1h") + " | " + paste.Command("grep", string(machine)) + "   # what EC2 answers to TerminateInstances")
}

// showKarpenter returns the commands that show whether Karpenter runs, and its log. EKS runs the
// one of Auto Mode outside the cluster, with the cluster's role.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-cluster-iam-role.html
func (l *look) showKarpenter() string {
	if l.Finding.Owner == roll.OwnerAutoMode {
		return paste.Format("aws eks describe-cluster --region %s --name %s --query 'cluster.[computeConfig,roleArn]'   # is Auto Mode on, and may the role terminate instances?", l.Region, l.ClusterID.Name)
	}
	return paste.Lines(paste.Kubectl("get", "pods", "--all-namespaces", "-l", paste.KarpentersPods), paste.Karpenter("logs", "-l", paste.KarpentersPods, "--tail=200"))
}

// owner checks whether Karpenter works on the deletion at all. Its Deployment is not read. If
// nothing were left to do, Karpenter would have removed its finalizer at once.
func (l *look) owner() cause.Verdict {
	r := l.Finding.Removal
	ready, _ := l.Node().Object.Value.Condition("Ready")
	away := l.Finding.Node == "" || l.Node().Object.Known() && ready.Status != "True" && l.At.Sub(ready.Since) > recent
	_, drains := l.told(drainFailed)
	_, waits := l.told(awaitsVolumes)
	switch {
	case l.gone() && away && l.released():
		return cause.RuledOut
	case l.gone() && away && (drains || waits):
		return l.unseen()
	case l.gone() && away:
		state, shift, events := "not known to EC2", l.shift(), l.Node().Events
		if !r.Gone {
			state = string(r.State)
		}
		v := cause.DecisiveIf(shift.text == "" && (l.Finding.Node == "" || events.Known()))
		if l.Finding.Node != "" && !events.Known() {
			v = v.Unsettled(events.Missing("list of events of node " + l.Finding.Node))
		}
		return v.
			Says("instance %s is gone and nothing is left to drain, so Karpenter would remove its finalizer at once: it does not run, or cannot reach EC2%s", r.Machine, shift.text).
			Saw("instance", "State", state, "an instance to wait for").
			Saw(l.object(), "metadata.finalizers", karpenters, "removed by Karpenter").Shows(shift.seen...).
			Fix(shift.fix, l.showKarpenter(), paste.If("if Karpenter was removed for good", l.letGo()))
	case drains || waits:
		return cause.RuledOut
	case !l.idle():
		return cause.NotChecked(fmt.Sprintf("Karpenter's Deployment is not read, and no event of it about the node is from the last %.0f min", recent.Minutes()))
	}
	return cause.Suggestive().
		Says("perhaps Karpenter does not run: it has reported nothing about node %s, and nothing that it could wait for is seen there", l.Finding.Node).
		Saw("events", "of Karpenter, about the node", fmt.Sprintf("none in the last %.0f min", recent.Minutes()), "one for each try").
		Saw(l.object(), "metadata.finalizers", karpenters, "removed by Karpenter").
		Fix(l.showKarpenter())
}

// unseen returns the hint that Karpenter, which reports what it waits for, does not see that the instance is gone. Some
// versions keep what they know of an instance until they start again; those before 1.6 look for it only if the drain
// fails, and not while they wait for volumes.
// https://github.com/aws/karpenter-provider-aws/pull/9242
// https://github.com/kubernetes-sigs/karpenter/blob/v1.5.0/pkg/controllers/node/termination/controller.go
func (l *look) unseen() cause.Verdict {
	v, shift := cause.Suggestive(), l.shift()
	for _, reason := range []string{drainFailed, awaitsVolumes} {
		if e, ok := l.told(reason); ok {
			v = v.Saw("event of the node", e.Reason, e.Message, "none: the finalizer is removed once the instance is gone")
		}
	}
	restart := ""
	if l.Finding.Owner != roll.OwnerAutoMode {
		restart = paste.If("Karpenter 1.12.1 to 1.14.0 sees it once it starts again, and 1.14.1 at once",
			paste.Kubectl("-n", "NAMESPACE", "rollout", "restart", "deployment", "-l", paste.KarpentersPods))
	}
	return v.Says("instance %s is gone, and Karpenter still reports that it waits for node %s: 1.12.1 to 1.14.0 do not see the end of an instance, and those before 1.6 not while they wait for volumes; or it cannot reach EC2%s",
		l.Finding.Removal.Machine, l.Finding.Node, shift.text).Shows(shift.seen...).
		Fix(shift.fix, l.showKarpenter(), restart)
}

// letGo returns the commands that remove Karpenter's finalizer from the Node and the NodeClaim, and no other.
func (l *look) letGo() string {
	r := l.Finding.Removal
	var lines []string
	for _, o := range []struct{ kind, name, finalizers string }{{"nodeclaim", r.Claim, r.ClaimFinalizers}, {"node", l.Finding.Node, r.NodeFinalizers}} {
		if !slices.Contains(roll.Finalizers(o.finalizers), karpenters) {
			continue
		}
		patch := map[string]any{"metadata": map[string]any{"finalizers": others(o.finalizers)}}
		lines = append(lines, paste.Kubectl("patch", o.kind, o.name, "--type=merge", "-p", paste.JSON(patch)))
	}
	return paste.Lines(lines...)
}

// released reports whether Karpenter removed its finalizer from the Node, and others remain. It
// waits for the Node of a registered NodeClaim to be gone before it releases the NodeClaim.
func (l *look) released() bool {
	r := l.Finding.Removal
	node := roll.Finalizers(r.NodeFinalizers)
	return len(node) > 0 && !slices.Contains(node, karpenters) && (l.reached("Registered") || !l.claim.Known())
}

// idle reports whether the node shows nothing that Karpenter could wait for.
func (l *look) idle() bool {
	n, r := l.Node(), l.Finding.Removal
	if !n.Object.Known() || !n.Pods.Known() || !n.Events.Known() {
		return false
	}
	_, left := l.kept()
	held := len(others(r.ClaimFinalizers))+len(others(r.NodeFinalizers)) > 0
	return left == 0 && len(n.Object.Value.Attached) == 0 && !held && !l.gone() && !l.passed(volumesDetached)
}

// gone reports whether EC2 has terminated the instance.
func (l *look) gone() bool {
	return l.Finding.Removal.Gone || l.Finding.Removal.State == roll.StateTerminated
}

// left explains why something outlived its instance, and how a person deletes it. EC2 deletes
// with an instance what is marked so, by default the root volume and the interfaces of the
// launch.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/preserving-volumes-on-termination.html
func (l *look) left() {
	code, other, found := cause.VolumeLeft, cause.InterfaceLeft, l.volumeLeft()
	if kind, _, _ := l.Finding.Instance.Subject(); kind == "eni" {
		code, other, found = cause.InterfaceLeft, cause.VolumeLeft, l.interfaceLeft()
	}
	if l.Finding.Stage != roll.Overdue {
		l.NotChecked("EC2 is asked for it 3 h after the end of its instance", code)
		return
	}
	l.RuledOut(other)
	l.Note(code, found)
}

func (l *look) volumeLeft() cause.Verdict {
	v := l.Finding.Left
	return cause.Decisive().
		Says("volume %s was not to be deleted with instance %s (DeleteOnTermination is false); it is attached to nothing, and no PersistentVolume claims it", v.ID, v.Instance).
		Saw("instance "+string(v.Instance), "BlockDeviceMappings.Ebs.DeleteOnTermination", "false", "true, or a PersistentVolume that claims "+v.ID).
		Saw("volume", "State", "available", "in-use, or no such volume").
		Fix(paste.Format("aws ec2 describe-volumes --region %s --volume-ids %s   # its tags show whose it is", l.Region, v.ID),
			paste.If("if its data may be needed", paste.Format("aws ec2 create-snapshot --region %s --volume-id %s", l.Region, v.ID)),
			paste.If("once you know that nobody needs it", paste.Format("aws ec2 delete-volume --region %s --volume-id %s", l.Region, v.ID)))
}

func (l *look) interfaceLeft() cause.Verdict {
	i := l.Finding.Left
	address := ""
	if i.Public > 0 {
		address = paste.Format("aws ec2 describe-addresses --region %s --filters Name=network-interface-id,Values=%s   # an Elastic IP address costs as much without it, until it is released", l.Region, i.ID)
	}
	return cause.Decisive().
		Says("network interface %s was not to be deleted with instance %s (DeleteOnTermination is false), and is attached to nothing", i.ID, i.Instance).
		Saw("instance "+string(i.Instance), "NetworkInterfaces.Attachment.DeleteOnTermination", "false", "true").
		Saw("network interface", "Status", "available", "in-use, or no such interface").
		Fix(paste.Format("aws ec2 describe-network-interfaces --region %s --network-interface-ids %s   # its tags and description show whose it is", l.Region, i.ID), address,
			paste.If("once you know that nobody needs it", paste.Format("aws ec2 delete-network-interface --region %s --network-interface-id %s", l.Region, i.ID)))
}
