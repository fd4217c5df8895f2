package plan

import (
	"fmt"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// Resolution is the outcome of an act, told by the state of its instance.
type Resolution struct {
	ActionID string
	Outcome  ledger.Outcome
}

const (
	// settleAfter is how long an act without outcome is left to whoever began it:
	// no order lives longer.
	settleAfter = OrderLife
	// forgottenAfter is how long EC2 goes on showing a terminated instance, with a
	// margin. Only after it does "not found" mean anything.
	forgottenAfter = 2 * time.Hour
)

// resolve settles acts whose outcome a crash, or an unclear answer of AWS, left
// open. It looks, and never acts again. EC2 moves an instance to shutting-down as soon
// as it accepts a termination, so one in any other state was not terminated.
func (p *planner) resolve() {
	open := map[roll.InstanceID]ledger.Action{}
	for _, a := range p.State.Actions {
		if a.Outcome == nil && p.Now.Sub(a.At) >= settleAfter {
			open[a.Instance] = a
		}
	}
	if len(open) == 0 {
		return
	}
	settle := func(a ledger.Action, result ledger.Result, format string, args ...any) {
		p.out.Resolved = append(p.out.Resolved, Resolution{ActionID: a.ID, Outcome: ledger.Outcome{Result: result, At: p.Now, Detail: fmt.Sprintf(format, args...)}})
	}
	for i := range p.Snapshot.Instances {
		inst := &p.Snapshot.Instances[i]
		a, ok := open[inst.ID]
		if !ok {
			continue
		}
		delete(open, inst.ID)
		if inst.State.Gone() {
			settle(a, ledger.Done, "seen to be %s; its outcome had not been recorded", inst.State)
		} else {
			settle(a, ledger.Failed, "the instance is %s; whether its termination was asked for is not known", inst.State)
		}
	}
	for _, a := range p.State.Actions { // in their order, so that plans are repeatable
		if missing, ok := open[a.Instance]; ok && missing.ID == a.ID && p.Snapshot.NotFound[a.Instance] && p.Now.Sub(a.At) >= forgottenAfter {
			settle(a, ledger.Done, "EC2 knows the instance no longer")
			delete(open, a.Instance)
		}
	}
}
