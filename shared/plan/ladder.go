package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// actionOf returns the act of a step for a finding, "" for steps that only report. Terminate
// becomes DeleteNode for a stopped instance, and DeleteNodeClaim if the policy leaves terminations
// to Karpenter. An orphan has no NodeClaim.
func (p *planner) actionOf(do policy.Do, f roll.Finding, pol policy.Policy) Action {
	if do == policy.DoTerminate && p.onlyNodeLeft(f) {
		return DeleteNode
	}
	if do == policy.DoTerminate && f.Owner == roll.OwnerKarpenter && f.Kind != roll.Orphaned && pol.Owners[f.Owner] == policy.OwnerDeleteNodeClaim {
		return DeleteNodeClaim
	}
	if !do.Acts() {
		return ""
	}
	return Action(do) // the names are the same
}

// ladder returns the ladder for a finding and its diagnosis. A finding that is not about an
// instance is only reported, whatever the policy says. A contradicted one is reported at once, even if
// its ladder only acts.
func (p *planner) ladder(f roll.Finding, pol policy.Policy) []policy.Step {
	if f.Contradiction != "" {
		return []policy.Step{{Do: policy.DoNotify}}
	}
	steps := pol.Ladder(f, p.Diagnoses[f.Key()])
	if f.Instance.IsInstance() && !f.Kind.OnlyTold() {
		return steps
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s policy.Step) bool { return s.Do != policy.DoWarn && s.Do != policy.DoNotify })
}

// climb moves a finding up its ladder as far as time and the outcomes of earlier acts allow. It
// orders or holds one act at a time. The wait of the next step starts at the outcome of the act.
func (p *planner) climb(f roll.Finding) {
	pol := p.Policy(f.Selector)
	at := f.Due
	var skipped []string
	var rebooted time.Time
	earlier, _ := p.rebooted(f)
	ladder := p.ladder(f, pol)
	for _, step := range ladder {
		at = at.Add(step.After)
		if boots := rebooted.Add(pol.Reboot.Wait); !rebooted.IsZero() && boots.After(at) {
			at = boots
		}
		// The condition may date from before the reboot: it stays until the monitoring agent
		// runs again.
		if boots := earlier.At.Add(pol.Reboot.Wait); f.Kind == roll.ConditionFailed && step.Do.Acts() && boots.After(at) {
			at = boots
		}
		act := p.actionOf(step.Do, f, pol)
		if act == "" {
			if f.Stage != roll.Overdue || p.Now.Before(at) {
				p.next(at)
				p.noteNext(f, step, at)
			}
			continue
		}
		if why := p.impossible(f, act); why != "" {
			skipped = append(skipped, why)
			continue
		}
		asks := step.Approve
		step.Approve = p.awaits(f, ladder, asks, act, pol)
		if f.Stage != roll.Overdue || p.Now.Before(at) {
			p.next(at)
			if step.Doubt == "" {
				p.noteNext(f, step, at)
			}
			return
		}
		ended, stop := p.afterAct(f, step, act, pol)
		if stop {
			return
		}
		if ended.IsZero() {
			p.noteNext(f, step, at)
			p.order(f, act, pol, skipped, func() (*ledger.Approval, *ledger.ApprovalRequest, *Refusal) {
				return p.approved(f, ladder, asks, act, pol)
			})
			return
		}
		at = ended
		if act == Reboot {
			rebooted = ended
		}
	}
	if f.Contradiction != "" && f.Stage == roll.Overdue {
		act := DeleteNode
		if f.Kind == roll.Unregistered {
			act = p.actionOf(policy.DoTerminate, f, pol)
		}
		p.hold(f, act, refuse(Conflicting, "%s: one of the two is wrong, so nothing is done", f.Summary))
	}
	if repair, ok := pol.Repairs(f); ok && repair == roll.RepairHold && f.Stage == roll.Overdue {
		p.hold(f, Reboot, refuse(RepairNeedsPerson, "%s", needsPerson(f, pol)))
	}
}

// needsPerson returns why a failed accelerator needs a person.
func needsPerson(f roll.Finding, pol policy.Policy) string {
	told := fmt.Sprintf("%s of node %s says %s: ", f.Condition, f.Node, f.Reason)
	if _, own := pol.Repair.Reasons[f.Reason]; own {
		return told + "the policy holds this reason for a person"
	}
	if _, known := roll.AcceleratorRepair(f.Reason); known {
		return told + "AWS publishes no repair for it, since neither a reboot nor another instance is known to cure it"
	}
	return told + "it is none of the reasons that AWS publishes a repair for"
}

