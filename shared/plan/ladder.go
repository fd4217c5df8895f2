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

// actionOf is what a step orders for a finding, "" for steps that only tell. Where the
// policy leaves the ending of instances to Karpenter, its NodeClaim is deleted; an
// orphan has none. Of a stopped instance only the Node is ended.
func (p *planner) actionOf(do policy.Do, f roll.Finding, pol policy.Policy) Action {
	if do == policy.DoTerminate && p.cleanUp(f) {
		return DeleteNode
	}
	if do == policy.DoTerminate && f.Owner == roll.OwnerKarpenter && f.Kind != roll.Orphaned && pol.Owners[f.Owner] == policy.OwnerDeleteNodeClaim {
		return DeleteNodeClaim
	}
	if !do.Acts() {
		return ""
	}
	return Action(do) // they have the same names
}

// ladder is the ladder of a finding, by what a diagnosis found. What is about no instance is
// only told, whatever a policy says.
func (p *planner) ladder(f roll.Finding, pol policy.Policy) []policy.Step {
	steps := pol.Ladder(f, p.Diagnoses[f.Key()])
	if f.Instance.IsInstance() && !f.Kind.OnlyTold() {
		return steps
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s policy.Step) bool { return s.Do != policy.DoWarn && s.Do != policy.DoNotify })
}

// climb takes a finding up its ladder as far as its time, and what became of the acts
// before, allow. One act is ordered at a time; the wait of the step behind it counts
// from its outcome.
func (p *planner) climb(f roll.Finding) {
	pol := p.Policy(f.Selector)
	at := f.Due
	var skipped []string
	var rebooted time.Time
	earlier, _ := p.rebooted(f)
	for _, step := range p.ladder(f, pol) {
		at = at.Add(step.After)
		if boots := rebooted.Add(pol.Reboot.Wait); !rebooted.IsZero() && boots.After(at) {
			at = boots
		}
		// The condition may be from before the reboot: it stays until the monitoring agent's
		// pod is up again.
		if boots := earlier.At.Add(pol.Reboot.Wait); f.Kind == roll.ConditionFailed && step.Do.Acts() && boots.After(at) {
			at = boots
		}
		act := p.actionOf(step.Do, f, pol)
		if act == "" {
			if f.Stage != roll.Overdue || p.Now.Before(at) {
				p.next(at)
				p.announce(f, step.Do, at)
			}
			continue
		}
		if why := p.cannot(f, act); why != "" {
			skipped = append(skipped, why)
			continue
		}
		if f.Stage != roll.Overdue || p.Now.Before(at) {
			p.next(at)
			if step.Doubt == "" {
				p.announce(f, step.Do, at)
			}
			return
		}
		ended, stop := p.past(f, step, act, pol)
		if stop {
			return
		}
		if ended.IsZero() {
			p.announce(f, step.Do, at)
			p.order(f, act, pol, skipped)
			return
		}
		at = ended
		if act == Reboot {
			rebooted = ended
		}
	}
	if f.Kind == roll.Conflict && f.Stage == roll.Overdue {
		act := DeleteNode
		if f.Node == "" {
			act = Terminate
		}
		p.hold(f, act, refuse(Conflicting, "%s: one of the two is wrong, so nothing is done", f.Summary))
	}
	if repair, ok := pol.Repairs(f); ok && repair == roll.RepairHold && f.Stage == roll.Overdue {
		p.hold(f, Reboot, refuse(RepairNeedsPerson, "%s", needsPerson(f, pol)))
	}
}

// needsPerson says why nothing is done about an accelerator that failed.
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

// cannot tells why an act is impossible for the finding and its step is passed over, ""
// if it is possible.
func (p *planner) cannot(f roll.Finding, act Action) string {
	n := p.nodes[f.Instance]
	if f.Kind == roll.Scheduled && !moves(f, act) {
		return fmt.Sprintf("no %s: EC2 does to the instance what it has scheduled", act)
	}
	switch act {
	case Cordon, Drain:
		switch {
		case n == nil:
			return fmt.Sprintf("no %s: there is no node", act)
		case n.Ready.Status == roll.ConditionUnknown:
			return fmt.Sprintf("no %s: its kubelet is silent, so nothing would end the pods", act)
		}
	case Reboot:
		if a, ok := p.rebooted(f); ok {
			return fmt.Sprintf("no second reboot: it was rebooted at %s", roll.Clock(a.At))
		}
		if i := p.instances[f.Instance]; p.cleanUp(f) {
			return fmt.Sprintf("no reboot: the instance is %s", i.State)
		}
		if a, begun := p.State.Action(p.orderID(f, Reboot)); begun && a.Interrupted() {
			return "" // it is done already, and what follows waits for what comes of it
		}
		if c, ok := p.Diagnoses[f.Key()].Decisive(); ok && c.Cure == roll.CureReplace && f.Kind != roll.Impaired {
			return fmt.Sprintf("no reboot: against %s another instance helps", c.Code)
		}
	}
	return ""
}

