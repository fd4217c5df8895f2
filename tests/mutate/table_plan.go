package mutate

import "rollcall/shared/sim"

// climbed returns mutations that take the steps of a ladder wrongly.
func climbed() []Mutation {
	const climb, recover, resolve, objections = "shared/plan/ladder.go", "shared/plan/recover.go", "shared/plan/resolve.go", "shared/plan/objections.go"
	return []Mutation{
		{
			Name: "what failed for a cause outside it has no time to recover", File: objections,
			Old: "if act == DeleteNode || ended.IsZero() ||", New: "if act != DeleteNode || ended.IsZero() ||",
			Harm: "nodes are ended that join a moment after their role is mapped", Faults: faults(sim.FaultRole+"=1", sim.FaultRole+"=1"),
			Policy: remediating("limits: {unhealthy: 60%}"), Rules: rules(sim.RuleTolerance),
		},
		{
			Name: "the time to recover begins anew in each check", File: objections,
			Old: "	if known.Outside {\n\t\tended = p.Now", New: "	if known.Outside || !ended.IsZero() {\n\t\tended = p.Now",
			Harm: "what a role that was mapped again did not cure stays for ever", Rules: rules(sim.RuleTruth, sim.RuleCure),
		},
		{
			Name: "all steps of a ladder are due at once", File: climb,
			Old: "at = at.Add(step.After)", New: "at = f.Due",
			Harm:  "machines are ended hours before their ladder says so",
			Rules: rules(sim.RuleLadder, sim.RuleTolerance),
		},
		{
			Name: "an orphan's ladder does not wait", File: climb,
			Old: "at = at.Add(step.After)", New: "if f.Kind != roll.Orphaned {\n\t\t\tat = at.Add(step.After)\n\t\t}",
			Harm: "a machine is ended before anybody could look at it", Faults: faults(sim.FaultLeft + "=orphan"),
			Policy: remediating(), Rules: rules(sim.RuleLadder),
		},
		{
			Name: "a contradicted finding climbs its ladder", File: climb,
			Old: "if f.Contradiction != \"\" {\n", New: "if f.Contradiction != \"\" && f.Stage != roll.Overdue {\n",
			Harm: "a machine that works, and whose Node no list shows, is ended", Faults: faults(sim.FaultVanishedNode), Rules: rules(sim.RuleHealthy),
		},
		{
			Name: "the machine is not given time to boot after a reboot", File: climb,
			Old: "boots := rebooted.Add(pol.Reboot.Wait); !rebooted.IsZero() && boots.After(at) {", New: "boots := rebooted; !rebooted.IsZero() && boots.After(at) {",
			Harm: "a machine that boots is ended", Faults: faults(sim.FaultSmallZone + "=metal"),
			Rules: rules(sim.RuleBooting, sim.RuleLadder),
		},
		{
			Name: "drain is skipped for what is not ready", File: climb,
			Old: "case n.Ready.Status == roll.ConditionUnknown:\n\t\t\treturn", New: "case n.Ready.Status != roll.ConditionTrue:\n\t\t\treturn",
			Harm: "pods are ended without being evicted", Faults: faults(sim.FaultNotReady + "=2"),
			Rules: rules(sim.RuleServing, sim.RuleLadder),
		},
		{
			Name: "an instance is rebooted for each of its troubles", File: climb,
			Old: "if a, ok := p.rebooted(f); ok {", New: "if a, ok := p.rebooted(f); ok && a.Kind == f.Kind && a.Why == \"\" {",
			Harm: "a machine is rebooted again and again", Faults: faults(sim.FaultRelapse + "=rebooted"),
			Rules: rules(sim.RuleOnce),
		},
		{
			Name: "an earlier reboot is forgotten after an hour", File: climb,
			Old: "p.Now.Sub(a.At) < rebootMemory", New: "p.Now.Sub(a.At) < time.Hour",
			Harm: "a machine is rebooted again and again", Faults: faults(sim.FaultRelapse + "=rebooted"),
			Rules: rules(sim.RuleOnce),
		},
		{
			Name: "what only another instance cures is rebooted", File: climb,
			Old: "ok && c.Cure == roll.CureReplace && f.Kind != roll.Impaired {", New: "ok && c.Cure == roll.CureReplace && f.Kind == roll.Impaired {",
			Harm: "machines are rebooted in vain", Faults: faults(sim.FaultOwnerIdle + "=impaired"), Rules: rules(sim.RuleVain),
		},
		{
			Name: "a drain that is unfinished is never forced", File: climb,
			Old: "case force && !p.Now.Before(forced):", New: "case force && p.Now.Before(last.At):",
			Harm: "what is ill stays for ever", Faults: faults(sim.FaultNotReady + "=do-not-disrupt"),
			Policy: remediating("drain: {timeout: 5m, force: afterBudgetTimeout, budgetTimeout: 10m}"), Rules: rules(sim.RuleCure),
		},
		{
			Name: "a drain that is unfinished is taken for a done one", File: climb,
			Old: "\t\treturn p.unfinished(f, a, pol.Drain)", New: "\t\treturn a.Outcome.At, false",
			Harm: "pods that their budget cannot spare are ended", Faults: faults(sim.FaultNotReady + "=do-not-disrupt"),
			Rules: rules(sim.RuleLadder, sim.RuleServing),
		},
		{
			Name: "a failed step is taken for a done one", File: climb,
			Old: "case a.Outcome.Result == ledger.Done:\n\t\treturn a.Outcome.At, false", New: "case a.Outcome.Result != ledger.Done || !act.final():\n\t\treturn a.Outcome.At, false",
			Harm: "a machine is ended though it was never drained", Faults: faults(sim.FaultNotReady+"=2", sim.FaultAPIErrors+"=0.4"),
			Rules: rules(sim.RuleServing, sim.RuleLadder),
		},
		{
			Name: "what was done is done again after a while", File: climb,
			Old: "case a.Outcome.Result == ledger.Done && act.final():", New: "case a.Outcome.Result == ledger.Done && act.final() && p.Now.Sub(a.Outcome.At) < 5*time.Minute:",
			Harm: "the same machine is ended twice", Faults: faults(sim.FaultSilence, sim.FaultStale+"=0.5"),
			Survives: "the same order is refused for good: triedBefore, and the ledger when it is begun",
		},
		{
			Name: "a node that came back keeps a cordon older than an hour", File: recover,
			Old: "if !ok || !Action(cordon.Do).cordons()", New: "if !ok || p.Now.Sub(cordon.At).Hours() > 1 || !Action(cordon.Do).cordons()",
			Harm: "capacity is lost for ever", Faults: faults(sim.FaultNotReady + "=do-not-disrupt"),
			Rules: rules(sim.RuleCordon, sim.RuleTidy),
		},
		{
			Name: "a node that came back is never uncordoned", File: recover,
			Old: "cordon.Instance != n.Instance {", New: "cordon.Instance == n.Instance {",
			Harm: "capacity is lost for ever", Faults: faults(sim.FaultNotReady),
			Rules: rules(sim.RuleCordon, sim.RuleTidy),
		},
		{
			Name: "a node that is still ill is uncordoned", File: recover,
			Old: "n.Ready.Status != roll.ConditionTrue && n.Unschedulable || p.notReadyForWork(cordon) {", New: "false {",
			Harm: "pods are placed on a node that is just to be ended", Faults: faults(sim.FaultNotReady + "=2"),
			Rules: rules(sim.RuleTidy),
		},
		{
			Name: "an instance that cannot be tagged keeps its turn", File: "shared/plan/plan.go",
			Old: "Reason(k.Reason).Blocked() && !begun &&", New: "Reason(k.Reason).Blocked() && !begun && p.gone &&",
			Harm: "nothing else of its cluster is acted on", Faults: faults(sim.FaultPeople+"=fill the tags of what is ill", sim.FaultPeople+"=fill the tags of what is ill", sim.FaultNotReady+"=6", sim.FaultSilence+"=4"),
			Survives: "what waits behind it may wait for hours by the rule of a queue, and its fault is mended before: a unit test of plan shows it",
		},
		{
			Name: "rollcall:hold does not keep a cordon", File: recover,
			Old: "if no := taggedOut(*m.Instance, p.Now); no != nil {", New: "if no := taggedOut(*m.Instance, p.Now); no != nil && no.Reason == \"\" {",
			Harm: "a node that a person looks at gets new pods", Faults: faults(sim.FaultPeople+"=keep what is cordoned", sim.FaultNotReady+"=2"),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "acts without an outcome are settled at once", File: resolve,
			Old: "if a.Outcome == nil && (p.Now.Sub(a.At) >= settleAfter || a.Do == string(Drain)) {", New: "if a.Outcome == nil {",
			Harm: "an act that is just being carried out is repeated", Faults: faults(sim.FaultLostAnswers+"=0.4", sim.FaultSilence+"=2"),
			Survives: "remediate acts within seconds of its record; another order about the instance takes a later check, and a last look of its own, by which time the act has its outcome",
		},
		{
			Name: "an instance that is not listed is taken for ended", File: resolve,
			Old: "case i == nil && s.NotFound[a.Instance] && now.Sub(a.At) >= forgottenAfter:", New: "case i == nil:",
			Harm: "a termination that never happened is told as done", Faults: faults(sim.FaultNoJoin+"=2", sim.FaultPeople+"=disown what is ordered", sim.FaultKills+"=acts:0.01", sim.FaultThrottle+"=instances:0.3"),
			Policy: remediating("registration: {warnAfter: 2m, deadline: 5m}", "limits: {unhealthy: 100%, zone: 100%}"),
			Rules:  rules(sim.RuleCure, sim.RuleRecord, sim.RuleTruth),
		},
		{
			Name: "a lost termination is taken for done", File: resolve,
			Old: "return ledger.Outcome{Result: ledger.Failed, Detail: fmt.Sprintf(\"the instance is %s; whether its termination", New: "return ledger.Outcome{Result: ledger.Done, Detail: fmt.Sprintf(\"the instance is %s; whether its termination",
			Harm: "a termination that never happened is told as done, and never tried again", Faults: faults(sim.FaultKills+"=acts", sim.FaultSilence+"=2"),
			Rules: rules(sim.RuleRecord, sim.RuleCure),
		},
		{
			Name: "a drain of a node that came back goes on", File: resolve,
			Old: "case n != nil && n.Ready.Status == roll.ConditionTrue && !sick:", New: "case n != nil && n.Ready.Status == roll.ConditionFalse && !sick:",
			Harm: "an act without an outcome holds its whole group", Faults: faults(sim.FaultNotReady + "=do-not-disrupt"),
			Policy: remediating("drain: {timeout: 2h}"), Rules: rules(sim.RuleCordon),
		},
	}
}

