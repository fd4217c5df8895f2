package sim

import (
	"testing"
	"time"

	scaling "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// ended has Rollcall terminate a machine, or reboot it, after it read the cluster's current nodes.
func ended(t *testing.T, m *machine, what act) {
	t.Helper()
	a := m.c.a
	m.tags = with(m.tags, tag{roll.TagOrder, "any"})
	m.touch()
	a.until(a.Now().Add(10 * time.Minute)) // until EC2 shows it
	stepped(t, m, func(_ *auditor, inv *invocation) {
		ids := []string{m.id}
		var err error
		if what == actReboot {
			_, err = ec2API{inv.v}.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: ids})
		} else {
			_, err = ec2API{inv.v}.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids})
		}
		expect.Succeed(t, err)
	})
}

// world is two machines of a group, one of which is acted on.
type world struct{ m, other *machine }

// rebooted records a reboot of the other machine by Rollcall shortly before the act, after which it is
// still ill.
func (w world) rebooted(ail ailment) {
	u := w.m.c.a.audit
	u.effects["demo"] = append(u.effects["demo"], effect{w.m.c.a.Now().Add(5 * time.Minute), w.other.id, actReboot})
	w.other.ail = ail
}

// policy adds a section to the policy.
func (w world) policy(section string) { w.m.c.a.dep.policy += section + "\n" }

