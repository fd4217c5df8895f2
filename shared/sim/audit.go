package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// Rule names a rule that must never be broken.
type Rule string

// The rules, by what must not happen. README.md says it in full.
const (
	RuleHealthy     Rule = "healthy-node"     // an act on what remediate's own last read showed healthy
	RuleMode        Rule = "mode"             // a write or notice in mode observe, or an act in mode notify
	RuleBudget      Rule = "budget"           // more acts on a cluster within an hour than the policy allows
	RuleShare       Rule = "unhealthy-share"  // an order while too many nodes are past their tolerance
	RuleWhole       Rule = "whole-look"       // an order or act after an incomplete observation
	RuleTwice       Rule = "seen-twice"       // an order about what no two checks, a minute apart, found
	RuleTolerance   Rule = "tolerance"        // an order or act before the fault has lasted for as long as is tolerated
	RuleLadder      Rule = "ladder"           // an act that is no step of its ladder, is too early, or skips a step
	RuleFresh       Rule = "fresh"            // an act that depends on what was read long before, or whose order expired
	RuleDeadline    Rule = "deadline"         // no check when the tolerance of the only ill machine ends
	RuleIntent      Rule = "intent"           // an act without its recorded intent
	RuleEvidence    Rule = "evidence"         // an act without stored evidence of what it removes
	RuleOnce        Rule = "once"             // an order that is carried out twice, or two reboots within a day
	RuleRole        Rule = "role"             // an act by another function than remediate
	RuleApproval    Rule = "approval"         // an act behind an approve rung that nobody approved in time
	RuleKept        Rule = "held-by-a-person" // an act on what a person holds or protects
	RuleUnlaunched  Rule = "unlaunched"       // failing launches without one notice, or with a wrong cause or group
	RuleReport      Rule = "report"           // what is found, done or held is not reported, or reported twice
	RuleFirst       Rule = "told-first"       // a termination or reboot without a notice before it
	RuleEnd         Rule = "end-told"         // the end of an incident without a notice, or a notice before its end
	RuleNoise       Rule = "noise"            // too many notices of an incident
	RuleRecord      Rule = "record"           // an act that is recorded as done and was not, or as failed and was done
	RuleCure        Rule = "cure"             // what a replacement cures is neither remediated in time nor held with a reason
	RuleChecked     Rule = "checked"          // a cluster that is not checked repeatedly, or long after it was due
	RuleTidy        Rule = "tidy"             // tags and findings that stay although everything is healthy
	RuleSchedule    Rule = "schedule"         // a schedule that outlives its time
	RuleCordon      Rule = "cordoned"         // a cordon of Rollcall's that outlives its cause by an hour
	RuleLetters     Rule = "dead-letters"     // a dead letter that a function could have handled
	RuleOwner       Rule = "owner"            // an act while the owner has time to act
	RulePace        Rule = "pace"             // another machine of a group is terminated before its replacement works
	RuleRepeats     Rule = "repeats"          // replacements that fail like what they replaced
	RuleZone        Rule = "zone"             // an order about a zone that is down, or away from which the cluster is shifted
	RuleGroup       Rule = "group"            // an act in a group that may not, or cannot, replace what it loses
	RuleStopped     Rule = "stopped"          // an act after a person stopped Rollcall, or removed the policy
	RuleBacklog     Rule = "backlog"          // an act about what was ill before the first check, or found in a lower mode
	RuleForeign     Rule = "foreign"          // an act on what is no node of the cluster
	RuleBooting     Rule = "booting"          // the termination of a machine that boots after Rollcall's reboot
	RuleServing     Rule = "serving"          // an act on a machine with a pod that must not be terminated, or is drained first
	RuleAtRest      Rule = "at-rest"          // an act on a machine that a person or its group took out of service
	RuleDisrupted   Rule = "disrupted"        // an act about a node that Karpenter is removing
	RuleFrozen      Rule = "frozen"           // an act on what works but is silent for the minutes of an upgrade
	RuleBeside      Rule = "beside"           // an act about a node of Auto Mode, Cluster API, Fargate or a hybrid machine
	RuleExplained   Rule = "explained"        // Karpenter terminates what did not register, and no notice reported it
	RuleVain        Rule = "in-vain"          // an act that cannot cure the fault, as far as that can be read
	RuleScheduled   Rule = "scheduled"        // more than a timely cordon and drain before a scheduled event of EC2
	RuleAccelerator Rule = "accelerator"      // an act for a failed accelerator that the policy does not want, or that does not cure it
	RuleStuck       Rule = "stuck"            // an object that was deleted and stays is not reported, or another one is
	RuleLeft        Rule = "left"             // what outlived a terminated machine is not reported, or something else is
	RuleTruth       Rule = "truth"            // a reason for a held act that is false
	RuleCause       Rule = "cause"            // a decisive cause that is not what was done to the machine
	RuleHarm        Rule = "harm"             // pods that the fault did not stop are interrupted for long
)

// Violation is a rule that was broken.
type Violation struct {
	At     time.Time
	Rule   Rule
	Detail string
}