// owned returns mutations that act on what another owner is responsible for.
func owned() []Mutation {
	const owner = "shared/plan/owner.go"
	return []Mutation{
		{
			Name: "what the policy only notifies of is acted on", File: owner,
			Old: "case policy.OwnerTerminate:", New: "case policy.OwnerTerminate, policy.OwnerNotify:",
			Harm: "machines are rebooted that their team keeps for itself", Faults: faults(sim.FaultSilence),
			Policy: remediating("owners: {karpenter: notify, managed-nodegroup: notify, autoscaling-group: notify}"), Rules: rules(sim.RuleOwner),
		},
		{
			Name: "the policy's repair of a reason only ever holds", File: "shared/policy/repair.go",
			Old: "own, ok := p.Repair.Reasons[f.Reason]; ok {", New: "own, ok := p.Repair.Reasons[f.Reason]; ok && own == roll.RepairHold {",
			Harm: "a machine is rebooted that was to be replaced", Faults: faults(sim.FaultAccelerator + "=reboot"),
			Policy: remediating("repair: {accelerators: true, NvidiaXID48Error: replace}"), Rules: rules(sim.RuleAccelerator),
		},
		{
			Name: "what Auto Mode and Cluster API run is acted on as any other node", File: owner,
			Old: "case roll.OwnerAutoMode, roll.OwnerClusterAPI:\n\t\treturn false", New: "case roll.OwnerAutoMode, roll.OwnerClusterAPI:\n\t\treturn true",
			Harm: "Rollcall and what runs a machine both replace it", Faults: faults(sim.FaultBeside + "=cluster-api"), Rules: rules(sim.RuleBeside), Sample: true,
		},
		{
			Name: "Karpenter's node repair gets the time of an accelerator", File: owner,
			Old: "f.Began.Add(karpenterRepairs + karpenterRepairGrace)", New: "f.Began.Add(karpenterRepairsAccelerated)",
			Harm: "Rollcall and Karpenter replace the same node", Faults: faults(sim.FaultNotReady, sim.FaultFight), Rules: rules(sim.RuleOwner), Sample: true,
		},
		{
			Name: "Karpenter gets no time to end what does not register", File: owner,
			Old: "launched.Add(karpenterRegisters + karpenterGrace)", New: "launched",
			Harm: "Rollcall and Karpenter replace the same instance", Faults: faults(sim.FaultNoJoin),
			Policy: remediating("registration: {warnAfter: 3m, deadline: 8m}"), Rules: rules(sim.RuleOwner),
		},
		{
			Name: "Karpenter gets no time to move what is scheduled", File: owner,
			Old: "f.Since.Add(karpenterMoves)", New: "time.Time{}",
			Harm: "Rollcall drains what Karpenter is just moving", Faults: faults(sim.FaultScheduled), Rules: rules(sim.RuleScheduled),
		},
		{
			Name: "Cluster Autoscaler gets no time to remove a node", File: owner,
			Old: "n != nil && !n.ScaledDown.IsZero() {", New: "n != nil && n.ScaledDown.After(p.Now) {",
			Harm: "Rollcall ends what Cluster Autoscaler drains", Faults: faults(sim.FaultTides + "=scale-down"),
			Rules: rules(sim.RuleDisrupted),
		},
		{
			Name: "a NodeClaim that is being deleted is deleted again", File: owner,
			Old: "case d.NodeClaim != nil && !d.NodeClaim.DeletedAt.IsZero():", New: "case d.NodeClaim != nil && d.NodeClaim.DeletedAt.After(p.Now):",
			Harm: "Rollcall ends what Karpenter drains", Faults: faults(sim.FaultOwnerIdle + "=claim"),
			Rules: rules(sim.RuleDisrupted),
		},
		{
			Name: "whether a NodeClaim has the instance need not be known", File: owner,
			Old: "case !d.HasNodeClaim.Answered():", New: "case d.HasNodeClaim == roll.NotAsked:",
			Harm: "acts of Karpenter cannot be seen, and are crossed", Faults: faults(sim.FaultOwnerIdle+"=claim", sim.FaultDenied+"=claims:1"),
			Rules: rules(sim.RuleDisrupted),
		},
		{
			Name: "node auto repair gets the time of an Auto Scaling group", File: owner,
			Old: "f.Began.Add(max(autoRepairs, o.Wait+autoDrains))", New: "f.Began.Add(max(groupReplaces/3, o.Wait))",
			Harm: "Rollcall and EKS replace the same node", Faults: faults(sim.FaultOwnerIdle), Rules: rules(sim.RuleOwner),
		},
		{
			Name: "the Auto Scaling group gets no time to replace what is impaired", File: owner,
			Old: "f.Began.Add(groupReplaces)", New: "f.Began",
			Harm: "Rollcall and the Auto Scaling group replace the same instance", Faults: faults(sim.FaultOwnerIdle + "=impaired"),
			Rules: rules(sim.RuleOwner),
		},
		{
			Name: "that the owner did not act is not told", File: owner,
			Old: "case p.Now.Before(goesOn):", New: "case p.Now.Before(until):",
			Harm: "nobody learns that node repair does not work", Faults: faults(sim.FaultOwnerIdle),
			Rules: rules(sim.RuleFirst),
		},
		{
			Name: "suspended ReplaceUnhealthy is ignored", File: owner,
			Old: "case g.ReplaceSuspended == roll.Yes:", New: "case g.ReplaceSuspended == roll.Unreadable:",
			Harm: "a machine is ended that somebody keeps as it is", Faults: faults(sim.FaultNoReplacement + "=processes"),
			Rules: rules(sim.RuleTruth),
		},
		{
			Name: "suspended Launch is ignored", File: owner,
			Old: "case g.LaunchSuspended == roll.Yes:", New: "case g.LaunchSuspended == roll.Unreadable:",
			Harm: "a machine is ended, and nothing replaces it", Faults: faults(sim.FaultNoReplacement), Rules: rules(sim.RuleGroup),
		},
		{
			Name: "issues of a managed node group are ignored", File: owner,
			Old: `case len(ill) > 0:`, New: `case len(ill) > 9:`,
			Harm: "a machine is ended, and nothing replaces it", Faults: faults(sim.FaultNoReplacement), Rules: rules(sim.RuleGroup),
		},
		{
			Name: "a managed node group that is updating is not left alone", File: owner,
			Old: `case g.Status != "" && g.Status != nodeGroupActive:`, New: `case g.Status == "DELETING":`,
			Harm: "Rollcall interferes with an update of the node group", Faults: faults(sim.FaultNoReplacement + "=nodegroup"),
			Rules: rules(sim.RuleGroup),
		},
		{
			Name: "launches that fail are ignored", File: owner,
			Old: "if g.LaunchFailed.IsZero() {", New: "if !g.LaunchFailed.IsZero() {",
			Harm: "a machine is ended, and nothing replaces it", Faults: faults(sim.FaultNoReplacement + "=launches"),
			Rules: rules(sim.RuleTruth),
		},
		{
			Name: "whether a kubelet renews its lease need not be known", File: owner,
			Old: "if !asked || d.LeaseRead.Answered() {", New: "if !asked || d.LeaseRead != roll.NotAsked {",
			Harm: "a machine that works, and whose Node no list shows, is ended", Faults: faults(sim.FaultVanishedNode+"=unlisted", sim.FaultDenied+"=leases:1"),
			Policy: remediating(),
			Rules:  rules(sim.RuleHealthy),
		},
	}
}