// Each rule of verdicts is broken by an act that is wrong for the machine's true state, and by no act
// that is right.
func TestVerdictsAreJudgedByWhatTheMachineIs(t *testing.T) {
	sick := func(w world) { w.m.fall(silent, false, false) }
	for _, tt := range []struct {
		name  string
		rule  Rule
		what  act
		wrong func(world)
		right func(world)
	}{
		{
			name: "a startup taint came back", rule: RuleHealthy, what: actTerminate,
			right: func(w world) { // it never went
				w.m.node.taint(parseTaint("node.cilium.io/agent-not-ready:NoSchedule"))
				w.m.ail, w.m.settledAt = neverReady, time.Time{}
			},
			wrong: func(w world) {
				w.m.node.taint(parseTaint("node.cilium.io/agent-not-ready:NoSchedule"))
			},
		},
		{
			name: "its Node vanished", rule: RuleHealthy, what: actTerminate, right: sick,
			wrong: func(w world) {
				w.m.c.removeNode(w.m.node)
				w.m.vanished = w.m.c.a.Now()
			},
		},
		{
			name: "processes are suspended", rule: RuleGroup, what: actTerminate, right: func(w world) { sick(w); w.m.g.halted = []string{"AZRebalance"} },
			wrong: func(w world) {
				sick(w)
				w.m.g.halted, w.m.g.troubled = []string{"HealthCheck"}, w.m.c.a.Now()
			},
		},
		{
			name: "the node group is not well", rule: RuleGroup, what: actReboot, right: sick,
			wrong: func(w world) {
				sick(w)
				w.m.g.issues, w.m.g.troubled = []string{"AccessDenied"}, w.m.c.a.Now()
			},
		},
		{
			name: "a launch of the node group failed, and no later one worked", rule: RuleGroup, what: actTerminate,
			right: func(w world) {
				sick(w)
				w.m.g.issues, w.m.g.troubled = []string{"AsgInstanceLaunchFailures"}, w.m.c.a.Now()
				w.m.g.activities = []scaling.Activity{w.m.g.activity(true, "")}
			},
			wrong: func(w world) {
				sick(w)
				w.m.g.issues, w.m.g.troubled = []string{"AsgInstanceLaunchFailures"}, w.m.c.a.Now()
				w.m.g.activities = []scaling.Activity{w.m.g.activity(false, "no capacity")}
			},
		},
		{
			name: "it was ill before anybody looked", rule: RuleBacklog, what: actTerminate,
			right: func(w world) {
				w.m.c.a.audit.verdicts.first["demo"] = w.m.c.a.Now()
				sick(w)
			},
			wrong: func(w world) {
				sick(w)
				w.m.c.a.audit.verdicts.first["demo"] = w.m.c.a.Now().Add(2 * time.Minute)
			},
		},
		{
			name: "it is another cluster's", rule: RuleForeign, what: actTerminate, right: sick,
			wrong: func(w world) { w.m.elsewhere = "legacy" },
		},
		{
			name: "it boots", rule: RuleBooting, what: actTerminate,
			right: func(w world) { w.m.c.a.audit.reboots[w.m.id] = w.m.c.a.Now(); w.m.ail = silent },
			wrong: func(w world) {
				w.m.c.a.audit.reboots[w.m.id] = w.m.c.a.Now()
				w.m.ail, w.m.booting = silent, true
			},
		},
		{
			name: "it serves", rule: RuleServing, what: actReboot, right: func(w world) { sick(w); w.m.serving = true },
			wrong: func(w world) { w.m.serves(keptLocal); sick(w) },
		},
		{
			name: "it serves, and the policy ignores something else", rule: RuleServing, what: actReboot,
			right: func(w world) { w.m.serves(keptLocal); sick(w); w.policy("silentNode: {localVolumes: ignore}") },
			wrong: func(w world) {
				w.m.serves(keptLocal)
				sick(w)
				w.policy("silentNode: {budgets: ignore, doNotDisrupt: ignore}")
			},
		},
		{
			name: "the policy only notifies of what its owner owns", rule: RuleOwner, what: actReboot,
			right: func(w world) { sick(w); w.policy("owners: {managed-nodegroup: notify}") },
			wrong: func(w world) { sick(w); w.policy("owners: {autoscaling-group: notify}") },
		},
		{
			name: "its siblings fail for the same", rule: RuleVain, what: actTerminate,
			right: func(w world) { w.m.ail, w.m.stays, w.m.g.unread = neverJoins, true, unreadCut },
			wrong: func(w world) {
				w.m.g.unread, w.m.template.breaks, w.other.template.breaks = unreadCut, neverJoins, neverJoins
				w.m.ail, w.m.stays, w.other.ail, w.other.stays = neverJoins, true, neverJoins, true
			},
		},
		{
			name: "another with its role fails for the same", rule: RuleVain, what: actTerminate,
			right: func(w world) { unmappedWith(w).unmapped = false }, wrong: func(w world) { unmappedWith(w) },
		},
		{
			name: "it fails for its template", rule: RuleVain, what: actTerminate,
			right: func(w world) { w.m.ail, w.m.stays, w.m.g.plain = neverJoins, true, w.m.template.version },
			wrong: func(w world) {
				w.m.g.plain, w.m.template.breaks = w.m.template.version, neverJoins
				w.m.ail, w.m.stays = neverJoins, true
			},
		},
		{
			name: "all of its zone are silent", rule: RuleZone, what: actTerminate, right: func(w world) { w.m.mute(true) },
			wrong: func(w world) { w.m.mute(true); w.other.mute(true) },
		},
		{
			name: "the last loss is not made good", rule: RulePace, what: actTerminate,
			right: func(w world) {
				sick(w)
				w.m.c.a.audit.verdicts.losses[w.m.g] = []*loss{{at: w.m.c.a.Now(), instance: "i-gone", good: true}}
			},
			wrong: func(w world) {
				sick(w)
				at := w.m.c.a.Now().Add(-24 * time.Hour)
				w.m.c.a.audit.verdicts.losses[w.m.g] = []*loss{{at: at, took: at, instance: "i-gone"}}
			},
		},
		{
			name: "it is stopped", rule: RuleAtRest, what: actTerminate,
			right: func(w world) {
				w.m.stop(false)
				w.m.c.a.until(w.m.c.a.Now().Add(5 * time.Minute))
				w.m.restart()
				sick(w)
			},
			wrong: func(w world) { w.m.stop(false) },
		},
		{
			name: "it is in Standby", rule: RuleAtRest, what: actReboot,
			right: func(w world) { w.m.setAside(standby); w.m.setAside(""); sick(w) },
			wrong: func(w world) { sick(w); w.m.setAside(standby) },
		},
		{
			name: "it is protected from scale-in", rule: RuleAtRest, what: actTerminate, right: sick,
			wrong: func(w world) { sick(w); w.m.shielded = w.m.c.a.Now() },
		},
		{
			name: "Karpenter removes it", rule: RuleDisrupted, what: actTerminate,
			right: func(w world) { sick(w); w.m.disrupted = w.m.c.a.Now().Add(-time.Hour) },
			wrong: func(w world) { sick(w); w.m.disrupted = w.m.c.a.Now() },
		},
		{
			name: "it is upgraded", rule: RuleFrozen, what: actReboot, right: sick,
			wrong: func(w world) { w.m.mute(true); w.m.frozen = w.m.c.a.Now() },
		},
		{
			name: "it is Auto Mode's", rule: RuleBeside, what: actTerminate,
			right: func(w world) { sick(w); w.m.g.beside = besideWindows },
			wrong: func(w world) { sick(w); w.m.g.beside = besideAuto },
		},
		{
			name: "a person holds it until a time", rule: RuleKept, what: actTerminate,
			right: func(w world) {
				sick(w)
				w.m.holds = &hold{w.m.c.a.Now(), w.m.c.a.Now().Add(5 * time.Minute)}
			},
			wrong: func(w world) {
				sick(w)
				w.m.holds = &hold{w.m.c.a.Now(), w.m.c.a.Now().Add(time.Hour)}
			},
		},
		{
			name: "its Node does not carry its id", rule: RuleHealthy, what: actTerminate, right: sick,
			wrong: func(w world) { w.m.node.bare, w.m.unnamed = true, w.m.c.a.Now() },
		},
		{
			name: "a person protected it from termination", rule: RuleKept, what: actReboot, right: sick,
			wrong: func(w world) { sick(w); w.m.protected, w.m.protectedAt = true, w.m.c.a.Now() },
		},
		{
			name: "a person cordoned its silent node", rule: RuleKept, what: actReboot, right: sick,
			wrong: func(w world) { sick(w); w.m.node.cordoned, w.m.node.sealed = true, w.m.c.a.Now() },
		},
		{
			name: "another one of its group was rebooted and is not back", rule: RulePace, what: actReboot,
			right: func(w world) { sick(w); w.rebooted(well) },
			wrong: func(w world) { sick(w); w.rebooted(silent) },
		},
		{
			name: "a person stopped it", rule: RuleStopped, what: actTerminate, right: sick,
			wrong: func(w world) { sick(w); w.m.c.a.dep.policy = "" },
		},
	} {
		for _, wrong := range []bool{true, false} {
			c, m := worker(t)
			w := world{m: m, other: up(m.g, "node-2")}
			w.m.settledAt, w.other.settledAt = c.a.Now().Add(-50*time.Minute), c.a.Now().Add(-50*time.Minute)
			c.groups[0].desired = 2
			w.m.touch()
			c.a.until(c.a.Now().Add(time.Minute))
			if wrong {
				tt.wrong(w)
			} else {
				tt.right(w)
			}
			ended(t, w.m, tt.what)
			expect.That(t, c.a.audit.broke(tt.rule) == wrong, "%s: wrong is %t, and broken are %+v", tt.name, wrong, c.a.audit.violations)
		}
	}
}

// unmappedWith makes the machine fail because its role is not mapped, and returns another group with that
// role, of which a machine cannot be read.
func unmappedWith(w world) *group {
	w.m.ail, w.m.stays, w.m.template.breaks = neverJoins, true, neverJoins
	other := &group{c: w.m.c, role: w.m.g.role}
	other.unread, other.unmapped = unreadDenied, true
	other.members = []*machine{{c: w.m.c, g: other, stays: true}}
	w.m.c.groups = append(w.m.c.groups, other)
	return other
}