// auditor applies the rules as documented, not as the product implements them, to the answers and the true state.
type auditor struct {
	a          *account
	violations []Violation

	effects map[string][]effect // by cluster
	done    map[string]int      // how often an order's act took effect, by order and act
	reboots map[string]time.Time
	kept    map[[3]string]bool // evidence, by cluster, instance and order
	checks  map[string]looked
	// held maps what is held to the reason that the history reported last.
	held      map[string]map[about]string // by cluster
	since     map[about]time.Time         // when the hold for a passing reason began
	barred    map[about]time.Time         // when one was last held for another reason
	said      map[saidKey]saying
	unsent    map[saidKey]time.Time          // when a notice about a kind of trouble in a group could not be sent last
	outcomes  map[string]saying              // notices of outcomes, by order and outcome
	acted     map[string]owed                // outcomes that must still be reported, by order
	firstSeen map[string]map[about]foundThen // what the checks of a cluster found
	// queue is how many machines were ill at once since none was. They are cured one after the other.
	queue     map[*cluster]int
	policies  policies
	sense     sense
	verdicts  verdicts
	records   records
	harms     harms
	approvals approvals
	truths    truths
	times     times
	inVain    map[*node]time.Time     // when a node began to be cordoned without a cause
	excused   map[string]int          // how many receives of a message met a fault
	taken     map[[2]string]time.Time // when an act was last done, by machine and act
	sightless map[string]*sightless   // by cluster name
	misstated []Violation             // in the order of time
}

type effect struct {
	at       time.Time
	instance string
	what     act
}

// looked is the last complete check of a cluster.
type looked struct {
	at time.Time
	checkup
	heldBack map[about]withheld
}

// saidKey identifies what a notice is about.
type saidKey struct{ cluster, group, kind, instance string }

type saying struct {
	what string
	inv  *invocation
	read int64 // the version of the notices that the invocation had read
}

func (inv *invocation) said(what string) saying { return saying{what, inv, inv.seen.notices} }

type owed struct {
	at   time.Time
	what string
	inv  *invocation
}

func newAuditor(a *account) *auditor {
	return &auditor{
		a: a, effects: map[string][]effect{}, done: map[string]int{}, reboots: map[string]time.Time{}, kept: map[[3]string]bool{}, checks: map[string]looked{},
		held: map[string]map[about]string{}, since: map[about]time.Time{}, barred: map[about]time.Time{}, said: map[saidKey]saying{}, unsent: map[saidKey]time.Time{}, outcomes: map[string]saying{}, acted: map[string]owed{},
		firstSeen: map[string]map[about]foundThen{}, queue: map[*cluster]int{}, inVain: map[*node]time.Time{}, excused: map[string]int{},
		taken: map[[2]string]time.Time{}, sightless: map[string]*sightless{}, harms: harms{of: map[*cluster][]harmed{}},
		sense:     sense{replaced: map[*group][]effect{}, proven: map[*group]time.Time{}, worked: map[string]bool{}, brought: map[*group]time.Time{}, shown: map[string]bool{}, told: map[saidKey]bool{}, incidents: map[string]saying{}, down: map[string]down{}, spared: map[about]saying{}, eased: map[about]saying{}},
		verdicts:  verdicts{first: map[string]time.Time{}, whole: map[string][]time.Time{}, clean: map[string][]time.Time{}, moded: map[string][]time.Time{}, latest: map[string]*invocation{}, losses: map[*group][]*loss{}, tried: map[launchedFrom]bool{}, lowered: map[*group][]span{}, meanwhile: map[about]meanwhile{}, opened: map[about]opening{}, quiet: map[*group]time.Time{}, blind: map[*cluster]time.Time{}, alone: map[*machine]*waiting{}},
		records:   records{announced: map[string]bool{}, reasons: map[saidKey]bool{}, ended: map[string]bool{}, open: map[string]*openIncident{}, closed: map[string]saying{}, later: map[string]string{}, recovered: map[string]time.Time{}, terminated: map[string]time.Time{}, lasting: map[string]map[withheld]time.Time{}, found: map[about]*invocation{}},
		truths:    truths{last: map[[2]string]time.Time{}, trouble: map[string]time.Time{}, seen: map[string]map[about][]*invocation{}, doubted: map[string]map[withheld]bool{}, untrue: map[string]map[caused]time.Time{}},
		times:     times{of: map[*node]absence{}, expires: map[string]time.Time{}, announced: map[string]map[string]announcement{}, waiting: map[*cluster]span{}},
		approvals: approvals{asked: map[string]request{}, given: map[string]time.Time{}, accepted: map[string]time.Time{}},
		policies:  newPolicies(),
	}
}

func (u *auditor) broken(rule Rule, format string, args ...any) {
	v := Violation{At: u.a.Now(), Rule: rule, Detail: fmt.Sprintf(format, args...)}
	u.violations = append(u.violations, v)
	u.a.note(Event{Kind: EventViolated, Detail: string(v.Rule) + ": " + v.Detail})
}

func (u *auditor) forbids(rule Rule, is bool, format string, args ...any) {
	if is {
		u.broken(rule, format, args...)
	}
}

func (what act) destructive() bool {
	switch what {
	case actTag, actUntag, actUncordon, actOutOfService:
		return false
	}
	return true
}