// paced returns mutations that replace too many instances.
func paced() []Mutation {
	const group = "shared/plan/group.go"
	return []Mutation{
		{
			Name: "one more replacement is made than allowed", File: group,
			Old: "if n < limits.Replacements {", New: "if n <= limits.Replacements {",
			Harm: "replacements that fail too are made again", Faults: faults(sim.FaultDiesYoung),
			Policy: remediating("limits: {replacements: 1}"), Rules: rules(sim.RuleVain),
		},
		{
			Name: "a replacement counts once it was Ready", File: group,
			Old: "proven := roll.Later(p.State.Groups[f.Group].Proven, p.Assessment.Groups[f.Group].Proven)", New: "proven := p.lastGood(f.Group)",
			Harm: "replacements that die young are made again and again", Faults: faults(sim.FaultDiesYoung),
			Policy: remediating("limits: {replacements: 1}"), Rules: rules(sim.RuleVain),
		},
		{
			Name: "any Ready node counts as the replacement", File: group,
			Old: "good.After(last.Done) ||", New: "!good.IsZero() ||",
			Harm: "a group loses one machine after the other", Faults: faults(sim.FaultNoReplacement+"=launches", sim.FaultSilence+"=3"),
			Policy: remediating("limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"), Rules: rules(sim.RulePace),
		},
		{
			Name: "only what is launched after its cordon replaces a node", File: group,
			Old: "if !a.Since.IsZero() && a.At.Sub(deleted) < repeatsMemory {", New: "if a.Since.IsZero() {",
			Harm: "a node pool whose nodes were replaced before anyone acted is held", Faults: faults(sim.FaultTides+"=moved-pods", sim.FaultSilence+"=3"),
			Policy: remediating("limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"), Rules: rules(sim.RuleCure, sim.RuleTruth),
		},
		{
			Name: "a node pool whose pods have room elsewhere is held until Karpenter launches something", File: group,
			Old: "|| p.Snapshot.PodsWait == roll.No && !p.joins(f.Group, since))", New: ")",
			Harm: "what is broken stays, and a replacement that nobody needs is asked for", Faults: faults(sim.FaultNoReplacement + "=room"),
			Policy: remediating("limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"), Rules: rules(sim.RuleTruth, sim.RuleCure), Sample: true,
		},
		{
			Name: "pods that wait for a node are ignored", File: group,
			Old: "p.Snapshot.PodsWait == roll.No && !p.joins", New: "p.Snapshot.PodsWait != roll.NotAsked && !p.joins",
			Harm: "a node pool whose launches fail is emptied", Faults: faults(sim.FaultNoReplacement+"=launches", sim.FaultSilence+"=3"),
			Policy: remediating("limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"), Rules: rules(sim.RulePace),
		},
		{
			Name: "the replacement is waited for until the deadline, and no longer", File: group,
			Old: "p.Now.Before(until) {\n\t\treturn p.refuseUntil(until, OneAtATime, \"%s of %s was terminated", New: "!p.Now.Before(until) {\n\t\treturn nil\n\t} else {\n\t\treturn p.refuseUntil(until, OneAtATime, \"%s of %s was terminated",
			Harm: "a group loses one machine after the other", Faults: faults(sim.FaultNoJoin+"=2", sim.FaultSilence+"=2"),
			Policy: remediating("limits: {replacements: 3, unhealthy: 50%}"), Rules: rules(sim.RulePace),
		},
		{
			Name: "an instance that was just rebooted does not come first", File: group,
			Old: "sick && !wasReplaced(p.State.Actions, a.Instance) {", New: "sick && wasReplaced(p.State.Actions, a.Instance) {",
			Harm: "the next machine of a group is rebooted before the first is back", Faults: faults(sim.FaultSilence + "=2"),
			Rules: rules(sim.RulePace),
		},
		{
			Name: "a group forgets what it ended with the act", File: "shared/plan/remember.go",
			Old: "\t\tm.Ended = lastEnded(p.State, g)\n", New: "",
			Harm: "a group that lost a machine loses another a day later", Faults: faults(sim.FaultDry + "=for a month"),
			Policy: remediating("limits: {unhealthy: 100%, zone: 100%}"), Days: 34,
			Rules: rules(sim.RulePace),
		},
	}
}

