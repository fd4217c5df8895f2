package remediate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// verified is a confirmed order, with what its act needs.
type verified struct {
	order   plan.Order // from the new plan: the message is not trusted
	does    act
	ordered time.Time // when the message's order was made, and its tag written
	expires time.Time // when the message's order expires
	limit   int       // limits.actionsPerHour now

	cluster roll.Cluster
	hands   hands          // for acts in the cluster
	node    roll.Node      // for acts on a Node object
	claim   roll.NodeClaim // for delete-nodeclaim
	timeout time.Duration  // for a drain

	seen     Seen
	looked   time.Time // when its last reading began
	keep     Keep
	evidence string // where the evidence is stored

	tried   bool   // an earlier try failed
	before  string // why
	resumed bool   // the intent is already recorded
	begun   time.Time
	at      time.Time // time of the act

	cordoned time.Time // when Rollcall cordoned the node, zero if it did not
}

// cause returns the code of the first decisive cause, "" if none was found.
func (v verified) cause() string {
	c, _ := v.seen.Diagnoses[roll.FindingKey{Instance: v.order.Instance, Kind: v.order.Kind}].Decisive()
	return c.Code
}

// recheck is everything that an order depends on, read and judged again.
type recheck struct {
	Seen
	state  ledger.State
	policy func(roll.Selector) policy.Policy
	looked time.Time
	keep   Keep
}

// verify repeats the verdict and the plan. It returns the confirmed order, or a refusal.
func (r *Remediator) verify(ctx context.Context, o plan.Order, now time.Time) (verified, *Outcome) {
	does, known := acts[o.Action]
	if !known {
		return verified{}, refusal(o, plan.StepUnavailable, "this version cannot %s", o.Action)
	}
	if !now.Before(o.Expires) {
		return verified{}, refusal(o, plan.OrderExpired, "the order of %s expired at %s; if the trouble lasts, a check will order again", o.At.UTC().Format(time.RFC3339), o.Expires.UTC().Format(time.RFC3339))
	}
	l, no := r.lookAgain(ctx, o, now)
	if no != nil {
		return verified{}, no
	}
	made, no := l.confirm(o)
	if no != nil {
		return verified{}, no
	}
	made.Incident = cmp.Or(o.Incident, made.Incident) // whose notice reported the order
	v := verified{
		order: made, does: does, ordered: o.At, expires: o.Expires, cluster: l.Snapshot.Cluster,
		limit: l.policy(roll.Selector{}).Limits.ActionsPerHour, timeout: l.drainTime(o),
		seen: l.Seen, looked: l.looked, keep: l.keep,
	}
	for _, ask := range []func(*verified) *Outcome{l.unmarked, l.subject} {
		if no := ask(&v); no != nil {
			return verified{}, no
		}
	}
	if a, _ := l.state.Action(v.node.CordonedBy); !v.node.CordonedByOthers() && a.Do == string(plan.Cordon) && a.Instance == o.Instance && a.Outcome != nil && a.Outcome.Result == ledger.Done {
		v.cordoned = a.Outcome.At
	}
	if earlier, ok := l.state.Action(o.ID); ok {
		if earlier.Outcome == nil {
			v.resumed, v.begun = true, earlier.At
		} else {
			v.tried, v.before = true, earlier.Outcome.Detail
		}
	}
	return v, r.dial(ctx, &v)
}

// lookAgain reads and judges everything that the order depends on.
func (r *Remediator) lookAgain(ctx context.Context, o plan.Order, now time.Time) (l recheck, no *Outcome) {
	// A second delivery needs no read of the target.
	if _, no = r.remember(ctx, o); no != nil {
		return l, no
	}
	doc, err := r.Policy(ctx)
	if err != nil {
		return l, refusal(o, plan.PolicyUnreadable, "the policy could not be read again: %v", err)
	}
	if no = r.look(ctx, &l, doc, o, now); no != nil {
		return l, no
	}
	if !o.Action.Free() && l.open(o) {
		// The diagnosis takes time, and the state of the target after it decides.
		l.Diagnoses, l.keep = r.Why(ctx, l.Snapshot, l.Assessment.Findings, l.state)
		if no = r.look(ctx, &l, doc, o, now); no != nil {
			return l, no
		}
	}
	// Read the policy again after all other reads: it is the kill switch.
	if doc, err = r.Policy(ctx); err != nil {
		return l, refusal(o, plan.PolicyUnreadable, "the policy could not be read again: %v", err)
	}
	r.judge(ctx, &l, doc, o, now)
	l.Plan = r.Plan(plan.Input{Snapshot: l.Snapshot, Assessment: l.Assessment, State: l.state, Diagnoses: l.Diagnoses, Policy: l.policy, Now: now})
	return l, nil
}