// impossible returns why an act is impossible for the finding, so that its step is skipped; "" if
// it is possible.
func (p *planner) impossible(f roll.Finding, act Action) string {
	n := p.nodes[f.Instance]
	if f.Kind == roll.Scheduled && !evictsEarly(f, act) {
		return fmt.Sprintf("no %s: EC2 does to the instance what it has scheduled", act)
	}
	switch act {
	case Cordon, Drain:
		switch {
		case n == nil:
			return fmt.Sprintf("no %s: there is no node", act)
		case n.Ready.Status == roll.ConditionUnknown:
			return fmt.Sprintf("no %s: its kubelet is silent, so its pods would not stop", act)
		}
	case Reboot:
		if a, ok := p.rebooted(f); ok {
			return fmt.Sprintf("no second reboot: it was rebooted at %s", roll.Clock(a.At))
		}
		if i := p.instances[f.Instance]; p.onlyNodeLeft(f) {
			return fmt.Sprintf("no reboot: the instance is %s", i.State)
		}
		if a, begun := p.State.Action(p.orderID(f, Reboot)); begun && a.Interrupted() {
			return "" // already done; the next step waits for the outcome
		}
		cures := func(c roll.Cause) bool { return c.Confidence == roll.Decisive && c.Cure != roll.CureUnclear }
		if c, ok := roll.Find(p.Diagnoses[f.Key()].Causes, cures); ok && c.Cure == roll.CureReplace && f.Kind != roll.Impaired {
			return fmt.Sprintf("no reboot: a new instance helps against %s, a reboot does not", c.Code)
		}
	}
	return ""
}

// onlyNodeLeft reports whether only the Node object of a finding is left to delete: its instance is
// stopped, and registers a new Node when it starts. This excludes Karpenter, which would terminate
// the instance with its Node, and hibernated instances, whose kubelet does not register again.
func (p *planner) onlyNodeLeft(f roll.Finding) bool {
	i := p.instances[f.Instance]
	return i != nil && i.State == roll.StateStopped && !i.Hibernated && p.nodes[f.Instance] != nil && f.Owner != roll.OwnerKarpenter
}

// rebootMemory is how long a reboot of an instance prevents the next one.
const rebootMemory = 24 * time.Hour

// rebooted returns a recent reboot of the same instance for another fault.
func (p *planner) rebooted(f roll.Finding) (ledger.Action, bool) {
	own := p.orderID(f, Reboot)
	return roll.Find(p.State.Actions, func(a ledger.Action) bool {
		return a.Do == string(Reboot) && a.Instance == f.Instance && a.ID != own && p.Now.Sub(a.At) < rebootMemory && a.Interrupted()
	})
}

// stuckAfter is how long an act may take to have an effect: EC2 moves an instance to shutting-down
// at once, Karpenter drains the node first.
var stuckAfter = map[Action]time.Duration{
	Terminate: 15 * time.Minute, DeleteNode: 15 * time.Minute, DeleteNodeClaim: time.Hour,
}

// afterAct returns the time from which the ladder continues after the finding's act, or zero if the
// act is yet to be ordered. stop means that the finding waits and the reason is recorded.
func (p *planner) afterAct(f roll.Finding, step policy.Step, act Action, pol policy.Policy) (ended time.Time, stop bool) {
	a, begun := p.State.Action(p.orderID(f, act))
	if !begun || a.Outcome == nil {
		return time.Time{}, false // in progress: the objections decide whether it continues
	}
	switch {
	case a.Outcome.Result == ledger.Done && act.final():
		if took := p.Now.Sub(a.Outcome.At); took >= stuckAfter[act] {
			p.hold(f, act, refuse(ActionStuck, "%s was carried out at %s and shows no effect after %s", act, roll.Clock(a.Outcome.At), took.Round(time.Minute)))
		} else {
			p.next(a.Outcome.At.Add(stuckAfter[act]))
			p.hold(f, act, refuse(AlreadyBegun, "%s was carried out at %s: %s", act, roll.Clock(a.Outcome.At), a.Outcome.Detail))
		}
		return time.Time{}, true
	case a.Outcome.Result == ledger.Done:
		return a.Outcome.At, false
	case act == Drain && strings.HasPrefix(a.Outcome.Detail, ledger.Unfinished) && a.Outcome.Detail != drainPaused:
		return p.unfinished(f, a, pol.Drain)
	case step.Once && !act.final() && !strings.HasPrefix(a.Outcome.Detail, ledger.NotYet):
		return a.Outcome.At, false // once only, even if it failed
	}
	return time.Time{}, false // failed: triedBefore decides when to try again
}