// cleanUp reports that of a finding only its Node object is left to deal with: its
// instance is stopped, and whoever stopped it may start it again, which registers the
// node anew. Karpenter would end the instance with the Node, so it is left alone there; and
// so is one that is hibernated, whose kubelet does not register again.
func (p *planner) cleanUp(f roll.Finding) bool {
	i := p.instances[f.Instance]
	return i != nil && i.State == roll.StateStopped && !i.Hibernated && p.nodes[f.Instance] != nil && f.Owner != roll.OwnerKarpenter
}

// rebootMemory is how long a reboot of an instance keeps it from the next.
const rebootMemory = 24 * time.Hour

// rebooted finds a reboot for another trouble of the same instance a short while ago.
func (p *planner) rebooted(f roll.Finding) (ledger.Action, bool) {
	own := p.orderID(f, Reboot)
	for _, a := range p.State.Actions {
		if a.Do == string(Reboot) && a.Instance == f.Instance && a.ID != own && p.Now.Sub(a.At) < rebootMemory && a.Interrupted() {
			return a, true
		}
	}
	return ledger.Action{}, false
}

// stuckAfter is how long an act may take to show: EC2 moves an instance to
// shutting-down at once, Karpenter drains a node first.
var stuckAfter = map[Action]time.Duration{
	Terminate: 15 * time.Minute, DeleteNode: 15 * time.Minute, DeleteNodeClaim: time.Hour,
}

// past tells when the finding's act ended, if it is done and the ladder goes on behind
// it; zero if it is to be ordered. stop means that the finding waits, and that what it
// waits for has been noted.
func (p *planner) past(f roll.Finding, step policy.Step, act Action, pol policy.Policy) (ended time.Time, stop bool) {
	a, begun := p.State.Action(p.orderID(f, act))
	if !begun || a.Outcome == nil {
		return time.Time{}, false // in progress: the limits tell whether it goes on
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
		return a.Outcome.At, false // once means once, also if it failed
	}
	return time.Time{}, false // failed: the limits tell when it is tried again
}

// unfinished tells what follows a drain whose time was over with pods left: it is tried
// again, in case they have gone, or budgets allow more, by now. If the policy forces it,
// the ladder goes on behind it after a while; else a person is asked.
func (p *planner) unfinished(f roll.Finding, last ledger.Action, pol policy.Drain) (ended time.Time, stop bool) {
	again := last.Outcome.At.Add(drainAgain)
	forced := p.begun(last.ID).Add(pol.BudgetTimeout)
	force := pol.Force == policy.ForceAfterBudgetTimeout
	switch {
	case force && !p.Now.Before(forced):
		if forced.Before(last.Outcome.At) {
			forced = last.Outcome.At
		}
		return forced, false
	case !p.Now.Before(again):
		return time.Time{}, false
	}
	no := p.passing(again, DrainUnfinished, "%s; it needs a person: have these pods go, or set drain.force to %s; the drain is tried again at %s", last.Outcome.Detail, policy.ForceAfterBudgetTimeout, roll.Clock(again))
	if force {
		no = p.passing(forced, DrainUnfinished, "%s; the next step is taken at %s, when drain.budgetTimeout is over, whatever is left then", last.Outcome.Detail, roll.Clock(forced))
		if again.Before(forced) {
			no.Detail += fmt.Sprintf("; the drain is tried again at %s", roll.Clock(again))
		}
	}
	p.hold(f, Drain, no)
	return time.Time{}, true
}

// begun is when an act was begun first, of all its tries.
func (p *planner) begun(id string) time.Time {
	var first time.Time
	for _, a := range p.State.Actions {
		if a.ID == id && (first.IsZero() || a.At.Before(first)) {
			first = a.At
		}
	}
	return first
}

// drainAgain is how long after an unfinished drain another one is tried.
const drainAgain = time.Hour