// look reads and judges the target.
func (r *Remediator) look(ctx context.Context, l *recheck, doc *policy.Document, o plan.Order, now time.Time) (no *Outcome) {
	l.looked = r.later(time.Time{})
	l.Snapshot = r.Targets.Target(ctx, o.Name, o.Instance, now, doc.Watch())
	if !l.Snapshot.Whole() {
		return refusal(o, plan.TargetUnreadable, "%s", firstGap(l.Snapshot))
	}
	if l.Snapshot.Cluster.ID != o.ClusterID {
		return refusal(o, plan.VerdictChanged, "the order is for cluster %s, the credentials here see %s", o.ClusterID, l.Snapshot.Cluster.ID)
	}
	// Acts since the first read of the ledger count too.
	if l.state, no = r.remember(ctx, o); no != nil {
		return no
	}
	r.judge(ctx, l, doc, o, now)
	return nil
}

// judge assesses the target under a policy.
func (r *Remediator) judge(ctx context.Context, l *recheck, doc *policy.Document, o plan.Order, now time.Time) {
	l.policy = doc.Cluster(o.Name, l.Snapshot.Cluster.ModeTag, r.Permitted)
	l.Assessment = assess.Thoroughly(assess.Input{Snapshot: l.Snapshot, Policy: l.policy, State: l.state, Now: now},
		func(q []roll.Question) { r.Targets.Details(ctx, l.Snapshot, q) })
}

// open reports whether the order's finding exists and is overdue.
func (l *recheck) open(o plan.Order) bool {
	return slices.ContainsFunc(l.Assessment.Findings, func(f roll.Finding) bool {
		return f.Instance == o.Instance && f.Kind == o.Kind && f.Stage == roll.Overdue
	})
}

// remember reads the ledger. It refuses an order that was carried out, or may have been.
func (r *Remediator) remember(ctx context.Context, o plan.Order) (ledger.State, *Outcome) {
	state, err := r.Ledger.Read(ctx, o.ClusterID)
	if err != nil {
		return state, refusal(o, plan.NotRecorded, "the ledger could not be read: %v", err)
	}
	switch a, begun := state.Action(o.ID); {
	case !begun:
	case a.Outcome == nil && !acts[o.Action].resumes:
		return state, refusal(o, plan.ActionUnresolved, "the order was begun at %s, and has no outcome yet", a.At.UTC().Format(time.RFC3339))
	case a.Outcome != nil && a.Outcome.Result != ledger.Failed:
		return state, refusal(o, plan.AlreadyBegun, "the order was begun before, at %s", a.At.UTC().Format(time.RFC3339))
	}
	return state, nil
}

// confirm returns the order from the new plan, or the refusal if it is not there.
func (l *recheck) confirm(o plan.Order) (plan.Order, *Outcome) {
	for _, made := range l.Plan.Orders {
		switch {
		case made.ID != o.ID && made.Instance == o.Instance && made.Kind == o.Kind && !made.Action.Free():
			return o, refusal(o, plan.VerdictChanged, "the next step for %s is now %s, the order was to %s", o.Instance, made.Action, o.Action)
		case made.ID != o.ID || made.Action != o.Action:
		case made.Claim != o.Claim:
			return made, refusal(o, plan.VerdictChanged, "the NodeClaim of %s is now %q, the order was for %q", o.Instance, made.Claim, o.Claim)
		default:
			return made, nil
		}
	}
	for _, h := range l.Plan.Held {
		if h.Instance == o.Instance && h.Kind == o.Kind {
			return o, refusal(o, h.Reason, "%s", h.Detail)
		}
	}
	hidden := o.Kind == roll.ConditionFailed && slices.ContainsFunc(l.Assessment.Findings, func(f roll.Finding) bool { return f.Instance == o.Instance })
	if !hidden && l.Assessment.Kept[roll.FindingKey{Instance: o.Instance, Kind: o.Kind}] {
		return o, refusal(o, plan.TargetUnreadable, "what the finding %s of %s rests on could not be read again%s", o.Kind, o.Instance, because(l.Snapshot))
	}
	return o, refusal(o, plan.VerdictChanged, "%s", changes(l.Snapshot, l.Assessment, o))
}

// because lists what could not be read of the target, as the end of a sentence.
func because(s *roll.Snapshot) string {
	if len(s.Gaps) == 0 {
		return ""
	}
	return ": " + s.Gaps[0].Detail
}