// did audits an act right before it takes effect. m is nil for a Node without a machine.
func (inv *invocation) did(what act, c *cluster, m *machine, n *node) {
	u, group, id, of := inv.v.a.audit, "none", "", m
	if m == nil && n != nil {
		of = n.machine
	}
	if of != nil {
		group, id = of.g.groupName(), of.id
	}
	if n != nil && n.provider != "" && n.guest == "" && what != actTerminate && what != actReboot {
		id = n.provider[strings.LastIndexByte(n.provider, '/')+1:] // the Node still names the previous machine
	}
	mode := u.policyFor(inv, c, group, of).mode
	if what == actTag || what == actUntag {
		u.forbids(RuleMode, mode < mayNotify, "%s: %s of %s in mode %s", inv.name, what, id, mode)
		return
	}
	e := Event{Kind: EventAct, Cluster: c.name, Instance: id, Group: group, Action: string(what)}
	if n != nil {
		e.Node = n.name
	}
	u.a.note(e)
	if what == actUncordon {
		u.givenBack(inv, id)
		return // it undoes an act
	}
	u.forbids(RuleRole, inv.v.fn != remediator, "%s: %s of %s", inv.name, what, id)
	u.forbids(RuleMode, mode < mayRemediate || !inv.v.policy.read, "%s: %s of %s in mode %s", inv.name, what, id, mode)
	u.forbids(RuleMode, !inv.seen.policy, "%s: %s of %s by a policy that was not read again", inv.name, what, id)
	if what == actOutOfService {
		if m != nil && m.state != terminated {
			u.broken(RuleHealthy, "%s: node %s was marked as out of service, and its machine %s is %s", inv.name, e.Node, id, m.state)
		}
		return
	}
	u.whole(inv, what, id)
	u.healthy(inv, what, id)
	u.sensible(inv, what, m)
	u.judged(inv, what, c, m, n)
	u.interrupts(inv, what, m)
	intent := u.intent(inv, what, c, id)
	u.fresh(inv, what, id, intent.ID)
	u.permitted(inv, what, m, intent)
	u.climbed(inv, what, m, intent)
	if m != nil && m.state == running {
		u.protects(inv, what, m)
		u.afterOwner(inv, what, m, intent)
		u.drained(inv, what, m, intent)
		u.inTurn(inv, what, m)
	}
	u.toldFirst(inv, what, c, group, intent)
	if what != actEvict && what != actCordon {
		u.once(inv, what, id, intent.ID)
	}
	u.effect(inv, what, c, id)
}

// whole checks that the observation before an act was complete.
func (u *auditor) whole(inv *invocation, what act, id string) {
	s := &inv.seen
	u.forbids(RuleWhole, s.status != "ACTIVE", "%s: %s of %s while the cluster was last seen as %q", inv.name, what, id, s.status)
	u.forbids(RuleWhole, !s.nodes.whole(), "%s: %s of %s after a listing of nodes that was not whole", inv.name, what, id)
	u.forbids(RuleWhole, !s.looked[id].ok, "%s: %s of %s, which was not looked up again before", inv.name, what, id)
}

// healthy checks an act against the last observation of its target.
func (u *auditor) healthy(inv *invocation, what act, id string) {
	if l := inv.seen.looked[id]; l.instance != nil {
		for _, t := range l.instance.Tags {
			if *t.Key == roll.TagHold && keepsAsIs(*t.Value, u.a.Now()) || *t.Key == roll.TagIgnore && !declines(*t.Value) {
				u.broken(RuleKept, "%s: %s of %s, which carries %s=%s", inv.name, what, id, *t.Key, *t.Value)
			}
		}
	}
	for _, n := range inv.seen.nodesOf(id) {
		if wellNode(n) && !u.moving(inv, what, u.a.machines[id]) && !u.repairing(inv, what, u.a.machines[id], n) {
			u.broken(RuleHealthy, "%s: %s of %s, whose node %s was last seen Ready and ready for work", inv.name, what, id, n.Name)
		}
	}
}

// intent checks that the intent was recorded and the evidence stored before the act. It returns the record, if any.
func (u *auditor) intent(inv *invocation, what act, c *cluster, id string) ledger.Action {
	state := u.a.dep.state(c.name)
	i := slices.IndexFunc(state.Actions, func(a ledger.Action) bool {
		// A drain cordons a node that is not cordoned.
		return string(a.Instance) == id && a.Outcome == nil && (a.Do == acts[what] || what == actCordon && a.Do == acts[actEvict])
	})
	if i < 0 {
		u.forbids(RuleIntent, !inv.begun.Before(u.verdicts.forgotten), "%s: %s of %s without an intent on record", inv.name, what, id)
		return ledger.Action{}
	}
	intent := state.Actions[i]
	u.forbids(RuleEvidence, !u.kept[[3]string{c.name, id, intent.ID}], "%s: %s of %s, order %s, of which no evidence is kept", inv.name, what, id, intent.ID)
	if i := inv.seen.looked[id].instance; i != nil && what != actDeleteNode && !slices.ContainsFunc(i.Tags, func(t types.Tag) bool { return *t.Key == roll.TagOrder && *t.Value == intent.ID }) {
		u.broken(RuleKept, "%s: %s of %s, which does not carry the tag of order %s: a person may have removed it", inv.name, what, id, intent.ID)
	}
	return intent
}