// explained returns mutations that report causes that are not true.
func explained() []Mutation {
	return []Mutation{
		{
			Name: "a zone is said to be out for one silent node", File: "shared/diagnose/fleet/fleet.go",
			Old: "case !out(own) || others == 0 || !well:", New: "case own.Nodes == 0:",
			Harm: "people look for an outage that is none", Faults: faults(sim.FaultSilence + "=1"), Rules: rules(sim.RuleCause),
		},
		{
			Name: "a failing check of the instance is taken for one of its host", File: "shared/diagnose/host/status.go",
			Old: "\"SystemStatus\", s.System, s.SystemSince", New: "\"SystemStatus\", s.Instance, s.InstanceSince",
			Harm: "people wait for AWS, whose host works", Faults: faults(sim.FaultImpaired + "=2"), Rules: rules(sim.RuleCause),
		},
	}
}

// told returns mutations that report too much or too little.
func told() []Mutation {
	const ended, news, notice, storm = "shared/plan/ended.go", "shared/plan/news.go", "shared/plan/notice.go", "shared/plan/storm.go"
	return []Mutation{
		{
			Name: "that a trouble is over is never told", File: ended,
			Old: "case len(known.Members) == 0, !tells, known.Incident.Left == 0 && p.endedForNone(known) && p.toldSince(known):", New: "case p.Now.After(known.Over):",
			Harm: "incidents stay open for ever", Faults: faults(sim.FaultNotReady), Rules: rules(sim.RuleEnd),
		},
		{
			Name: "that a trouble is over is told at once", File: ended,
			Old: "case p.Now.Sub(known.Over) < overAfter:", New: "case p.Now.Before(known.Over):",
			Harm: "a node that wavers opens one incident after the other", Faults: faults(sim.FaultFlapping), Rules: rules(sim.RuleEnd),
		},
		{
			Name: "a trouble is over though its launches are still to show", File: ended,
			Old: "case p.unproven(key, known):", New: "case p.unproven(key, known) && p.gone:",
			Harm: "each instance that does not join opens an incident", Faults: faults(sim.FaultNoJoin),
			Policy: remediating("registration: {warnAfter: 20m, deadline: 25m}"), Rules: rules(sim.RuleEnd),
		},
		{
			Name: "what could not be read again is over", File: ended,
			Old: "|| p.mayLast(key) || p.replaced(key) {", New: "|| p.replaced(key) {",
			Harm: "an incident is closed that goes on", Faults: faults(sim.FaultScheduled, sim.FaultDenied+"=status:0.5"), Rules: rules(sim.RuleEnd),
		},
		{
			Name: "each reason to hold is news each time", File: news,
			Old: "if alone || !slices.Contains(incident.Reasons, e.says.Held) {", New: "if true {",
			Harm: "notices nobody reads any more", Faults: faults(sim.FaultNoReplacement), Rules: rules(sim.RuleNoise),
		},
		{
			Name: "that acts are held is no news", File: news,
			Old: "if e.says.Held != \"\" {\n", New: "if e.says.Held != \"\" {\n\t\treturn noNews\n\t}\n\tif e.says.Held == \"-\" {\n",
			Harm: "what is held for good is never told", Faults: faults(sim.FaultNoReplacement), Rules: rules(sim.RuleReport),
		},
		{
			Name: "each further instance is news", File: news,
			Old: "return count > told && 2*count >= 3*told", New: "return count > told",
			Harm: "notices nobody reads any more", Faults: faults(sim.FaultTemplate),
			Rules: rules(sim.RuleNoise),
		},
		{
			Name: "what is past its tolerance is no news", File: news,
			Old: "if alone || !incident.Escalated() {", New: "if alone && !incident.Escalated() && incident.Sent < 0 {",
			Harm: "what was only warned of is never told to be overdue", Faults: faults(sim.FaultNoJoin + "=2"),
			Policy: "apiVersion: rollcall/v1\nmode: notify\n", Rules: rules(sim.RuleReport),
		},
		{
			Name: "an act is no news once the incident is open", File: news,
			Old: "\t\treturn NewsOrdered\n", New: "\t\treturn noNews\n",
			Harm: "machines are ended without a word", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleFirst),
		},
		{
			Name: "what a notice said is forgotten", File: notice,
			Old: "n.Said = ledger.Notice{SentAt: p.Now, Members: map[roll.InstanceID]ledger.MemberMemory{}}\n\tchanged := n.join(known)", New: "n.Said = ledger.Notice{SentAt: p.Now, Members: map[roll.InstanceID]ledger.MemberMemory{}}\n\tchanged := false",
			Harm: "everything is told again and again", Faults: faults(sim.FaultSilence), Rules: rules(sim.RuleReport, sim.RuleEnd), Sample: true,
		},
		{
			Name: "that a cluster cannot be read is told at once", File: storm,
			Old: "if tell := t.Outage.Since.Add(alarmAfter); p.Now.Before(tell) {", New: "if tell := t.Outage.Since; p.Now.Before(tell) {",
			Harm: "each hiccup of an API server alarms somebody", Faults: faults(sim.FaultAPIErrors + "=0.5"),
			Rules: rules(sim.RuleNoise),
		},
		{
			Name: "that a cluster cannot be read is told each time", File: storm,
			Old: "if !t.Told.IsZero() {\n\t\treturn\n\t}\n", New: "",
			Harm: "notices nobody reads any more", Faults: faults(sim.FaultAPIDown), Rules: rules(sim.RuleReport),
		},
		{
			Name: "that a cluster cannot be read is never told", File: storm,
			Old: "} else if p.reportsCluster() {", New: "} else if !p.reportsCluster() {",
			Harm: "nobody learns that nothing is watched", Faults: faults(sim.FaultAPIDown),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "that a cluster can be read again is never told", File: storm,
			Old: "if t.Told.IsZero() || !p.reportsCluster() {", New: "if true {",
			Harm: "an incident stays open for ever", Faults: faults(sim.FaultAPIDown),
			Rules: rules(sim.RuleEnd),
		},
	}
}