// final reports acts after which the instance, or its node, is gone.
func (a Action) final() bool {
	return a == Terminate || a == DeleteNode || a == DeleteNodeClaim
}

// replaced reports acts whose instance the owner replaces.
func (a Action) replaced() bool { return a == Terminate || a == DeleteNodeClaim }

// Told reports acts whose success is worth a notice of its own. That a node was cordoned
// or drained is said with what follows it.
func (a Action) Told() bool { return a.final() || a == Reboot }

// announce notes a step as what follows next for a finding: the earliest that the
// mode and the owner let happen, and of several at one time the gravest.
func (p *planner) announce(f roll.Finding, do policy.Do, at time.Time) {
	pol := p.Policy(f.Selector)
	switch {
	case do.Acts():
		act := p.actionOf(do, f, pol)
		at = p.notBefore(f, act, at)
		if !mayAct(f, pol, act) || pol.Mode != policy.Remediate || pol.Stop || p.gone {
			return
		}
		if p.causeOutside(f, p.Diagnoses[f.Key()], pol) != nil && act != DeleteNode {
			return
		}
		if i := p.instances[f.Instance]; i != nil && taggedOut(*i, p.Now) != nil {
			return
		}
	case do == policy.DoNotify || do == policy.DoWarn:
		if !pol.Mode.Allows(policy.Notify) {
			return
		}
	default:
		return // that a tag is written is no news
	}
	if known := p.out.Steps[f.Key()]; known.Do == "" || known.At.Equal(at) {
		p.out.Steps[f.Key()] = Step{Do: do, At: at}
	}
}

// notBefore is the earliest time of an act that is due at a time: its owner may be given
// longer.
func (p *planner) notBefore(f roll.Finding, act Action, at time.Time) time.Time {
	if f.Owner == roll.OwnerKarpenter {
		if until, _ := p.karpenterActs(f, act); until.After(at) {
			return until
		}
	}
	return at
}

// order orders an act on the finding's instance, or holds it with the first reason
// that objects.
func (p *planner) order(f roll.Finding, act Action, pol policy.Policy, skipped []string) {
	if no := p.objection(f, act, pol); no != nil {
		p.hold(f, act, no)
		return
	}
	known, _ := p.known(f)
	id := p.orderID(f, act)
	so := p.ordered(pol.Mode)
	so.instances[f.Instance] = true
	if !p.inProgress(id) {
		so.groups[""]++
		so.groups[f.Group]++
	}
	if no := modeObjects(pol); no != nil {
		p.hold(f, act, no)
		return
	}
	o := Order{
		ID: id, ClusterID: p.Snapshot.Cluster.ID,
		Instance: f.Instance, Node: f.Node, Group: f.Group, Owner: f.Owner, Kind: f.Kind,
		Action: act, FirstSeen: known.FirstSeen, Since: f.Since, At: p.Now, Expires: p.Now.Add(OrderLife),
		Why: strings.Join(slices.Concat([]string{f.Summary}, once(skipped), p.waiting(f, act)), "; "),
	}
	if d := p.Snapshot.Details[f.Instance]; act == DeleteNodeClaim && d.NodeClaim != nil {
		o.Claim = d.NodeClaim.Name
	}
	p.verdicts[f.Key()] = verdict{order: &o}
	p.out.Orders = append(p.out.Orders, o)
	if !act.final() {
		p.next(p.Now.Add(advance))
	}
}

// advance is how soon a check looks at what became of an act that another one follows.
const advance = time.Minute

// inProgress reports an act that was begun and is to go on: a drain, and a cordon whose
// answer was lost. Both do no harm a second time.
func (p *planner) inProgress(id string) bool {
	a, ok := p.State.Action(id)
	return ok && a.Outcome == nil && (a.Do == string(Drain) || a.Do == string(Cordon))
}

// modeObjects tells whether only a stop, or the mode, holds an act back.
func modeObjects(pol policy.Policy) *Refusal {
	switch {
	case pol.Stop:
		return refuse(Stopped, "the policy says stop: true, which halts every act in every cluster until somebody takes it out (rollcall resume)")
	case pol.Mode == policy.Remediate:
		return nil
	case pol.Mode == policy.Notify:
		return refuse(ModeNotify, "mode is notify: only the mode holds this back")
	}
	return refuse(ModeObserve, "mode is observe: only the mode holds this back")
}

// once says what is passed over for the same reason in one: "no cordon and no drain: there
// is no node".
func once(skipped []string) (out []string) {
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