func (u *auditor) once(inv *invocation, what act, id, order string) {
	key := order + " " + string(what)
	u.done[key]++
	u.forbids(RuleOnce, u.done[key] > 1 && order != "", "%s: %s of %s for the %d. time by order %s", inv.name, what, id, u.done[key], order)
	if what == actReboot {
		last, ok := u.reboots[id]
		u.forbids(RuleOnce, ok && u.a.Now().Sub(last) < 24*time.Hour, "%s: %s is rebooted again after %s", inv.name, id, u.a.Now().Sub(last))
		u.reboots[id] = u.a.Now()
	}
	if order != "" {
		u.acted[order] = owed{at: u.a.Now(), what: string(what) + " of " + id, inv: inv}
	}
}

// slack is the most by which the times of intents, from which budgets count, may differ from those of
// the acts. Clock skew, the duration of a function and rounded-up due times cause the difference.
const slack = 4 * time.Minute

// effect counts an act against the budget of its cluster.
func (u *auditor) effect(inv *invocation, what act, c *cluster, id string) {
	now := u.a.Now()
	recent := u.effects[c.name][:0]
	used := map[string]bool{id: true}
	for _, e := range u.effects[c.name] {
		if now.Sub(e.at) < time.Hour-slack {
			recent = append(recent, e)
			used[e.instance] = true
		}
	}
	u.effects[c.name] = append(recent, effect{now, id, what})
	limit := u.policy(inv, c, "").count("limits.actionsPerHour")
	u.forbids(RuleBudget, len(used) > limit, "%s: %s of %s is about the %d. instance of %s within an hour, limits.actionsPerHour is %d", inv.name, what, id, len(used), c.name, limit)
}

func (u *auditor) ordered(inv *invocation, body string) {
	o, err := readOrder(body)
	if err != nil {
		u.broken(RuleReport, "%s: an order that cannot be read: %v", inv.name, err)
		return
	}
	c := u.a.byName[o.Cluster]
	u.a.note(Event{Kind: EventOrder, Cluster: c.name, Instance: o.Instance, Node: o.Node, Group: o.Group, Finding: o.Kind, Action: o.Action, Detail: o.Why})
	mode := u.policyFor(inv, c, o.Group, u.a.machines[o.Instance]).mode
	u.forbids(RuleMode, mode < mayRemediate, "%s: ordered to %s %s in mode %s", inv.name, o.Action, o.Instance, mode)
	switch act(o.Action) {
	case actUncordon:
		u.givenBack(inv, o.Instance)
		return
	case actOutOfService:
		return
	}
	u.times.expires[o.ID] = o.Expires
	s := &inv.seen
	if s.status != "ACTIVE" || !s.nodes.whole() || !s.instances.whole() {
		u.broken(RuleWhole, "%s: ordered to %s %s after a look at %s that was not whole", inv.name, o.Action, o.Instance, c.name)
		return
	}
	if m := u.a.machines[o.Instance]; m != nil {
		no := u.misjudged(inv, o.Kind, m)
		u.forbids(RuleLadder, no != "", "%s: ordered to %s %s (%s) for %s, and %s", inv.name, o.Action, o.Instance, state(m), o.Kind, no)
	}
	u.forbids(RuleTwice, o.FirstSeen.IsZero() || o.At.Sub(o.FirstSeen) < time.Minute, "%s: ordered to %s %s at %s, first seen at %s", inv.name, o.Action, o.Instance, o.At.Format(time.TimeOnly), o.FirstSeen.Format(time.TimeOnly))
	u.forbids(RuleTwice, !inv.sawBefore(u, o), "%s: ordered to %s %s, which no earlier check found", inv.name, o.Action, o.Instance)
	u.share(inv, c, o)
	u.affordable(inv, c, o)
	u.triedLong(inv, c, o)
	u.seenAnew(inv, o)
	u.cooled(inv, c, o)
	u.letRecover(inv, c, o)
	u.frozenTogether(inv, c, o)
	u.zoned(inv, c, o)
	u.justly(inv, c, o)
}

// share checks the nodes that the invocation saw certainly past their tolerance against the limit.
func (u *auditor) share(inv *invocation, c *cluster, o order) {
	of := func(group string, i *types.Instance) *terms {
		s := u.selects(c, group)
		s.suggested = suggests(string(i.Platform), string(i.InstanceType))
		return u.selected(inv, s)
	}
	// A kubelet with a slow clock dates its trouble too early; Rollcall counts from the check that found it.
	unsure := func(id string) bool {
		m := u.a.machines[id]
		return u.nodeless(inv, id) || m != nil && m.clock < 0
	}
	counted := inv.seen.count(o.At.Add(-time.Minute), of, unsure)
	for _, group := range []string{"", o.Group} {
		sick, allowed := counted.sick[group], allowedSick(counted.of[group], u.policy(inv, c, group).count("limits.unhealthy"))
		u.forbids(RuleShare, group != "none" && sick > allowed, "%s: ordered to %s %s while %d of %d of %s are past their tolerance, %d may be", inv.name, o.Action, o.Instance, sick, counted.of[group], cmp.Or(group, c.name), allowed)
	}
}

