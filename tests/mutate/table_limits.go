package mutate

import "rollcall/shared/sim"

// limited returns mutations that pass what a limit should hold.
func limited() []Mutation {
	const limits, object, pods, cause, climb = "shared/plan/limits.go", "shared/plan/objections.go", "shared/plan/pods.go", "shared/plan/cause.go", "shared/plan/ladder.go"
	return []Mutation{
		{
			Name: "scale-in protection is not asked for", File: limits,
			Old: "d.ScaleInProtected == roll.Yes {", New: "d.ScaleInProtected == roll.Unreadable {",
			Harm: "an instance is ended that its application protects", Faults: faults(sim.FaultSetAside + "=scale-in-protects"),
			Policy: remediating(), Rules: rules(sim.RuleAtRest),
		},
		{
			Name: "accelerators are repaired without an opt-in", File: "shared/policy/repair.go",
			Old: "return repair, p.Repair.Accelerators", New: "return repair, repair != \"\"",
			Harm: "nodes that work are drained", Faults: faults(sim.FaultAccelerator),
			Policy: remediating(), Rules: rules(sim.RuleAccelerator),
		},
		{
			Name: "one more node may be unhealthy than the share allows", File: limits,
			Old: "if c.Overdue <= allowed {", New: "if c.Overdue <= allowed+1 {",
			Harm: "acts go on in trouble that is hardly the instances'", Faults: faults(sim.FaultNotReady + "=4"),
			Rules: rules(sim.RuleShare),
		},
		{
			Name: "the unhealthy share of the cluster is not asked", File: object,
			Old: `whole, limits.Unhealthy), share)`, New: `assess.Count{}, limits.Unhealthy), share)`,
			// Acts are held all the same: the share is trouble of the cluster as a whole too (storm.go).
			Harm: "what is held for the unhealthy share waits for a cooldown that never ends", Faults: faults(sim.FaultNotReady + "=4"),
			Policy: remediating("limits: {unhealthy: 10%, zone: 100%, massSilence: 100%}", `overrides: [{match: {group: "*"}, limits: {unhealthy: 100%}}]`),
			Rules:  rules(sim.RuleCure),
		},
		{
			Name: "the unhealthy share of the group is not asked", File: object,
			Old: "group, pol.Limits.Unhealthy)", New: "assess.Count{Nodes: group.Nodes}, pol.Limits.Unhealthy)",
			Harm: "acts go on while a large part of the group is unhealthy", Faults: faults(sim.FaultNotReady + "=4"),
			Rules: rules(sim.RuleShare),
		},
		{
			Name: "two sightings may be at the same moment", File: limits,
			Old: "age < assess.Confirmation {", New: "age < 0 {",
			Harm: "two checks at once are two sightings", Faults: faults(sim.FaultNotReady+"=2", sim.FaultMessages+"=0.5", sim.FaultNotInvoked+"=0.7"),
			Rules: rules(sim.RuleTwice),
		},
		{
			Name: "a sighting of an earlier trouble counts", File: "shared/ledger/ledger.go",
			Old: "if !ok || !k.Began.Equal(f.Began) || silent", New: "if !ok || silent",
			Harm: "a node that has just left Ready again is acted on at once", Faults: faults(sim.FaultFlapping + "=2"),
			Policy: remediating(`conditions: [{type: Ready, status: "False", tolerate: 1m}, {type: Ready, status: Unknown, tolerate: 1m}]`, "ladders:\n  Unknown: [{do: terminate}]"),
			Rules:  rules(sim.RuleTwice),
		},
		{
			Name: "what was ill before the first check is acted on", File: limits,
			Old: "case f.Since.Before(first), !known.FirstSeen.After(first):", New: "case f.Since.Before(first) && known.FirstSeen.Before(first):",
			Harm: "the first day of an installation begins with a wave of acts", Faults: faults(sim.FaultBacklog), Rules: rules(sim.RuleBacklog), Sample: true,
		},
		{
			Name: "what was found in mode notify is acted on at once in mode remediate", File: limits,
			Old: "!known.Opened.Before(remediateSince)", New: "known.Opened.Before(remediateSince)",
			Harm: "turning remediate on begins with a wave of acts", Faults: faults(sim.FaultMode+"=notify", sim.FaultNotReady+"=2"),
			Rules: rules(sim.RuleBacklog), Sample: true,
		},
		{
			Name: "a zone that is down is not noticed", File: object,
			Old: "zoneOut(f.Zone, p.Assessment.Zones[f.Zone], limits.Zone)", New: "zoneOut(\"\", p.Assessment.Zones[f.Zone], limits.Zone)",
			Harm: "the nodes of a zone without a network are ended", Faults: faults(sim.FaultZone),
			Survives: "the trouble of the cluster as a whole (storm.go) finds the same outage, and holds too",
		},
		{
			Name: "a zone of two nodes cannot be down", File: limits,
			Old: "c.Silent >= wholeZone &&", New: "c.Silent > wholeZone &&",
			Harm: "both nodes of a small zone are ended", Faults: faults(sim.FaultSmallZone), Rules: rules(sim.RuleZone), Sample: true,
		},
		{
			Name: "a zonal shift is compared with the name of the zone", File: limits,
			Old: `if f.ZoneID == "" || shift.ZoneID == f.ZoneID {`, New: "if shift.ZoneID == f.Zone {",
			Harm: "nodes of a zone that somebody has shifted away from are ended", Faults: faults(sim.FaultShift), Rules: rules(sim.RuleZone),
		},
		{
			Name: "a mass of silent nodes is not noticed", File: limits,
			Old: "if n < silenceLeast || n*100 < int(share)*nodes {", New: "if n < silenceLeast || n*100 < int(share)*nodes*10 {",
			Harm: "nodes that fell silent together are ended one after the other", Faults: faults(sim.FaultFrozen + "=third"),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 3m}]", "ladders: {Unknown: [{do: terminate}]}", "limits: {unhealthy: 100%, zone: 100%}"),
			Rules:  rules(sim.RuleFrozen),
		},
		{
			Name: "a cluster that is being updated is taken for one in order", File: limits,
			Old: `status != roll.ClusterActive && (status != "" || s.Whole())`, New: `status == "DELETING"`,
			Harm: "acts go on while the control plane is being changed", Faults: faults(sim.FaultUpdate),
			Survives: "describing such a cluster leaves the gap ClusterNotActive, which holds every act too",
		},
		{
			Name: "a listing of nodes that failed is no fault", File: limits,
			Old: "case g.Scope == roll.ScopeDetail:", New: "case g.Scope == roll.ScopeDetail, g.Scope == roll.ScopeNodes:",
			Harm: "nodes that were not read are taken for missing", Faults: faults(sim.FaultAPIErrors),
			Rules: rules(sim.RuleWhole, sim.RuleReport),
		},
		{
			Name: "unreadable termination protection is ignored", File: limits,
			Old: "case roll.NotAsked, roll.Unreadable:\n\t\treturn unread(s, ProtectionUnknown, roll.CallInstanceAttribute", New: "case roll.NotAsked:\n\t\treturn unread(s, ProtectionUnknown, roll.CallInstanceAttribute",
			Harm: "what somebody protected is rebooted or drained", Faults: faults(sim.FaultPeople+"=protect", sim.FaultDenied+"=attributes", sim.FaultNotReady+"=2"),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "termination protection is ignored", File: limits,
			Old: "\tcase roll.Yes:\n\t\tkind, flag := \"termination protection", New: "\tcase roll.Unreadable + 1:\n\t\tkind, flag := \"termination protection",
			Harm: "what somebody protected is rebooted or drained", Faults: faults(sim.FaultPeople+"=protect", sim.FaultNotReady+"=2"),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "what failed is tried again at once", File: limits,
			Old: "case now.Sub(a.Outcome.At) < wait:", New: "case now.Sub(a.Outcome.At) < 0:",
			Harm: "a call that is refused is repeated each minute", Faults: faults(sim.FaultSilence+"=2", sim.FaultDenied+"=only-acts:0.9"),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 3m}]", "ladders:\n  Unknown: [{do: terminate}]"),
			Rules:  rules(sim.RuleOnce),
		},
		{
			Name: "the tags of another cluster are ignored", File: limits,
			Old: `case i.OtherCluster != "":`, New: `case i.OtherCluster == "-":`,
			Harm: "instances of another cluster are ended", Faults: faults(sim.FaultForeignTags + "=tags"),
			Survives: "assess takes no such instance for a node of the cluster, so there is no finding to act on",
		},
		{
			Name: "user data that names another cluster is ignored", File: limits,
			Old: `other := p.Snapshot.Details[i.ID].OtherCluster; other != "" {`, New: `other := p.Snapshot.Details[i.ID].OtherCluster; other == "-" {`,
			Harm: "instances of another cluster are ended", Faults: faults(sim.FaultForeignTags + "=user-data"),
			Survives: "assess takes no such instance for a node of the cluster, and a diagnosis that proves it holds the act too",
		},
		{
			Name: "user data that bootstraps no node is ignored", File: limits,
			Old: "if !inherited[f.Instance] {", New: "if inherited[f.Instance] || d.Bootstraps != roll.Yes {",
			Harm: "a bastion from the nodes' launch template is ended", Faults: faults(sim.FaultBastion),
			Survives: "assess takes an instance for a node only if it, its group or its template version shows it",
		},
		{
			Name: "rollcall:hold is not looked at", File: limits,
			Old: "if roll.HoldActive(i.Hold, now) {", New: `if i.Hold == "all" && roll.HoldActive(i.Hold, now) {`,
			Harm: "what a person looks at is ended", Faults: faults(sim.FaultPeople+"=hold", sim.FaultSilence+"=2"), Rules: rules(sim.RuleKept),
		},
		{
			Name: "rollcall:hold=true is not looked at, only a date is", File: "shared/roll/instance.go",
			Old: "if until, err := time.Parse(time.RFC3339, value); err == nil {\n\t\treturn now.Before(until)\n\t}\n\treturn true\n", New: "until, err := time.Parse(time.RFC3339, value)\n\treturn err == nil && now.Before(until)\n",
			Harm: "what a person looks at is ended", Faults: faults(sim.FaultPeople+"=hold", sim.FaultSilence+"=2"),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "the budget of the plan looks back half an hour", File: limits,
			Old: "Since: now.Add(-Hour)}.Spent", New: "Since: now.Add(-Hour / 2)}.Spent",
			Harm: "twice as many acts an hour as allowed", Faults: faults(sim.FaultNotReady + "=4"),
			Policy: remediating("limits: {actionsPerHour: 1, unhealthy: 100%, zone: 100%}"),
			Rules:  rules(sim.RuleBudget),
		},
		{
			Name: "what a silent node runs is asked before it is ended, not before it is rebooted", File: pods,
			Old: "if !silent || act != Reboot && !act.replaced() {", New: "if !silent || !act.replaced() {",
			Harm: "a job that must not be disturbed is rebooted away", Faults: faults(sim.FaultSilentServing), Rules: rules(sim.RuleServing),
		},
		{
			Name: "pods of a silent node that could not be read are no pods", File: pods,
			Old: "!part.read.Answered()", New: "part.read == roll.NotAsked",
			Harm: "a job that must not be disturbed is ended", Faults: faults(sim.FaultSilentServing+"=do-not-disrupt", sim.FaultDenied+"=pods"),
			Rules: rules(sim.RuleServing),
		},
		{
			Name: "do-not-disrupt is ignored", File: pods,
			Old: `pod.NotToDisrupt != "" && !pod.Replaced`, New: `pod.NotToDisrupt != "" && pod.Replaced`,
			Harm: "a job that must not be disturbed is ended", Faults: faults(sim.FaultSilentServing + "=do-not-disrupt"),
			Rules: rules(sim.RuleServing),
		},
		{
			Name: "disruption budgets of silent nodes are ignored", File: pods,
			Old: `text := violated(has.Budgets); text != "" && budgets {`, New: `text := violated(has.Budgets); text != "" && !budgets {`,
			Harm: "pods that their budget cannot spare are ended", Faults: faults(sim.FaultSilentServing), Rules: rules(sim.RuleServing),
		},
		{
			Name: "local volumes of silent nodes are ignored", File: pods,
			Old: `text := onDisks(has.LocalVolumes); text != "" && disks {`, New: `text := onDisks(has.LocalVolumes); text != "" && !disks {`,
			Harm: "data on local disks is lost", Faults: faults(sim.FaultSilentServing), Rules: rules(sim.RuleServing), Sample: true,
		},
		{
			Name: "a policy that ignores budgets ignores local volumes", File: pods,
			Old: "!rules.IgnoreBudgets, !rules.IgnoreLocalVolumes", New: "!rules.IgnoreLocalVolumes, !rules.IgnoreBudgets",
			Harm: "data on local disks is lost", Faults: faults(sim.FaultSilentServing + "=local"),
			Policy: remediating("silentNode: {budgets: ignore}"), Rules: rules(sim.RuleServing),
		},
		{
			Name: "do-not-disrupt holds though the policy ignores it", File: pods,
			Old: `text := notToDisrupt(n, has); text != "" && kept {`, New: `text := notToDisrupt(n, has); text != "" && !kept {`,
			Harm: "a broken machine stays", Faults: faults(sim.FaultSilentServing + "=do-not-disrupt"),
			Policy: remediating("silentNode: {doNotDisrupt: ignore}"), Rules: rules(sim.RuleTruth),
		},
		{
			Name: "a cause that two instances share is shared by too few", File: cause,
			Old: "sure+perhaps < 2 ||", New: "sure+perhaps < 3 ||",
			Harm: "one machine after the other is replaced by one that fails like it", Faults: faults(sim.FaultTemplate + "=2"),
			Survives: "each of them is held as CauseOutside, unless the policy says tryOnce",
		},
		{
			Name: "every cause is held as shared", File: cause,
			Old: `if sure+perhaps < 2 || !s.instances[c][id] && !s.perhaps[c][id] {`, New: `if false {`,
			Harm: "nothing with a cause is ever cured", Faults: faults(sim.FaultNotReady + "=1"),
			Rules: rules(sim.RuleCure, sim.RuleTruth),
		},
		{
			Name: "a sibling that could not be looked into does not count", File: cause,
			Old: "if id := s.open[openCause{c.Code, t}].but(f.Instance); id != \"\" {", New: "if id := s.open[openCause{c.Code, t}].but(f.Instance); id == \"-\" {",
			Harm: "machines are replaced by ones from the same broken template", Faults: faults(sim.FaultUnreadSibling),
			Policy: remediating("limits: {causeOutside: tryOnce}"),
			Rules:  rules(sim.RuleVain),
		},
		{
			Name: "a sibling that could not be judged does not count", File: cause,
			Old: "if id := s.unjudged[t].but(f.Instance); id != \"\" {", New: "if id := s.unjudged[t].but(f.Instance); id == \"-\" {",
			Harm: "machines are replaced by ones from the same broken template", Faults: faults(sim.FaultUnreadSibling + "=by hand"),
			Policy: remediating("limits: {causeOutside: tryOnce, unhealthy: 100%, zone: 100%}"),
			Rules:  rules(sim.RuleVain),
		},
		{
			Name: "a cause outside of the instance does not hold", File: object,
			Old: "if !pol.Limits.TryOnce {", New: "if pol.Limits.TryOnce {",
			Harm: "a machine is replaced by one from the same broken template", Faults: faults(sim.FaultLoneCause), Rules: rules(sim.RuleVain), Sample: true,
		},
		{
			Name: "a Ready node that worked before is ended for a startup taint", File: object,
			Old: "(f.Kind != roll.Uninitialized || f.Worked) {", New: "f.Kind != roll.Uninitialized {",
			Harm: "nodes that work are ended", Faults: faults(sim.FaultTaintReturns), Rules: rules(sim.RuleHealthy),
		},
		{
			Name: "the limits of the group forget the acts of this check", File: climb,
			Old: "\t\tso.groups[f.Group]++\n", New: "",
			Harm: "several machines of a group are acted on at once", Faults: faults(sim.FaultNotReady + "=2"),
			Survives: "limits.actionsPerCheck is 1 by default, and the ledger begins one act of a group at a time",
		},
		{
			Name: "a second instance of a group is acted on in the same check", File: object,
			Old: "so.groups[f.Group] > 0 {", New: "so.groups[f.Group] > 1 {",
			Harm: "several machines of a group are acted on at once", Faults: faults(sim.FaultNotReady + "=2"),
			Survives: "limits.actionsPerCheck is 1 by default, and the ledger begins one act of a group at a time",
		},
		{
			Name: "an act without an outcome does not hold others", File: object,
			Old: "if a, ok := p.State.Unresolved(f.Instance, f.Group); ok {", New: "if a, ok := p.State.Unresolved(f.Instance, roll.GroupNone); ok {",
			Harm: "a second machine of a group is acted on before what came of the first is known", Faults: faults(sim.FaultLostAnswers+"=0.3", sim.FaultSilence+"=2"),
			Survives: "the ledger begins no act while another one of the group has no outcome",
		},
		{
			Name: "stop: true is not looked at in mode remediate", File: climb,
			Old: "case pol.Stop:\n", New: "case pol.Stop && pol.Mode != policy.Remediate:\n",
			Harm: "the kill switch does not work", Faults: faults(sim.FaultKillSwitch), Rules: rules(sim.RuleStopped), Sample: true,
		},
		{
			Name: "after an outage acts go on at once", File: "shared/plan/storm.go",
			Old: "if t == nil || t.Reason == string(SnapshotIncomplete) || cooledDown(t, wait, now) {", New: "if t == nil || !goesOn {",
			Harm: "nodes that are about to come back are ended", Faults: faults(sim.FaultZone, sim.FaultSilence+"=1"),
			Policy: remediating(),
			Rules:  rules(sim.RuleZone),
		},
	}
}