// unfinished handles a drain that timed out with pods left. It is tried again later, and a person
// is notified meanwhile. If the policy forces drains, the ladder continues after
// drain.budgetTimeout.
func (p *planner) unfinished(f roll.Finding, last ledger.Action, pol policy.Drain) (ended time.Time, stop bool) {
	again := last.Outcome.At.Add(drainAgain)
	forced := firstBegun(p.State.Actions, last.ID).Add(pol.BudgetTimeout)
	force := pol.Force
	switch {
	case force && !p.Now.Before(forced):
		return roll.Later(forced, last.Outcome.At), false
	case !p.Now.Before(again):
		return time.Time{}, false
	}
	no := p.refuseUntil(again, DrainUnfinished, "%s; it needs a person: have these pods go, or set drain.force to afterBudgetTimeout; the drain is tried again at %s", last.Outcome.Detail, roll.Clock(again))
	if force {
		no = p.refuseUntil(forced, DrainUnfinished, "%s; the next step is taken at %s, when drain.budgetTimeout is over, whatever is left then", last.Outcome.Detail, roll.Clock(forced))
		if again.Before(forced) {
			no.Detail += fmt.Sprintf("; the drain is tried again at %s", roll.Clock(again))
		}
	}
	p.hold(f, Drain, no)
	return time.Time{}, true
}

// firstBegun returns when the first try of an act began.
func firstBegun(actions []ledger.Action, id string) time.Time {
	var first time.Time
	for _, a := range actions {
		if a.ID == id {
			first = roll.Earlier(first, a.At)
		}
	}
	return first
}

// drainAgain is how long after an unfinished drain the next one is tried.
const drainAgain = time.Hour

// noteNext records a step as what happens next to a finding. It keeps the earliest that mode and
// owner allow, and the most severe of several at the same time.
func (p *planner) noteNext(f roll.Finding, step policy.Step, at time.Time) {
	pol, do := p.Policy(f.Selector), step.Do
	switch {
	case do.Acts():
		act := p.actionOf(do, f, pol)
		at = p.notBefore(f, act, at)
		if !mayAct(f, pol, act) || pol.Mode != policy.Remediate || pol.Stop || p.gone {
			return
		}
		if causeOutside(p.State.Actions, f, p.Diagnoses[f.Key()], pol) != nil && act != DeleteNode {
			return
		}
		if p.keptByPerson(f, act) != nil || p.unmarkedObjects(f, act, pol) != nil {
			return
		}
	case do == policy.DoNotify || do == policy.DoWarn:
		if !pol.Mode.Allows(policy.Notify) {
			return
		}
	default:
		return // a tag is not news
	}
	if known := p.out.Steps[f.Key()]; known.Do == "" || known.At.Equal(at) {
		p.out.Steps[f.Key()] = Step{Do: do, At: at, Approve: step.Approve}
	}
}

// notBefore returns the earliest time for an act that is due at the given time: its owner may have
// longer.
func (p *planner) notBefore(f roll.Finding, act Action, at time.Time) time.Time {
	if f.Owner == roll.OwnerKarpenter {
		until, _ := p.karpenterActs(f, act)
		return roll.Later(at, until)
	}
	return roll.Later(at, p.autoscalerActs(f))
}