// allowedSick is a second implementation of the README's formula.
func allowedSick(n, percent int) int {
	share := n * percent / 100
	if share*100 < n*percent {
		share++
	}
	return max(share, min(2, n-1), 1)
}

func (u *auditor) stored(inv *invocation, key archive.Key, files map[string][]byte) {
	u.complete(inv, key, files)
	u.kept[[3]string{key.Cluster.Name, string(key.Instance), key.Stage}] = true
}

func (u *auditor) planned(inv *invocation, c checkup) {
	u.withheld(c)
	u.truthful(inv, c)
	u.readWhole(inv, c)
	u.lookedAt(inv, c)
	u.inTime(inv, c.cluster)
	if !c.whole {
		return
	}
	u.checkedWhole(inv, c.cluster)
	u.sightings(inv, c)
	u.truths.sighted(c, inv)
	for _, key := range c.found {
		u.records.found[key] = inv
	}
	if of := u.a.byName[c.cluster]; of != nil {
		u.opens(inv, of, c)
		u.holdsTold(of, c)
	}
	l := looked{at: u.a.Now(), checkup: c, heldBack: map[about]withheld{}}
	for _, h := range c.held {
		l.heldBack[h.about] = h
		if h.reason == "ModeNotify" || h.reason == "ModeObserve" {
			u.heldByMode(inv, c.cluster, h.about)
		}
		if !passes[h.reason] {
			u.barred[h.about] = u.a.Now()
			delete(u.since, h.about)
		} else if _, ok := u.since[h.about]; !ok {
			u.since[h.about] = u.a.Now()
		}
	}
	for key := range u.checks[c.cluster].heldBack {
		if _, ok := l.heldBack[key]; !ok {
			delete(u.since, key)
		}
	}
	u.checks[c.cluster] = l
}

// withheld reports held acts to the history, once for each reason. What an incomplete check did not observe stays held.
func (u *auditor) withheld(c checkup) {
	before, now := u.held[c.cluster], map[about]string{}
	for _, h := range c.held {
		if now[h.about] = h.reason; before[h.about] != h.reason {
			u.a.note(Event{Kind: EventHeld, Cluster: c.cluster, Instance: h.instance, Node: h.node, Group: h.group, Finding: h.kind, Action: h.action, Reason: h.reason, Detail: h.detail})
		}
	}
	for key, reason := range before {
		if _, seen := now[key]; !seen && !c.whole {
			now[key] = reason
		}
	}
	u.held[c.cluster] = now
}

// foundThen is since when something is found, and gone, for checks that began before another one found it no more.
type foundThen struct{ first, gone time.Time }

// sightings records what a check found, if what it read shows that, and drops what it no longer finds. It was
// found when it had read the nodes: the diagnosis and the notices may take a minute after that.
func (u *auditor) sightings(inv *invocation, c checkup) {
	at, begun := u.a.Now(), inv.begun
	before, now := u.firstSeen[c.cluster], map[about]foundThen{}
	for _, key := range c.found {
		m := u.a.machines[key.instance]
		if _, known := before[key]; known || m == nil || u.misjudged(inv, key.kind, m) == "" {
			now[key] = foundThen{first: inv.seen.nodes.at}
		}
	}
	for key, was := range before {
		switch _, found := now[key]; {
		case was.gone.IsZero() && (found || c.kept[key]):
			now[key] = was
		case found && was.gone.After(begun): // another check has ended it since
			now[key] = foundThen{first: was.first}
		case !found && was.gone.IsZero():
			now[key] = foundThen{was.first, at}
		case !found && at.Sub(was.gone) < slack:
			now[key] = was
		}
	}
	u.firstSeen[c.cluster] = now
}

// forgets handles the end of a finding: if it comes back, it may be reported again.
func (u *auditor) forgets(cluster string, key about) {
	for said := range u.said {
		if said.instance == key.instance && said.kind == key.kind {
			delete(u.said, said)
		}
	}
	delete(u.held[cluster], key)
}

func (u *auditor) published(inv *invocation, subject, message string, attributes map[string]string) {
	var parts struct{ Default, Email string }
	var d noticed
	if err := json.Unmarshal([]byte(message), &parts); err != nil {
		u.broken(RuleReport, "%s: a notice that cannot be read: %v", inv.name, err)
		return
	}
	if err := json.Unmarshal([]byte(parts.Default), &d); err != nil {
		u.broken(RuleReport, "%s: a notice that cannot be read: %v", inv.name, err)
		return
	}
	if attributes["cluster"] != d.Cluster || attributes["group"] != d.Group || attributes["kind"] != d.Kind || attributes["action"] != d.Action {
		u.broken(RuleReport, "%s: the attributes %v of a notice are not those of its document (%s, %s, %s, %s)", inv.name, attributes, d.Cluster, d.Group, d.Kind, d.Action)
	}
	e := Event{Kind: EventNotice, Cluster: d.Cluster, Group: d.Group, Finding: d.Kind, Cause: d.Cause, Action: d.Action, Subject: subject, Text: parts.Email}
	if len(d.Instances) == 1 {
		e.Instance, e.Node = d.Instances[0].Instance, d.Instances[0].Node
	}
	u.a.note(e)
	if c := u.a.byName[d.Cluster]; c != nil {
		of := u.selects(c, d.Group)
		if d.Kind == "Cluster" && !u.knowsTag(inv, c) {
			of.clusterTag = "" // no check has read it
		}
		mode := u.selected(inv, of).mode
		u.forbids(RuleMode, mode < mayNotify && d.Ordered == "", "%s: published %q in mode %s", inv.name, subject, mode)
	}
	u.tells(d)
	u.toldOfCluster(inv, d)
	u.asks(d)
	u.tellsOf(inv, d)
	u.stuck(inv, d)
	u.left(inv, d)
	u.unlaunched(inv, d)
	u.refers(inv, subject, d)
	u.figures(inv, d)
	switch {
	case d.Ordered != "":
		u.outcome(inv, d)
	case d.Action == "resolved":
		u.explained(inv, d)
		u.endedAs(inv, d)
		u.over(inv, d)
		for key := range u.said {
			if key.cluster == d.Cluster && key.group == d.Group && key.kind == d.Kind {
				delete(u.said, key)
			}
		}
	default:
		u.repeated(inv, d)
	}
}

