package plan

import (
	"fmt"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// Resolution is the outcome of an act, inferred from the state of its instance or node.
type Resolution struct {
	ActionID string
	Outcome  ledger.Outcome
	// Moot: the drain ended early because the node is Ready again, or gone.
	Moot bool
}

const (
	// settleAfter is how long an act without an outcome is left to the process that began it. No
	// order is valid for longer.
	settleAfter = OrderLife
	// forgottenAfter is how long EC2 shows a terminated instance, with a margin. "Not found" is
	// meaningful only after it.
	forgottenAfter = 2 * time.Hour
)

// resolve settles acts that have no outcome because of a crash or an unclear answer of AWS. It only
// reads. It never repeats an act.
func (p *planner) resolve() {
	var open []ledger.Action // in order, so that plans are repeatable
	wanted := map[roll.InstanceID]bool{}
	for _, a := range p.State.Actions {
		if a.Outcome == nil && (p.Now.Sub(a.At) >= settleAfter || a.Do == string(Drain)) {
			open = append(open, a)
			wanted[a.Instance] = true
		}
	}
	if len(open) == 0 {
		return
	}
	instances, nodes := find(p.Snapshot, wanted)
	for _, a := range open {
		if outcome, ok := p.settled(a, instances[a.Instance], nodes[a.Instance]); ok {
			outcome.At = p.Now
			p.out.Resolved = append(p.out.Resolved, Resolution{
				ActionID: a.ID, Outcome: outcome,
				Moot: a.Do == string(Drain) && outcome.Detail != drainPaused,
			})
		}
	}
}

// find returns the wanted instances and their nodes from the snapshot.
func find(s *roll.Snapshot, wanted map[roll.InstanceID]bool) (map[roll.InstanceID]*roll.Instance, map[roll.InstanceID]*roll.Node) {
	instances, nodes := map[roll.InstanceID]*roll.Instance{}, map[roll.InstanceID]*roll.Node{}
	for i := range s.Instances {
		if inst := &s.Instances[i]; wanted[inst.ID] {
			instances[inst.ID] = inst
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if known := nodes[n.Instance]; wanted[n.Instance] && (known == nil || n.Created.After(known.Created)) {
			nodes[n.Instance] = n
		}
	}
	return instances, nodes
}

// settled returns how an act ended, if the snapshot shows it.
func (p *planner) settled(a ledger.Action, i *roll.Instance, n *roll.Node) (ledger.Outcome, bool) {
	done := func(format string, args ...any) (ledger.Outcome, bool) {
		return ledger.Outcome{Result: ledger.Done, Detail: fmt.Sprintf(format, args...)}, true
	}
	failed := func(format string, args ...any) (ledger.Outcome, bool) {
		return ledger.Outcome{Result: ledger.Failed, Detail: fmt.Sprintf(format, args...)}, true
	}
	switch Action(a.Do) {
	case Terminate, DeleteNodeClaim:
		return ending(p.Snapshot, p.Now, a, i)
	case Drain:
		return p.draining(a, i, n)
	case Cordon:
		if n != nil && n.CordonedBy == a.ID {
			return done("node %s was seen to be cordoned by it; its outcome was not recorded", n.Name)
		}
		return failed("node %s does not carry its cordon", a.Node)
	case Uncordon:
		if n == nil || n.CordonedBy == "" {
			return done("node %s is not cordoned by Rollcall any more", a.Node)
		}
		return failed("node %s is still cordoned", a.Node)
	case OutOfService:
		if n == nil {
			return done("node %s is not there any more", a.Node)
		}
		return failed("whether node %s was tainted is not known; to do it again does no harm", n.Name)
	case Reboot:
		// Its effect is not visible from outside, and a second reboot might hit a node that is
		// starting.
		return done("whether the reboot was asked for is not known; it is not repeated")
	case DeleteNode:
		if n == nil {
			return done("node %s is not there any more", a.Node)
		}
		return failed("node %s is still there", a.Node)
	}
	return failed("what became of it is unknown")
}

// ending settles acts that terminate an instance. EC2 moves an instance to shutting-down as soon as
// it accepts a termination, so an instance in any other state was not terminated.
func ending(s *roll.Snapshot, now time.Time, a ledger.Action, i *roll.Instance) (ledger.Outcome, bool) {
	switch {
	case i == nil && s.NotFound[a.Instance] && now.Sub(a.At) >= forgottenAfter:
		return ledger.Outcome{Result: ledger.Done, Detail: "EC2 no longer knows the instance"}, true
	case i == nil:
		return ledger.Outcome{}, false
	case i.State.Gone():
		return ledger.Outcome{Result: ledger.Done, Detail: fmt.Sprintf("seen to be %s; its outcome was not recorded", i.State)}, true
	}
	if d := s.Details[a.Instance]; a.Do == string(DeleteNodeClaim) && d.NodeClaim != nil && !d.NodeClaim.DeletedAt.IsZero() {
		return ledger.Outcome{Result: ledger.Done, Detail: fmt.Sprintf("NodeClaim %s is being deleted; its outcome was not recorded", d.NodeClaim.Name)}, true
	}
	return ledger.Outcome{Result: ledger.Failed, Detail: fmt.Sprintf("the instance is %s; whether its termination was asked for is not known", i.State)}, true
}

// drainPaused is the outcome of a drain that no check continued, because of a limit or an outage.
// It may begin again.
const drainPaused = ledger.Unfinished + ": no check continued it in time"

// draining settles drains: at once if nothing is left to drain, and otherwise if no check has
// continued the drain long after its time.
func (p *planner) draining(a ledger.Action, i *roll.Instance, n *roll.Node) (ledger.Outcome, bool) {
	timeout := p.Policy(roll.GroupSelector(a.Group)).Drain.Timeout
	switch sick := p.notReadyForWork(a); {
	case i != nil && i.State.Gone():
		return ledger.Outcome{Result: ledger.Failed, Detail: fmt.Sprintf("%s: the instance is %s", ledger.Unfinished, i.State)}, true
	case n != nil && n.Ready.Status == roll.ConditionTrue && !sick:
		return ledger.Outcome{Result: ledger.Failed, Detail: fmt.Sprintf("%s: node %s is Ready again", ledger.Unfinished, n.Name)}, true
	case n == nil && p.Now.Sub(a.At) >= settleAfter:
		return ledger.Outcome{Result: ledger.Failed, Detail: ledger.Unfinished + ": the node is gone"}, true
	case p.Now.Sub(a.At) >= timeout+settleAfter:
		return ledger.Outcome{Result: ledger.Failed, Detail: drainPaused}, true
	}
	return ledger.Outcome{}, false
}
