// Package removal looks for what keeps a Node or a NodeClaim that somebody deleted: pods
// that cannot be drained, volumes that stay attached, an instance that does not end, and
// finalizers whose owner does nothing. It also names why a volume or a network interface
// outlived its instance.
//
// Karpenter drains the Node, waits for its volumes, ends the instance, and lets go of the
// Node and then of the NodeClaim, in this order:
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/node/termination/controller.go
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/controller.go
//
// The package is pure.
package removal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

const (
	karpenters = "karpenter.sh/termination"
	// recent is how old an event may be to speak of now. Karpenter tells every few minutes
	// what it waits for.
	recent = 15 * time.Minute

	drained         = "Drained"
	volumesDetached = "VolumesDetached"
	drainFailed     = "FailedDraining"
	awaitsVolumes   = "AwaitingVolumeDetachment"
)

// Analyze notes what it finds about the deletion that the case is about.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Kind != roll.Stuck {
		return
	}
	if _, ok := c.Finding.Instance.Leftover(); ok {
		left(c, s)
		return
	}
	l := &look{Case: c, s: s}
	l.claim = c.NodeClaim()
	l.foreign()
	if !slices.Contains(roll.Finalizers(c.Finding.Removal.NodeFinalizers), karpenters) && !slices.Contains(roll.Finalizers(c.Finding.Removal.ClaimFinalizers), karpenters) {
		s.RuledOut(cause.DrainBlocked, cause.VolumesAttached, cause.InstanceNotTerminating, cause.FinalizerOwnerGone)
		return
	}
	l.drain()
	l.volumes()
	l.instance()
	l.owner()
}

// look is one look at a finding.
type look struct {
	*evidence.Case
	s     *cause.Sheet
	claim evidence.Fact[evidence.NodeClaim]
}

// object is the object with its kind, as kubectl takes it.
func (l *look) object() string {
	if r := l.Finding.Removal; r.Claim != "" {
		return "nodeclaim " + r.Claim
	}
	return "node " + l.Finding.Node
}

// passed reports whether a step of Karpenter's is behind it: its condition is there and not
// Unknown. False says that the grace period ended first.
func (l *look) passed(step string) bool {
	if !l.claim.Known() {
		return false
	}
	c, ok := l.claim.Value.Condition(step)
	return ok && c.Status != "Unknown"
}

// begun finds the condition of a step that Karpenter is at.
func (l *look) begun(step string) (evidence.Condition, bool) {
	if !l.claim.Known() {
		return evidence.Condition{}, false
	}
	c, ok := l.claim.Value.Condition(step)
	return c, ok && c.Status == "Unknown"
}

// told is the latest event of the reason that is recent.
func (l *look) told(reason string) (evidence.Event, bool) {
	for _, e := range slices.Backward(l.Node().Events.Value) {
		if e.Reason == reason && l.At.Sub(e.Last) <= recent {
			return e, true
		}
	}
	return evidence.Event{}, false
}

// at is what shows that Karpenter is at the step now: its condition or its event.
func (l *look) at(step, reason string) (seen []roll.Evidence) {
	if c, ok := l.begun(step); ok {
		seen = append(seen, roll.Evidence{Source: "NodeClaim", Field: "status.conditions[" + step + "]", Observed: fmt.Sprintf("Unknown (%s) since %s", c.Reason, roll.Clock(c.Since)), Expected: "True"})
	}
	if e, ok := l.told(reason); ok {
		seen = append(seen, roll.Evidence{Source: "event of the node", Field: e.Reason, Observed: e.Message, Expected: "no such event for " + fmt.Sprint(recent)})
	}
	return seen
}

// owners are whose a finalizer is, by its text or by the domain before its slash.
var owners = map[string]string{
	"foregroundDeletion": "Kubernetes' garbage collector: it waits for dependents with blockOwnerDeletion",
	"orphan":             "Kubernetes' garbage collector: it releases dependents first",
	"wrangler.cattle.io": "Rancher", "controller.cattle.io": "Rancher",
	"cluster.x-k8s.io": "Cluster API", "longhorn.io": "Longhorn",
}

// ownerOf is whose the finalizer is, as far as its name tells.
func ownerOf(finalizer string) string {
	domain, _, _ := strings.Cut(finalizer, "/")
	for known, name := range owners {
		if domain == known || strings.HasSuffix(domain, "."+known) {
			return name
		}
	}
	return "the controller of " + domain
}