// explained checks that the notice about an interrupted Spot Instance says that EC2 interrupted it.
func (u *auditor) explained(inv *invocation, d noticed) {
	for _, e := range d.Ended {
		m := u.a.machines[e.Instance]
		listed := m != nil && m.omitted.Before(inv.begun) && len(m.shownTags) > 0 // then its state shows it, even if the warning was lost
		if listed && m.taken && e.How == "gone" && e.Spot != string(roll.SpotInterruption) && !u.verdicts.forgotten.After(m.ended.Add(-spotWarning)) {
			u.broken(RuleReport, "%s: %s is told to be gone, and not that EC2 took it back at %s", inv.name, m.id, m.ended.Format(time.TimeOnly))
		}
	}
}

// knowsTag reports whether the invocation read the cluster's tag, or the ledger has it from an earlier check.
func (u *auditor) knowsTag(inv *invocation, c *cluster) bool {
	return inv.seen.described != "" || u.recorded(c.name, latest(c.retagged, u.verdicts.forgotten)).Before(inv.begun)
}

// endedAs checks how a notice says that the trouble of each machine ended.
func (u *auditor) endedAs(inv *invocation, d noticed) {
	for _, e := range d.Ended {
		m := u.a.machines[e.Instance]
		if m == nil || !m.c.exists() {
			continue
		}
		wrong := ""
		switch {
		case e.How == "recovered" && u.lately("at rest", m.id) && m.state != running:
			if u.a.Now().Sub(m.restedAt) > u.shownWithin(inv)+lag {
				wrong = "is stopped since " + m.restedAt.Format(time.TimeOnly)
			}
		case e.How == "recovered" && m.state == running && m.node != nil:
			if r := m.node.ready(); r.Status != corev1.ConditionTrue && u.a.Now().Sub(r.LastTransitionTime.Time) > lag {
				wrong = fmt.Sprintf("its node is %s since %s", r.Status, r.LastTransitionTime.Format(time.TimeOnly))
			}
		case e.How == "recovered" && m.state == running && len(inv.seen.nodesOf(m.id)) == 0 && !u.lately("vanished", m.id) && m.elsewhere == "" && !m.disowned:
			wrong = "has no node"
		case e.How == "gone" && m.alive() && !m.disowned, e.How == "acted" && d.Kind != string(roll.Ghost) && e.After != acts[actDeleteNode] && m.alive():
			wrong = "is " + state(m)
		case e.How == "stopped" && !u.lately("at rest", m.id), e.How == "not-in-service" && !u.lately("aside", m.id):
			wrong = "is in service, and " + state(m)
		case e.How == "changed" && m.event == nil && m.ail == well && !u.anyLately(m.id, "ill", "starved", "tainted", "unlabelled", "vanished") && u.truths.seen[d.Cluster][about{m.id, string(roll.Flapping)}] == nil:
			wrong = "works"
		}
		u.forbids(RuleEnd, wrong != "", "%s: the trouble of %s is told to have ended (%s), and it %s", inv.name, m.id, e.How, wrong)
	}
}

// outcome checks that the outcome of an order is reported once.
func (u *auditor) outcome(inv *invocation, d noticed) {
	for _, i := range d.Instances {
		key := i.Order + " " + d.Action + " " + i.Held + " " + i.Detail
		// An invocation that cannot read what was reported may report it once more.
		if before, ok := u.outcomes[key]; ok && before.inv.known(inv) && !inv.failed {
			u.broken(RuleReport, "%s: the outcome of order %s (%s) is told a second time, first by %s", inv.name, i.Order, d.Action, before.inv.name)
		}
		u.outcomes[key] = inv.said(d.Action)
		u.refusedTruly(inv, d, i)
		delete(u.acted, i.Order)
	}
}

