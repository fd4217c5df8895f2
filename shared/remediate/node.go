package remediate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// cordon keeps new pods off the node. It leaves a cordon by anyone else alone: Rollcall
// does not undo what it did not do.
func (r *Remediator) cordon(ctx context.Context, v verified, _ time.Time) Outcome {
	switch n := v.node; {
	case n.CordonedByOthers():
		return Outcome{Result: Acted, Detail: fmt.Sprintf("node %s was cordoned already, and not by Rollcall, which will not uncordon it either", n.Name)}
	case n.Unschedulable:
		return Outcome{Result: Acted, Detail: fmt.Sprintf("node %s is cordoned, by order %s", n.Name, n.CordonedBy)}
	}
	if err := v.hands.Cordon(ctx, v.node.Name, v.node.UID, v.order.ID); err != nil {
		return r.kubeRefused(ctx, v, err)
	}
	return Outcome{Result: Acted, Detail: fmt.Sprintf("cordoned node %s", v.node.Name)}
}

// uncordon removes Rollcall's cordon from a node that recovered.
func (r *Remediator) uncordon(ctx context.Context, v verified, _ time.Time) Outcome {
	if err := v.hands.Uncordon(ctx, v.node.Name, v.node.UID, v.node.CordonedBy); err != nil {
		return r.kubeRefused(ctx, v, err)
	}
	if v.node.CordonedByOthers() {
		return Outcome{Result: Acted, Detail: fmt.Sprintf("removed Rollcall's annotation from node %s, and left it cordoned: somebody else has cordoned it since (field manager %s)", v.node.Name, v.node.Cordoner)}
	}
	return Outcome{Result: Acted, Detail: fmt.Sprintf("uncordoned node %s", v.node.Name)}
}

// outOfService taints the node of a terminated instance.
func (r *Remediator) outOfService(ctx context.Context, v verified, _ time.Time) Outcome {
	if err := v.hands.OutOfService(ctx, v.node.Name, v.node.UID); err != nil {
		return r.kubeRefused(ctx, v, err)
	}
	return Outcome{Result: Acted, Detail: fmt.Sprintf("tainted node %s as out of service: its pods are removed, and its volumes detached, at once", v.node.Name)}
}

// deleteNode deletes the Node object of an instance that is gone.
func (r *Remediator) deleteNode(ctx context.Context, v verified, _ time.Time) Outcome {
	what := "node " + v.node.Name
	return r.deleted(ctx, v, what, v.hands.DeleteNode(ctx, v.node.Name, v.node.UID))
}

// deleteNodeClaim deletes the NodeClaim, so that Karpenter terminates the instance.
func (r *Remediator) deleteNodeClaim(ctx context.Context, v verified, _ time.Time) Outcome {
	what := fmt.Sprintf("NodeClaim %s of %s", v.claim.Name, v.order.Instance)
	return r.deleted(ctx, v, what, v.hands.DeleteNodeClaim(ctx, v.claim.Name, v.claim.UID))
}

func (r *Remediator) deleted(ctx context.Context, v verified, what string, err error) Outcome {
	switch {
	case err == nil:
		return Outcome{Result: Acted, Detail: "deleted " + what}
	case errors.Is(err, kube.ErrGone):
		return Outcome{Result: Acted, Detail: what + " was gone already"}
	}
	return r.kubeRefused(ctx, v, err)
}

// kubeRefused returns the outcome of an error of the Kubernetes API: another object has the
// name, nothing happened, the next check continues, or the effect is unknown.
func (r *Remediator) kubeRefused(ctx context.Context, v verified, err error) Outcome {
	if errors.Is(err, kube.ErrChanged) || errors.Is(err, kube.ErrGone) {
		return Outcome{Result: Refused, Reason: plan.VerdictChanged, Detail: err.Error()}
	}
	gap, detail := kube.Fault(v.cluster, err, r.Principal(ctx))
	switch {
	case gap == roll.GapThrottled && kube.Refused(err): // a temporary failure
		return Outcome{Result: Failed, Detail: ledger.NotYet + unadvised(detail)}
	case kube.Refused(err):
		return Outcome{Result: Failed, Detail: detail}
	case v.does.resumes:
		return Outcome{Result: Ongoing, Detail: unadvised(detail) + "; the next check continues it"}
	}
	return Outcome{Result: Unclear, Detail: unclear(detail, "the cluster")}
}