// foreign tells of finalizers that are not Karpenter's: nothing else says what they wait for.
func (l *look) foreign() {
	r := l.Finding.Removal
	var names, whose []string
	var seen []roll.Evidence
	for _, o := range []struct{ kind, name, finalizers string }{{"NodeClaim", r.Claim, r.ClaimFinalizers}, {"Node", l.Finding.Node, r.NodeFinalizers}} {
		for _, f := range roll.Finalizers(o.finalizers) {
			if f != karpenters {
				names, whose = append(names, f), append(whose, ownerOf(f))
				seen = append(seen, roll.Evidence{Source: o.kind, Field: "metadata.finalizers", Observed: f, Expected: "removed by " + ownerOf(f)})
			}
		}
	}
	if len(names) == 0 {
		l.s.RuledOut(cause.FinalizerHeld)
		return
	}
	names, whose = slices.Compact(names), slices.Compact(whose)
	l.s.Found(roll.Cause{
		Code: cause.FinalizerHeld, Confidence: roll.Decisive, Evidence: seen,
		Summary: fmt.Sprintf("%s keeps the object until its owner removes it: %s", strings.Join(names, ", "), strings.Join(whose, ", ")),
		Fix:     fmt.Sprintf("kubectl get %s -o jsonpath='{.metadata.finalizers}'\nkubectl get deployments --all-namespaces   # does the controller that owns %s run? Removing a finalizer by hand skips what it is to clean up", l.object(), names[0]),
	})
}

// drain asks whether pods keep the Node.
func (l *look) drain() {
	if l.Finding.Node == "" || l.passed(drained) {
		l.s.RuledOut(cause.DrainBlocked)
		return
	}
	seen, pods := l.at(drained, drainFailed), l.Node().Pods
	if !pods.Known() {
		if len(seen) == 0 {
			l.s.NotChecked(pods.Missing("the pods of node "+l.Finding.Node), cause.DrainBlocked)
			return
		}
		l.drainBlocked(seen, roll.Suggestive, "Karpenter waits for the pods of node "+l.Finding.Node+" to be drained")
		return
	}
	why, left := l.kept()
	seen = append(seen, why...)
	switch {
	case left == 0:
		l.s.RuledOut(cause.DrainBlocked)
	case len(why) == 0:
		if !l.Node().Budgets.Settled() {
			l.s.NotChecked(l.Node().Budgets.Missing("disruption budgets"), cause.DrainBlocked)
		} else if len(seen) > 0 {
			l.drainBlocked(seen, roll.Suggestive, fmt.Sprintf("Karpenter waits for %d %s of node %s, which no disruption budget or annotation keeps", left, roll.Plural(left, "pod", "pods"), l.Finding.Node))
		}
	default:
		confidence := roll.Suggestive
		if len(seen) > len(why) {
			confidence = roll.Decisive // Karpenter says itself that it waits for them
		}
		l.drainBlocked(seen, confidence, fmt.Sprintf("the drain of node %s cannot end: %s", l.Finding.Node, why[0].Observed))
	}
}

func (l *look) drainBlocked(seen []roll.Evidence, confidence roll.Confidence, summary string) {
	l.s.Found(roll.Cause{
		Code: cause.DrainBlocked, Confidence: confidence, Summary: summary, Evidence: seen,
		Fix: fmt.Sprintf("kubectl get pods --all-namespaces --field-selector spec.nodeName=%s\nkubectl get poddisruptionbudgets --all-namespaces   # raise the replicas, or let the budget allow a disruption; take the annotation away; or set terminationGracePeriod in the NodePool, which bounds a drain", l.Finding.Node),
	})
}

// kept tells what keeps pods from being evicted, and how many are left to evict. Those that
// are being deleted already are not waited for for long.
func (l *look) kept() (why []roll.Evidence, left int) {
	waiting := map[string]bool{}
	for _, p := range l.Node().Pods.Value {
		if !p.Evictable() || !p.Deleting.IsZero() {
			continue
		}
		left++
		waiting[p.Namespace+"/"+p.Name] = true
		if p.NotToDisrupt != "" {
			why = append(why, roll.Evidence{Source: "pod " + p.Namespace + "/" + p.Name, Field: "metadata.annotations", Observed: fmt.Sprintf("pod %s/%s is annotated %s", p.Namespace, p.Name, p.NotToDisrupt), Expected: "no such annotation"})
		}
	}
	for _, b := range l.Node().Budgets.Value {
		covers := slices.DeleteFunc(slices.Clone(b.Pods), func(p string) bool { return !waiting[p] })
		if len(covers) == 0 || !b.Unknown && b.Healthy > b.Desired {
			continue
		}
		allows := fmt.Sprintf("%d healthy of %d that it needs", b.Healthy, b.Desired)
		if b.Unknown {
			allows = "its status is not up to date"
		}
		why = append(why, roll.Evidence{Source: "PodDisruptionBudget " + b.Name, Field: "status", Observed: fmt.Sprintf("PodDisruptionBudget %s allows no disruption of %s (%s)", b.Name, strings.Join(covers[:min(len(covers), 3)], ", "), allows), Expected: "more healthy pods than it needs"})
	}
	return why, left
}