// refusedTruly checks why remediate refused an order, except reasons that a look at one instance shows too little of.
func (u *auditor) refusedTruly(inv *invocation, d noticed, i noticedInstance) {
	c, m, known := u.a.byName[d.Cluster], u.a.machines[i.Instance], ofMachine[i.Held] != nil
	if c == nil || m == nil || !known || slices.Contains([]string{"OtherFinding", "NotReadYet", "OneAtATime"}, i.Held) {
		return
	}
	u.truths.remember(u.a) // what became true since the last full minute
	e := excuse{u: u, inv: inv, c: c, m: m, g: m.g, withheld: withheld{about: about{i.Instance, d.Kind}, group: d.Group, reason: i.Held}}
	e.outage = func() bool { return u.outage(inv, c, e.k) }
	if why := e.false(); why != "" {
		u.broken(RuleTruth, "%s: %s of %s, order %s, is refused for %s, and %s", inv.name, d.Kind, i.Instance, i.Order, i.Held, why)
	}
}

// repeated checks that a notice does not report as news what the last one showed, as news or not.
func (u *auditor) repeated(inv *invocation, d noticed) {
	for _, i := range d.Instances {
		key := saidKey{d.Cluster, d.Group, d.Kind, i.Instance + i.Subject}
		what := strings.Join([]string{i.Stage, i.Order, i.Held, d.Cause, "since", i.Since.Format(time.RFC3339)}, " ")
		if i.Approve != nil {
			what += " approve " + i.Approve.Order
		}
		before, ok := u.said[key]
		unsent := u.unsent[saidKey{d.Cluster, d.Group, d.Kind, ""}] // perhaps of the incident that had taken it over
		moved := ok && unsent.After(before.inv.begun) && u.a.Now().Sub(unsent) <= lag
		again := i.Order != "" && ok && u.barred[about{i.Instance, d.Kind}].After(before.inv.begun.Add(time.Hour)) // it was held since, and is ordered anew
		if ok = ok && before.what == what; ok && i.New && !again && u.bars(before, inv) && !moved && !u.unignored(i.Instance, before) {
			u.broken(RuleReport, "%s: %s of %s (%s) is news a second time, first from %s", inv.name, d.Kind, i.Instance+i.Subject, what, before.inv.name)
		}
		if i.New || !ok {
			u.said[key] = inv.said(what)
		}
	}
}

// unignored reports whether a person took rollcall:ignore off since a notice: the trouble is news again.
func (u *auditor) unignored(id string, before saying) bool {
	m := u.a.machines[id]
	return m != nil && m.unignored.After(before.inv.begun)
}

// clean reports whether the invocation completed, and no failed call can have kept it from recording what it sent.
func (inv *invocation) clean() bool { return !inv.killed && !inv.failed }

// known reports whether a later invocation could know what this one sent: it completed, recorded it, and ended before.
// Two at the same time, as after a duplicate delivery, both report.
func (inv *invocation) known(later *invocation) bool {
	if inv == later {
		return !inv.failed
	}
	return inv.clean() && !inv.ended.IsZero() && inv.ended.Before(later.begun)
}

// bars reports whether a later invocation may not say it again: it could know that it was said, or had read the same
// version of the notices, by which only one may report.
func (u *auditor) bars(before saying, later *invocation) bool {
	same := before.inv != later && before.read == later.seen.notices && later.seen.told
	return before.inv.known(later) || same && before.inv.seen.told && !u.verdicts.forgotten.After(before.inv.begun)
}

// sweepsOf returns in how many sweeps a cluster is checked once: one for each 2,000 nodes, at most 12.
func sweepsOf(nodes int) int { return min(max(1, (nodes+1999)/2000), 12) }

// sweptEvery returns how often the sweep asks for a check of the cluster, by its size.
func (c *cluster) sweptEvery() time.Duration {
	return c.a.sc.Sweep * time.Duration(sweepsOf(len(c.nodes)))
}

// watched reports whether the cluster exists, and the policy lets it be checked.
func (u *auditor) watched(c *cluster) bool {
	return c.exists() && u.policyNow(c, nil).values["mode"] != "ignore"
}

// calm audits the account while no new fault strikes: what is ill is on its way to remediation, or held with a reason.
func (u *auditor) calm() {
	now := u.a.Now()
	began := u.a.sc.Start.Add(u.a.sc.Storm)
	for _, c := range u.a.clusters {
		if !u.watched(c) {
			continue
		}
		last := u.checks[c.name]
		every := c.sweptEvery()
		settled := now.Sub(began) > 3*every+10*time.Minute
		if settled && now.Sub(last.at) > 2*every+5*time.Minute {
			u.broken(RuleChecked, "%s was last checked at %s", c.name, last.at.Format(time.TimeOnly))
			continue
		}
		u.mentioned(c, began)
		u.escalated(c)
		ill := 0
		for _, g := range c.groups {
			ill += count(g.members, (*machine).isIll)
		}
		if u.queue[c] = max(u.queue[c], ill); ill == 0 {
			delete(u.queue, c)
		}
		for _, g := range c.groups {
			for _, m := range g.members {
				u.cured(c, m, u.queue[c], began, last)
			}
		}
	}
	u.told()
}

// patience is how long a fault may last before the act that cures it, by the default policy without budgets: the
// longest tolerance, the owner's time, the longest ladder, and two sweeps.
const patience = 100 * time.Minute

