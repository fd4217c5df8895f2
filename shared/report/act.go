package report

import (
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
)

// words are the names of an act in texts.
type words struct {
	weight    int    // of several acts the one with the highest weight is named
	noun      string // "the termination of instance i-..."
	doing     string // "terminating i-...", and of several "terminating 3"
	done      string // the result for the object; also an attribute of notices
	pastTense string // "instance i-... was terminated"
}

var acts = map[plan.Action]words{
	plan.Uncordon:        {1, "uncordoning", "uncordoning", "uncordoned", "uncordoned"},
	plan.OutOfService:    {1, "tainting", "tainting the node of", "out-of-service", "tainted as out of service"},
	plan.Cordon:          {2, "cordon", "cordoning", "cordoned", "cordoned"},
	plan.Drain:           {3, "drain", "draining", "drained", "drained"},
	plan.Reboot:          {4, "reboot", "rebooting", "rebooted", "rebooted"},
	plan.DeleteNode:      {5, "deletion", "deleting the node of", "node-deleted", "deleted"},
	plan.DeleteNodeClaim: {6, "deletion", "deleting the NodeClaim of", "nodeclaim-deleted", "deleted"},
	plan.Terminate:       {7, "termination", "terminating", "terminated", "terminated"},
}

// coming says what the acting steps of a ladder will do to an instance.
var coming = map[policy.Do]string{
	policy.DoCordon:     "its node will be cordoned (marked unschedulable)",
	policy.DoDrain:      "its node will be drained, as disruption budgets allow,",
	policy.DoReboot:     "it will be rebooted, once,",
	policy.DoTerminate:  "it will be terminated",
	policy.DoDeleteNode: "its Node object will be deleted",
}

// object returns the name of what an order acts on.
func object(o plan.Order) string {
	switch {
	case o.Action.OnNode():
		return "node " + o.Node + " of " + string(o.Instance)
	case o.Action == plan.DeleteNodeClaim:
		return "NodeClaim " + o.Claim + " of " + string(o.Instance)
	}
	return "instance " + string(o.Instance)
}

// Told reports whether the outcome of an order needs a notice of its own. That a node was cordoned or
// drained, or was not drained in time, is reported with what follows.
func Told(o remediate.Outcome) bool {
	if !o.News {
		return false
	}
	switch o.Result {
	case remediate.Acted:
		return o.Order.Action.Told()
	case remediate.Refused:
		return o.Reason.Told()
	case remediate.Failed, remediate.Unclear:
		return o.Reason != plan.DrainUnfinished
	}
	return false // it continues, or the process that it was sent to reports it
}

// became returns the outcome of an order in a word.
func became(o remediate.Outcome) string {
	switch {
	case o.Result == remediate.Acted:
		return acts[o.Order.Action].done
	case o.Result == remediate.Ongoing:
		return acts[o.Order.Action].doing
	case o.Reason == plan.DrainUnfinished:
		return "unfinished"
	}
	return string(o.Result)
}

// pausedInWords returns the word for a held act, to show with the name of its reason.
func pausedInWords(r plan.Reason) string {
	switch r {
	case plan.OwnerWillAct:
		return "left to the owner"
	case plan.AlreadyBegun:
		return "acted on already"
	case plan.ActionStuck:
		return "acted on without effect"
	case plan.DrainUnfinished:
		return "stopped half-way"
	case plan.Stopped, plan.ModeObserve, plan.ModeNotify:
		return "paused"
	case plan.ApprovalPending:
		return "waiting for approval"
	case plan.ApprovalMissing:
		return "not approved"
	}
	if r.Passing() {
		return "paused for now"
	}
	return "paused"
}