// volumes asks whether Karpenter waits for volumes.
func (l *look) volumes() {
	object := l.Node().Object
	switch {
	case l.Finding.Node == "" || l.passed(volumesDetached):
		l.s.RuledOut(cause.VolumesAttached)
		return
	case !object.Known():
		l.s.NotChecked(object.Missing("node "+l.Finding.Node), cause.VolumesAttached)
		return
	}
	seen, attached := l.at(volumesDetached, awaitsVolumes), object.Value.Attached
	if len(attached) > 0 {
		seen = append(seen, roll.Evidence{Source: "Node", Field: "status.volumesAttached", Observed: strings.Join(attached, ", "), Expected: "none of pods that were drained"})
	}
	waits := len(seen) > min(len(attached), 1)
	if !waits {
		if len(attached) == 0 {
			l.s.RuledOut(cause.VolumesAttached)
		} else {
			l.s.NotChecked("Karpenter does not tell yet that it waits for the volumes: the drain comes first", cause.VolumesAttached)
		}
		return
	}
	l.s.Found(roll.Cause{
		Code: cause.VolumesAttached, Confidence: roll.Decisive, Evidence: seen,
		Summary: fmt.Sprintf("Karpenter waits for the VolumeAttachments of node %s to be deleted (%s)", l.Finding.Node, cmp.Or(strings.Join(attached, ", "), "the node lists none")),
		Fix:     fmt.Sprintf("kubectl get volumeattachments | grep %s\nkubectl -n kube-system logs deployment/ebs-csi-controller -c csi-attacher --tail=100   # why it does not detach them", l.Finding.Node),
	})
}

// instance asks whether Karpenter waits for EC2 to end the instance.
func (l *look) instance() {
	r := l.Finding.Removal
	reached := l.Finding.Node == "" || l.passed(drained) && l.passed(volumesDetached)
	switch {
	case r.Machine == "" || r.Gone || r.State == roll.StateTerminated:
		l.s.RuledOut(cause.InstanceNotTerminating)
	case r.State == "":
		l.s.NotChecked(fmt.Sprintf("EC2 was not read, or does not show %s", r.Machine), cause.InstanceNotTerminating)
	case !reached:
		l.s.NotChecked("the drain and the volumes come first", cause.InstanceNotTerminating)
	default:
		l.s.Found(roll.Cause{
			Code: cause.InstanceNotTerminating, Confidence: roll.Decisive,
			Summary:  fmt.Sprintf("nothing is left to wait for but the end of instance %s, and EC2 says that it is %s", r.Machine, r.State),
			Evidence: []roll.Evidence{{Source: "instance", Field: "State", Observed: string(r.State), Expected: string(roll.StateTerminated)}},
			Fix: fmt.Sprintf("aws ec2 describe-instance-attribute --region %[1]s --instance-id %[2]s --attribute disableApiTermination\n"+
				"kubectl logs --all-namespaces -l app.kubernetes.io/name=karpenter --tail=200 | grep %[2]s   # what EC2 answers to TerminateInstances", l.Region, r.Machine),
		})
	}
}

// owner asks whether Karpenter works on it at all. Its Deployment is not read: what it would
// have done at once tells, where nothing is left to do.
func (l *look) owner() {
	r := l.Finding.Removal
	gone := r.Gone || r.State == roll.StateTerminated
	ready, _ := l.Node().Object.Value.Condition("Ready")
	away := l.Finding.Node == "" || l.Node().Object.Known() && ready.Status != "True" && l.At.Sub(ready.Since) > recent
	_, drains := l.told(drainFailed)
	_, waits := l.told(awaitsVolumes)
	switch {
	case gone && away:
		state := "not known to EC2"
		if !r.Gone {
			state = string(r.State)
		}
		l.s.Found(roll.Cause{
			Code: cause.FinalizerOwnerGone, Confidence: roll.Decisive,
			Summary: fmt.Sprintf("instance %s is gone and nothing is left to drain, so Karpenter would let go at once: it does not run, or cannot ask EC2", r.Machine),
			Evidence: []roll.Evidence{
				{Source: "instance", Field: "State", Observed: state, Expected: "an instance to wait for"},
				{Source: l.object(), Field: "metadata.finalizers", Observed: karpenters, Expected: "removed by Karpenter"},
			},
			Fix: fmt.Sprintf("kubectl get pods --all-namespaces -l app.kubernetes.io/name=karpenter\nkubectl logs --all-namespaces -l app.kubernetes.io/name=karpenter --tail=200\n# if Karpenter was removed for good:\nkubectl patch %s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'", l.object()),
		})
	case drains || waits:
		l.s.RuledOut(cause.FinalizerOwnerGone)
	default:
		l.s.NotChecked("Karpenter's Deployment is not read, and it told nothing of the node within "+fmt.Sprintf("%.0f min", recent.Minutes()), cause.FinalizerOwnerGone)
	}
}