// cured checks one machine; ill is how many of the cluster were ill at once.
func (u *auditor) cured(c *cluster, m *machine, ill int, began time.Time, last looked) {
	if m.stays || m.muted || m.disowned || m.aside != "" || m.state != running || !m.ail.replaceable() {
		return
	}
	if m.full { // no act on it is possible, and somebody has to know that
		refusals := u.a.dep.state(c.name).Refusals
		told := map[string]bool{} // the orders for which a notice gave a reason; another one may have passed
		for key, r := range refusals {
			told[key.Order] = told[key.Order] || !r.Untold
		}
		for key, r := range refusals {
			if untold := u.a.Now().Sub(r.At); string(r.Instance) == m.id && !told[key.Order] && slices.Contains(last.ordered, m.id) && untold > time.Hour+2*u.a.sc.Sweep {
				u.broken(RuleReport, "%s: order %s is refused for %s since %s, and no notice says so", m.id, key.Order, key.Reason, r.At.Format(time.TimeOnly))
			}
		}
		return
	}
	from, now, pol := latest(m.since, began, m.unignored), u.a.Now(), u.policyNow(c, m.g)
	longer, cures := pol.cures(m)
	patience := patience + longer
	if !cures || now.Sub(from) < patience+2*u.a.sc.Sweep {
		return
	}
	wait := time.Duration(ill) * (time.Hour/time.Duration(max(1, pol.count("limits.actionsPerHour"))) + pol.duration("limits.replacementWait") + pol.duration("limits.stormCooldown"))
	for key, h := range last.heldBack {
		if key.instance != m.id {
			continue
		}
		if h.reason == "InstanceHeld" && m.holds != nil && !m.holds.keeps(now.Add(-15*time.Minute)) { // an expired date holds nothing
			u.broken(RuleCure, "%s (%s since %s) is held for %s, and the hold was over at %s", m.id, m.ail, m.since.Format(time.TimeOnly), h.reason, m.holds.until.Format(time.DateTime))
			return
		}
		if h.reason == "ReplacementPending" && u.owed(m.g) {
			return // nothing shows that another replacement would come
		}
		if !passes[h.reason] || pol.mode < mayRemediate || !u.mayAct(m) {
			return // the policy, or a reason that does not pass, holds it
		}
		if since, ok := u.since[key]; ok && now.Sub(since) < wait+patience {
			return
		}
		u.broken(RuleCure, "%s (%s since %s) is held for %s, which should pass, since %s", m.id, m.ail, m.since.Format(time.TimeOnly), h.reason, u.since[key].Format(time.TimeOnly))
		return
	}
	state := u.a.dep.state(c.name)
	for _, a := range slices.Backward(state.Actions) {
		if string(a.Instance) == m.id && now.Sub(a.At) < patience {
			return // on its ladder
		}
	}
	if slices.Contains(last.ordered, m.id) && now.Sub(from) < wait+patience+turn {
		return // by then an order must have led to an act
	}
	for _, s := range last.steps {
		if s.instance == m.id && s.do != "" && s.at.After(now) && s.at.Before(from.Add(patience+wait)) {
			return
		}
	}
	u.broken(RuleCure, "%s of %s (%s since %s, %s) is neither remediated nor held", m.id, m.g.groupName(), m.ail, m.since.Format(time.TimeOnly), m.g.owner)
}

// replaceable reports whether a default ladder leads to an act for the fault.
func (a ailment) replaceable() bool {
	switch a {
	case neverJoins, neverReady, notReady, silent, impaired:
		return true
	}
	return false
}

func (u *auditor) told() {
	for order, o := range u.acted {
		if u.a.Now().Sub(o.at) > 20*time.Minute {
			u.forbids(RuleReport, o.inv.clean(), "%s: the outcome of order %s (%s) is not told", o.inv.name, order, o.what)
			delete(u.acted, order)
		}
	}
}

// unlabelled reports whether Karpenter does not label the Node of a working machine again: its first one was deleted.
func (m *machine) unlabelled() bool {
	return m.claim != nil && m.node != nil && m.node.ready().Status == corev1.ConditionTrue && !m.node.initialized
}

// end audits the account after everything has been healthy for a while.
func (u *auditor) end() {
	u.misreports(0)
	for _, c := range u.a.clusters {
		if !u.watched(c) {
			continue
		}
		u.leftovers(c)
		u.onRecord(c)
		for _, g := range c.groups {
			for _, m := range g.members {
				if m.state != running || m.ail != well || m.unlabelled() || u.policyNow(c, g).mode < mayNotify {
					continue // in mode observe nothing is written, not even that the finding is over
				}
				for _, t := range m.tags {
					u.forbids(RuleTidy, strings.HasPrefix(t.key, "rollcall:"), "%s is well and carries %s=%s", m.id, t.key, t.value)
				}
			}
		}
		for key, f := range u.a.dep.state(c.name).Findings {
			if m := u.a.machines[string(key.Instance)]; m != nil && m.ail == well && m.state == running && !m.unlabelled() && u.a.Now().Sub(m.launched) > time.Hour {
				u.broken(RuleTidy, "the ledger has %s of %s (since %s), which is well", key.Kind, key.Instance, f.Since.Format(time.TimeOnly))
			}
		}
	}
	u.unended()
	for _, s := range u.a.schedules() {
		u.forbids(RuleSchedule, u.a.Now().Sub(s.due) > 5*time.Minute, "the schedule %s of %s was due at %s", s.name, s.cluster, s.due.Format(time.TimeOnly))
	}
}