// Limits of one pass of a drain: evicted pods need capacity elsewhere, other clients share
// the API server, and the function's time is limited.
const (
	evictions = 50
	passTime  = 2 * time.Minute
)

// drain makes one pass over the pods of the node, and cordons it first if it is not cordoned. The
// check before each pass gives an order with the same id, so everything is read again between two
// passes.
func (r *Remediator) drain(ctx context.Context, v verified, now time.Time) Outcome {
	passing, cancel := deadline.In(ctx, passTime)
	defer cancel()
	pass := kube.Pass{Evictions: evictions, Now: now}
	if r.Clock != nil {
		pass.Now = r.Clock() // now may be ahead, and no pod may lose grace time
	}
	var err error
	if v.node.Unschedulable {
		pass.Since = v.cordoned
	} else { // a person lifted the cordon, or the ladder has none: new pods must not come while others leave
		err = v.hands.Cordon(passing, v.node.Name, v.node.UID, v.order.ID)
	}
	var d kube.Drained
	if err == nil {
		d, err = v.hands.Drain(passing, v.node.Name, pass)
	}
	took := now.Sub(v.begun)
	switch {
	case err != nil && !v.resumed && len(d.Evicted) == 0 && kube.Refused(err):
		return r.kubeRefused(ctx, v, err) // nothing happened, on this pass or before
	case err == nil && d.Done():
		return Outcome{Result: Acted, Detail: fmt.Sprintf("drained node %s", v.node.Name) + stuck(d)}
	}
	left := remaining(d, took >= v.timeout)
	if err != nil {
		_, left = kube.Fault(v.cluster, err, r.Principal(ctx))
	}
	if took >= v.timeout {
		return Outcome{Result: Failed, Reason: plan.DrainUnfinished, Detail: fmt.Sprintf("%s: node %s was not empty %.0f min after its drain began: %s", ledger.Unfinished, v.node.Name, took.Minutes(), left)}
	}
	return Outcome{Result: Ongoing, Detail: fmt.Sprintf("draining node %s: %s", v.node.Name, left)}
}

// Limits of a sentence about pods: the number of names, and the characters for each. The
// message of an admission webhook may have any length.
const (
	blockedNamed = 5
	blockedRunes = 300
)

// remaining describes the pods that a pass of a drain left on the node. After the time
// limit it also names pods that are still stopping, since a person must decide about them.
func remaining(d kube.Drained, over bool) string {
	var parts []string
	for _, c := range []struct {
		pods  []string
		what  string
		named bool
	}{
		{d.Evicted, "evicted just now", over}, {d.Leaving, "still stopping", over}, {d.Waiting, "yet to be evicted", over},
		{d.Blocked, "not to be evicted", true}, {d.Stuck, "stuck in Terminating", over},
	} {
		n := len(c.pods)
		if n == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s %s", n, roll.Plural(n, "pod", "pods"), c.what)
		if c.named {
			part += " (" + named(c.pods) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// named joins the names of pods, up to blockedNamed of them.
func named(pods []string) string {
	out := roll.Map(pods[:min(len(pods), blockedNamed)], func(p string) string { return roll.Short(p, blockedRunes) })
	if more := len(pods) - blockedNamed; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}

// stuck lists the pods that a finished drain no longer waited for, as the end of a
// sentence.
func stuck(d kube.Drained) string {
	if n := len(d.Stuck); n > 0 {
		return fmt.Sprintf(", but for %d %s stuck in Terminating, which the end of the instance frees (%s)", n, roll.Plural(n, "pod", "pods"), named(d.Stuck))
	}
	return ""
}