// remembered returns mutations that forget something or remember it wrongly.
func remembered() []Mutation {
	const remember, tags = "shared/plan/remember.go", "shared/plan/tags.go"
	return []Mutation{
		{
			Name: "findings that could not be read again are forgotten", File: remember,
			Old: "if !current[k] && !p.Assessment.Kept[k] {", New: "if !current[k] {",
			Harm: "an outage of an API makes each trouble a new one", Faults: faults(sim.FaultScheduled, sim.FaultDenied+"=status:0.5"), Rules: rules(sim.RuleEnd),
		},
		{
			Name: "a finding is first seen in each check", File: remember,
			Old: "put.FirstSeen, put.Opened, put.Allowed, put.Evidence = known.FirstSeen, known.Opened, known.Allowed, known.Evidence", New: "put.Opened, put.Allowed, put.Evidence = known.Opened, known.Allowed, known.Evidence",
			Harm: "nothing is ever seen twice, and nothing cured", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleTruth, sim.RuleCure, sim.RuleNoise),
		},
		{
			Name: "remediate is on since ever", File: remember,
			Old: "\tp.since[g] = p.Now\n", New: "\tp.since[g] = p.Snapshot.Cluster.Created\n",
			Harm: "turning remediate on begins with a wave of acts", Faults: faults(sim.FaultMode+"=notify", sim.FaultNotReady+"=2"),
			Rules: rules(sim.RuleBacklog),
		},
		{
			Name: "a mode that was lowered for a while leaves alone what was found before", File: "shared/plan/limits.go",
			Old: "if known.Allowed || known.Opened.IsZero()", New: "if known.Opened.IsZero()",
			Harm: "a short stop, and what is broken stays so for ever", Faults: faults(sim.FaultMode+"=notify", sim.FaultNotReady+"=2"),
			Policy: remediating("ladders: {NotReady: [{do: notify}, {do: terminate, after: 40m}]}"), Rules: rules(sim.RuleTruth, sim.RuleCure),
		},
		{
			Name: "the order is not written on the instance", File: tags,
			Old: "marks.Order, found = o.ID, true", New: "found = true",
			Harm: "nothing is ever done", Faults: faults(sim.FaultSilence), Rules: rules(sim.RuleCure),
		},
		{
			Name: "tags are never removed", File: tags,
			Old: "change.Delete = append(change.Delete, key)", New: "continue",
			Harm: "machines in order carry findings for ever", Faults: faults(sim.FaultSilence), Rules: rules(sim.RuleTidy),
		},
		{
			Name: "tags are removed when EC2 could not be asked", File: tags,
			Old: "if !found && kept[inst.ID] {", New: "if !found && !kept[inst.ID] {",
			Harm: "tags come and go with each hiccup", Faults: faults(sim.FaultImpaired, sim.FaultErrors), Rules: rules(sim.RuleTidy),
		},
		{
			Name: "what is told in mode observe is tagged", File: tags,
			Old: "Mode.Allows(policy.Notify) {", New: "Mode.Allows(policy.Observe) {",
			Harm: "mode observe writes", Faults: faults(sim.FaultKillSwitch), Rules: rules(sim.RuleMode), Sample: true,
		},
	}
}