// drainTime returns the time limit of a drain for the order's finding.
func (l *recheck) drainTime(o plan.Order) time.Duration {
	for _, f := range l.Assessment.Findings {
		if f.Instance == o.Instance && f.Kind == o.Kind {
			return l.policy(f.Selector).Drain.Timeout
		}
	}
	return l.policy(roll.GroupSelector(o.Group)).Drain.Timeout
}

// unmarked refuses if the order's tag is not on the instance.
func (l *recheck) unmarked(v *verified) *Outcome {
	o, i := v.order, l.Snapshot.Instance(v.order.Instance)
	if !v.does.marked || i == nil && !v.does.leashed {
		return nil
	}
	if i != nil && i.Marks != nil && i.Marks.Order == o.ID {
		return nil
	}
	return refusal(o, plan.OrderUnmarked, "%s does not carry %s=%s: the tag was not written (an instance can have 50 tags), was removed, or EC2 does not show it yet", o.Instance, roll.TagOrder, o.ID)
}

// subject finds the object that the act changes, as just read. The call names its uid.
func (l *recheck) subject(v *verified) *Outcome {
	o := v.order
	if o.Action.OnNode() {
		i := slices.IndexFunc(l.Snapshot.Nodes, func(n roll.Node) bool { return n.Instance == o.Instance && n.Name == o.Node })
		if i < 0 || l.Snapshot.Nodes[i].UID == "" {
			return refusal(o, plan.VerdictChanged, "there is no node %s of %s any more", o.Node, o.Instance)
		}
		v.node = l.Snapshot.Nodes[i]
	}
	if o.Action == plan.DeleteNodeClaim {
		d := l.Snapshot.Details[o.Instance]
		if d.HasNodeClaim != roll.Yes || d.NodeClaim == nil || d.NodeClaim.UID == "" || d.NodeClaim.Name != o.Claim {
			return refusal(o, plan.VerdictChanged, "NodeClaim %s no longer has %s", o.Claim, o.Instance)
		}
		v.claim = *d.NodeClaim
	}
	return nil
}

// dial connects to the cluster, before any intent is recorded.
func (r *Remediator) dial(ctx context.Context, v *verified) *Outcome {
	if v.does.leashed {
		return nil // done through EC2
	}
	var err error
	if v.hands, err = r.reach(v.cluster); err != nil {
		_, detail := kube.Fault(v.cluster, err, r.Principal(ctx))
		return refusal(v.order, plan.TargetUnreadable, "%s", detail)
	}
	return nil
}

// changes describes how the target differs from the order's finding.
func changes(s *roll.Snapshot, a assess.Assessment, o plan.Order) string {
	for _, f := range a.Findings {
		if f.Instance == o.Instance {
			if f.Kind != o.Kind {
				return fmt.Sprintf("the finding is now %s, the order was for %s", f.Kind, o.Kind)
			}
			if f.Stage == roll.Overdue && !o.Action.Free() {
				return fmt.Sprintf("the ladder of %s no longer comes to %s", f.Kind, o.Action)
			}
			return fmt.Sprintf("the finding is now %s: %s", f.Stage, f.Summary)
		}
	}
	if o.Action == plan.Uncordon {
		return fmt.Sprintf("node %s is no longer one that Rollcall cordoned and that is Ready again", o.Node)
	}
	if o.Action == plan.OutOfService {
		return fmt.Sprintf("node %s is no longer one that is left of an instance that Rollcall terminated", o.Node)
	}
	i := s.Instance(o.Instance)
	if i == nil {
		return fmt.Sprintf("EC2 does not know %s any more", o.Instance)
	}
	if i.State != roll.StateRunning {
		return fmt.Sprintf("%s is now %s", o.Instance, i.State)
	}
	for _, n := range s.Nodes {
		switch {
		case n.Instance != o.Instance:
		case n.Ready.Status == roll.ConditionTrue:
			return fmt.Sprintf("node %s of %s is registered and Ready now", n.Name, o.Instance)
		case o.Node == "":
			return fmt.Sprintf("node %s of %s is registered now, and has time left to become Ready", n.Name, o.Instance)
		}
	}
	for _, n := range a.NotNodes {
		if n.Instance == o.Instance {
			return n.Why
		}
	}
	for _, note := range a.Notes {
		if strings.Contains(note, string(o.Instance)) {
			return note
		}
	}
	return fmt.Sprintf("nothing is wrong with %s any more", o.Instance)
}

func firstGap(s *roll.Snapshot) string {
	for _, g := range s.Gaps {
		if g.Scope != roll.ScopeDetail {
			return g.Detail
		}
	}
	return "the target could not be read whole"
}