// order orders an act or holds it. approved is checked last, so that people are asked only if their
// approval causes the act. An act that waits for it uses up no limit.
func (p *planner) order(f roll.Finding, act Action, pol policy.Policy, skipped []string, approved func() (*ledger.Approval, *ledger.ApprovalRequest, *Refusal)) {
	if no := p.objection(f, act, pol); no != nil {
		p.hold(f, act, no)
		return
	}
	known, _ := p.State.Known(f)
	id := p.orderID(f, act)
	stopped := modeObjects(pol)
	var who *ledger.Approval
	switch begun, _ := p.State.Action(id); {
	case stopped != nil:
	case inProgress(p.State, id):
		who = begun.Approved
	default:
		approval, question, no := approved()
		if no != nil {
			p.hold(f, act, no)
			p.out.Held[len(p.out.Held)-1].Question, p.verdicts[f.Key()].held.Question = question, question
			return
		}
		who = approval
	}
	so := p.ordered(pol.Mode)
	so.instances[f.Instance] = true
	if !inProgress(p.State, id) {
		so.groups[""]++
		so.groups[f.Group]++
		if !actedOnLately(p.State.Actions, f.Instance, p.Now) {
			so.anew[""]++
			so.anew[f.Group]++
		}
	}
	if stopped != nil {
		p.hold(f, act, stopped)
		return
	}
	o := Order{
		ID: id, ClusterID: p.Snapshot.Cluster.ID,
		Instance: f.Instance, Node: f.Node, Group: f.Group, Owner: f.Owner, Kind: f.Kind,
		Action: act, FirstSeen: known.FirstSeen, Since: f.Since, At: p.Now, Expires: p.Now.Add(OrderLife),
		Approved: who,
		Why:      strings.Join(slices.Concat([]string{f.Summary}, joinReasons(skipped), p.waiting(f, act)), "; "),
	}
	if d := p.Snapshot.Details[f.Instance]; act == DeleteNodeClaim && d.NodeClaim != nil {
		o.Claim = d.NodeClaim.Name
	}
	p.verdicts[f.Key()] = verdict{order: &o}
	p.out.Orders = append(p.out.Orders, o)
	p.follow(o)
}

// follow asks for the check that reads the outcome of an order that another act may follow. An order
// that could not be tried for a while is repeated by each sweep, not by a check every minute.
func (p *planner) follow(o Order) {
	for k, r := range p.State.Refusals {
		if k.Order == o.ID && p.cannotTry(k, r) {
			return
		}
	}
	if !o.Action.final() {
		p.next(p.Now.Add(advance))
	}
}

// objection returns the first reason against an act, in the order of the list of reasons: faults of
// the whole check, the instance itself, its causes, its owner, the evidence, the state of the
// cluster, the pods, earlier acts and budgets.
func (p *planner) objection(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if p.fault != nil {
		return p.fault
	}
	for _, ask := range []func(roll.Finding, Action, policy.Policy) *Refusal{
		p.targetObjects, p.causeObjects, p.unmarkedObjects, p.ownerObjects, p.unreadObjects, p.sightingObjects, p.clusterObjects, p.podObjects, p.historyObjects, p.budgetObjects,
	} {
		if no := ask(f, act, pol); no != nil {
			return no
		}
	}
	return nil
}

// hold records that an act is held as the verdict of its finding.
func (p *planner) hold(f roll.Finding, action Action, no *Refusal) {
	h := Held{Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind, Action: action, Refusal: *no}
	p.verdicts[f.Key()] = verdict{held: &h}
	delete(p.out.Steps, f.Key()) // a held act does not happen next
	p.out.Held = append(p.out.Held, h)
}

// advance is how soon a check reads the outcome of an act that another one follows.
const advance = time.Minute

// inProgress reports whether an act has begun and continues: a drain, or a cordon whose response
// was lost. Repeating either is harmless.
func inProgress(state ledger.State, id string) bool {
	a, ok := state.Action(id)
	return ok && a.Outcome == nil && (a.Do == string(Drain) || a.Do == string(Cordon))
}

// modeObjects refuses if the policy stops all acts, or the mode allows none.
func modeObjects(pol policy.Policy) *Refusal {
	switch {
	case pol.Stop:
		return refuse(Stopped, "the policy says stop: true, which halts every act in every cluster until it is removed (rollcall resume)")
	case pol.Mode == policy.Remediate:
		return nil
	case pol.Mode == policy.Notify:
		return refuse(ModeNotify, "mode is notify: only the mode prevents it")
	}
	return refuse(ModeObserve, "mode is observe: only the mode prevents it")
}

// joinReasons joins skipped steps that have the same reason: "no cordon and no drain: there is no
// node".
func joinReasons(skipped []string) (out []string) {
	for _, s := range skipped {
		what, why, _ := strings.Cut(s, ": ")
		if last := len(out) - 1; last >= 0 && strings.HasSuffix(out[last], ": "+why) {
			out[last] = strings.TrimSuffix(out[last], ": "+why) + " and " + what + ": " + why
			continue
		}
		out = append(out, s)
	}
	return out
}