// carriedOut returns mutations that act when an act is no longer due, act twice, or leave
// no record.
func carriedOut() []Mutation {
	const remediate, verify, instance, node, run = "shared/remediate/remediate.go", "shared/remediate/verify.go", "shared/remediate/instance.go", "shared/remediate/node.go", "shared/lambdas/run/run.go"
	return []Mutation{
		{
			Name: "there is no second look after the diagnosis", File: verify,
			Old: "l.Diagnoses, l.keep = r.Why(ctx, l.Snapshot, l.Assessment.Findings, l.state)\n\t\tif no = r.look(ctx, &l, doc, o, now); no != nil {\n\t\t\treturn l, no\n\t\t}\n", New: "l.Diagnoses, l.keep = r.Why(ctx, l.Snapshot, l.Assessment.Findings, l.state)\n",
			Harm: "a node that came back meanwhile is ended", Faults: faults(sim.FaultOutageBetween),
			Rules: rules(sim.RuleFresh), Sample: true,
		},
		{
			Name: "the policy is read once before an act, not again after the diagnosis", File: verify,
			Old: "\tif doc, err = r.Policy(ctx); err != nil {\n\t\treturn l, refusal(o, plan.PolicyUnreadable, \"the policy could not be read again: %v\", err)\n\t}\n\tr.judge", New: "\tr.judge",
			Harm: "an act goes on though remediate was just turned off", Faults: faults(sim.FaultKillSwitch+"=stopped", sim.FaultSilence),
			Rules: rules(sim.RuleFresh),
		},
		{
			Name: "an order that expired is carried out", File: verify,
			Old: "if !now.Before(o.Expires) {", New: "if o.Expires.IsZero() {",
			Harm: "an act rests on an old look", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Survives: "the target is looked at again, and the plan made anew; only how old the first look is may differ",
		},
		{
			Name: "an order that expires while its target is looked at is carried out", File: remediate,
			Old: "if !v.at.Before(v.expires) {", New: "if v.expires.IsZero() {",
			Harm: "an act rests on an old look", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Survives: "an order lives for ten minutes, and the function for five",
		},
		{
			Name: "a part of the target need not be read", File: verify,
			Old: "if !l.Snapshot.Whole() {", New: "if len(l.Snapshot.Gaps) > 1 {",
			Harm: "an act rests on half a look", Faults: faults(sim.FaultNotReady+"=2", sim.FaultAPIErrors+"=0.4"),
			Survives: "the plan that is made anew holds the act for each part that was not read",
		},
		{
			Name: "an order is carried out though no plan makes it any more", File: verify,
			Old: "\treturn o, refusal(o, plan.VerdictChanged, \"%s\", changes(l.Snapshot, l.Assessment, o))\n", New: "\treturn o, nil\n",
			Harm:   "a node that is ill again takes pods", // what has no finding is not terminated: there is no evidence of it
			Faults: faults(sim.FaultPeople+"=break what is uncordoned", sim.FaultNotReady+"=do-not-disrupt"),
			Policy: remediating("drain: {timeout: 2h}"), Rules: rules(sim.RuleTidy),
		},
		{
			Name: "what is held by now is done all the same", File: verify,
			Old: "\t\t\treturn o, refusal(o, h.Reason, \"%s\", h.Detail)\n", New: "\t\t\treturn o, nil\n",
			Harm: "a person's hold comes too late", Faults: faults(sim.FaultPeople, sim.FaultOutageBetween), Rules: rules(sim.RuleZone),
		},
		{
			Name: "any order's tag will do", File: verify,
			Old: "i.Marks.Order == o.ID {", New: "i.Marks.Order != \"\" {",
			Harm: "a person who removes the tag stops nothing", Faults: faults(sim.FaultPeople, sim.FaultMessages), Rules: rules(sim.RuleKept),
		},
		{
			Name: "the order's tag is not needed", File: verify,
			Old: "if !v.does.marked || i == nil && !v.does.leashed {", New: "if v.does.marked || i == nil && !v.does.leashed {",
			Harm: "a person who removes the tag stops nothing", Faults: faults(sim.FaultPeople), Rules: rules(sim.RuleKept),
		},
		{
			Name: "the ledger is not asked whether the order was begun", File: verify,
			Old: "case a.Outcome == nil && !acts[o.Action].resumes:", New: "case a.Outcome == nil && a.ID == \"\":",
			Harm: "a message that comes twice is carried out twice", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Survives: "the ledger refuses the intent when it is begun",
		},
		{
			Name: "evidence that could not be kept is no obstacle", File: remediate,
			Old: "if v.evidence, err = v.keep(ctx, o, v.seen); err != nil {", New: "if v.evidence, err = v.keep(ctx, o, v.seen); err != nil && v.evidence != \"\" {",
			Harm: "nobody finds out why a machine failed", Faults: faults(sim.FaultDenied+"=evidence", sim.FaultNotReady+"=2"), Rules: rules(sim.RuleEvidence), Sample: true,
		},
		{
			Name: "an intent that could not be recorded is no obstacle", File: remediate,
			Old: "\tcase err != nil:\n\t\treturn refusal(o, plan.NotRecorded", New: "\tcase err != nil && v.at.IsZero():\n\t\treturn refusal(o, plan.NotRecorded",
			Harm: "a machine is ended twice, and nobody knows", Faults: faults(sim.FaultLedgerErrors, sim.FaultSilence), Rules: rules(sim.RuleIntent), Sample: true,
		},
		{
			Name: "the ledger's word that the order was begun is ignored", File: remediate,
			Old: "\tcase errors.Is(err, ledger.ErrBegun):\n\t\treturn refusal(o, plan.AlreadyBegun, \"%v\", err)\n", New: "\tcase errors.Is(err, ledger.ErrBegun):\n",
			Harm: "a message that comes twice is carried out twice", Faults: faults(sim.FaultSilence+"=2", sim.FaultMessages+"=beside"),
			Rules: rules(sim.RuleIntent, sim.RuleOnce),
		},
		{
			Name: "the ledger's word that another act was faster is ignored", File: remediate,
			Old: "\tcase errors.Is(err, ledger.ErrOvertaken):\n\t\treturn refusal(o, plan.OneAtATime, \"%v\", err)\n", New: "\tcase errors.Is(err, ledger.ErrOvertaken):\n",
			Harm: "two machines of a group are ended at once", Faults: faults(sim.FaultPeople+"=hold what is ordered for minutes", sim.FaultSilence+"=3", sim.FaultDenied+"=untagging:1"),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 3m}]", "ladders:\n  Unknown: [{do: reboot}]", "limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"),
			Rules:  rules(sim.RuleIntent),
		},
		{
			Name: "the ledger's word that the budget is spent is ignored", File: remediate,
			Old: "\tcase errors.Is(err, ledger.ErrBudgetSpent):\n\t\treturn refusal(o, plan.ActionsPerHour, \"%v\", err)\n", New: "\tcase errors.Is(err, ledger.ErrBudgetSpent):\n",
			Harm: "more acts an hour than allowed", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Survives: "the plan that is made anew counts the same acts",
		},
		{
			Name: "a call that failed is recorded as done", File: remediate,
			Old: "case Failed, Refused:", New: "case Refused:",
			Harm: "a machine that was never ended is told to be", Faults: faults(sim.FaultNotReady+"=2", sim.FaultDenied+"=acts"),
			Rules: rules(sim.RuleLadder),
		},
		{
			Name: "a call of unknown outcome is recorded as done", File: remediate,
			Old: "\tcase Unclear, Ongoing:\n", New: "\tcase Ongoing:\n",
			Harm: "a machine that was never ended is told to be", Faults: faults(sim.FaultSilence+"=2", sim.FaultErrors+"=only-acts:1"),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 10m}]", "ladders: {Unknown: [{do: notify}, {do: terminate}]}"),
			Rules:  rules(sim.RuleRecord, sim.RuleCure, sim.RuleCordon),
		},
		{
			Name: "a call of unknown outcome is taken for refused", File: instance,
			Old: "out.Result = Unclear", New: "out.Result = Failed",
			Harm: "a machine is rebooted or ended twice", Faults: faults(sim.FaultLostAnswers+"=0.4", sim.FaultSilence+"=2"),
			Rules: rules(sim.RuleRecord),
		},
		{
			Name: "a person's cordon is taken over", File: node,
			Old: `case n.CordonedByOthers():`, New: `case n.Unschedulable && n.CordonedBy == "-":`,
			Harm: "a node that a person cordoned is uncordoned", Faults: faults(sim.FaultPeople+"=cordon", sim.FaultNotReady+"=2"),
			Survives: "kube asks again before it patches, and leaves a cordon that is there",
		},
		{
			Name: "a drain is done though pods are left", File: node,
			Old: "case err == nil && d.Done():", New: "case err == nil:",
			Harm: "pods that their budget cannot spare are ended", Faults: faults(sim.FaultNotReady + "=do-not-disrupt"),
			Rules: rules(sim.RuleLadder, sim.RuleServing),
		},
		{
			Name: "a drain never ends", File: node,
			Old: "\tif took >= v.timeout {\n", New: "\tif took < 0 {\n",
			Harm: "what cannot be drained stays for ever", Faults: faults(sim.FaultNotReady + "=do-not-disrupt"),
			Policy: remediating("drain: {timeout: 5m, force: afterBudgetTimeout, budgetTimeout: 10m}"), Rules: rules(sim.RuleCure),
		},
		{
			Name: "an order is sent though its notice was not", File: run,
			Old: "if err := untold[o.ID]; err != nil {", New: "if err := untold[o.ID]; err != nil && o.ID == \"\" {",
			Harm: "machines are ended without a word", Faults: faults(sim.FaultDenied+"=0.9", sim.FaultSilence+"=2"),
			Rules: rules(sim.RuleFirst),
		},
		{
			Name: "what a notice said is recorded though it was not sent", File: run,
			Old: "if !report.Sent(err) {", New: "if false {",
			Harm: "what could not be told once is never told, and acted on all the same", Faults: faults(sim.FaultDenied, sim.FaultSilence),
			Rules: rules(sim.RuleFirst, sim.RuleReport),
		},
		{
			Name: "a ledger that could not be read is taken for an empty one", File: run,
			Old: "\tstate, err := r.Ledger.Read(ctx, c.Snapshot.Cluster.ID)\n", New: "\tstate, _ := r.Ledger.Read(ctx, c.Snapshot.Cluster.ID)\n\tvar err error\n",
			Harm: "everything is told and done again", Faults: faults(sim.FaultLedgerErrors),
			Rules: rules(sim.RuleTruth),
		},
		{
			Name: "a ledger that could not be written is no obstacle", File: run,
			Old: "\t\tfault(\"the ledger could not be written, so nothing is reported or done: %v\", err)\n\t\treturn\n", New: "\t\tfault(\"the ledger could not be written, so nothing is reported or done: %v\", err)\n",
			Harm: "what is told is told again", Faults: faults(sim.FaultLedgerErrors+"=0.5", sim.FaultSilence),
			Rules: rules(sim.RuleReport, sim.RuleEnd),
		},
		{
			Name: "two checks at once both tell", File: run,
			Old: "if err := r.Ledger.RaiseNotices(ctx, id, state.NoticesVersion); err != nil {\n\t\t\treturn err\n\t\t}", New: "_ = r.Ledger.RaiseNotices(ctx, id, state.NoticesVersion)",
			Harm: "one trouble opens two incidents", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Rules: rules(sim.RuleReport, sim.RuleNoise),
		},
	}
}
