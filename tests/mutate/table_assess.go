package mutate

import "rollcall/shared/sim"

// assessed returns mutations that judge observations wrongly.
func assessed() []Mutation {
	const node, absence, assess, kept, count, flaps, unpaired, ghost, orphan = "shared/assess/node.go", "shared/assess/absence.go", "shared/assess/assess.go", "shared/assess/kept.go", "shared/assess/count.go", "shared/assess/flaps.go", "shared/assess/unpaired.go", "shared/assess/ghost.go", "shared/assess/orphan.go"
	const stuck, left, unlaunched = "shared/assess/stuck.go", "shared/assess/left.go", "shared/assess/unlaunched.go"
	return []Mutation{
		{
			Name: "tolerance is counted from the creation of the node", File: absence,
			Old: "turned := n.Ready.Since\n", New: "turned := n.Created\n",
			Harm: "a node is ended as soon as it leaves Ready", Faults: faults(sim.FaultNotReady),
			Rules: rules(sim.RuleTruth, sim.RuleTolerance, sim.RuleReport),
		},
		{
			Name: "tolerance is counted from an absence that is over", File: absence,
			Old: "case known.Status == n.Ready.Status && !known.Transition.Equal(turned):", New: "case known.Status == \"-\":",
			Harm: "a node that wavers is ended as soon as it leaves Ready", Faults: faults(sim.FaultFlapping + "=6"),
			Policy: remediating(`conditions: [{type: Ready, status: "False", tolerate: 4m}, {type: Ready, status: Unknown, tolerate: 4m}]`, "ladders:\n  Unknown: [{do: terminate}]", "limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"),
			Rules:  rules(sim.RuleTolerance),
		},
		{
			Name: "tolerance begins anew when the status changes", File: absence,
			Old:  "w.since, w.perhaps, told = known.Since.UTC(), known.Perhaps, known.Told\n\t\tif known.Transition.Equal(turned) || began.Sub(a.State.Checked) <= Unseen {",
			New:  "w.perhaps, told = known.Perhaps, known.Told\n\t\tif known.Transition.Equal(turned) {\n\t\t\tw.since = known.Since.UTC()",
			Harm: "what changes between unknown and false is never overdue", Faults: faults(sim.FaultSilence + "=answers:1"),
			Policy: remediating(),
			Rules:  rules(sim.RuleCure, sim.RuleReport),
		},
		{
			Name: "a silent node gets the tolerance of one that answers", File: node,
			Old: `a.unready(m, roll.Unknown, roll.ConditionUnknown, "has not`, New: `a.unready(m, roll.NotReady, roll.ConditionFalse, "has not`,
			Harm: "a silent node climbs the wrong ladder", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleLadder),
		},
		{
			Name: "what never was Ready is due at once", File: node,
			Old: "f := a.finding(m, roll.Uninitialized, since, began.Add(deadline))", New: "f := a.finding(m, roll.Uninitialized, since, began.Add(warnAfter))",
			Harm: "a node that is still starting is ended", Faults: faults(sim.FaultCilium, sim.FaultNoReady+"=2"),
			Rules: rules(sim.RuleNoise, sim.RuleTolerance),
		},
		{
			Name: "the deadline of an instance counts from now", File: unpaired,
			Old: "f := a.finding(m, roll.Unregistered, since, began.Add(p.Registration.Deadline))", New: "f := a.finding(m, roll.Unregistered, since, a.Now.Add(p.Registration.Deadline))",
			Harm: "what never joins is never overdue", Faults: faults(sim.FaultNoJoin),
			Rules: rules(sim.RuleCure),
		},
		{
			Name: "an instance is overdue when it is warned of", File: unpaired,
			Old: "f := a.finding(m, roll.Unregistered, since, began.Add(p.Registration.Deadline))", New: "f := a.finding(m, roll.Unregistered, since, since.Add(p.Registration.WarnAfter))",
			Harm: "instances that are still booting are ended", Faults: faults(sim.FaultNoJoin),
			Rules: rules(sim.RuleTolerance),
		},
		{
			Name: "the Node of an instance that is gone is due at once", File: ghost,
			Old: "f := a.finding(m, roll.Ghost, since, since.Add(tolerance))\n\tf.Began = began", New: "f := a.finding(m, roll.Ghost, since, since.Add(0*tolerance))\n\tf.Began = began",
			Harm: "a Node is deleted before the controller of its owner had its time", Faults: faults(sim.FaultGhosts + "=2"),
			Policy: remediating("ghost: {tolerate: 30m}"), Rules: rules(sim.RuleTolerance),
		},
		{
			Name: "an instance is warned of when it is due", File: unpaired,
			Old: "a.warn(&f, warnAt)", New: "a.warn(&f, f.Due)",
			Harm: "Karpenter ends instances that do not register, and nobody learns why", Faults: faults(sim.FaultRefused),
			Policy: remediating(), Rules: rules(sim.RuleExplained),
		},
		{
			Name: "what was just deleted is stuck", File: stuck,
			Old: "due := since.Add(tolerance)\n", New: "due := since.Add(tolerance / 4)\n",
			Harm: "people look after objects that go by themselves", Faults: faults(sim.FaultStuck),
			Policy: remediating(), Rules: rules(sim.RuleStuck),
		},
		{
			Name: "what is left is told only if it was known before", File: left,
			Old: `case a.Snapshot.Left[subject].ID != "":`, New: `case a.Snapshot.Left[subject].ID != "" && !r.known.FirstSeen.IsZero():`,
			Harm: "volumes cost money, and nobody is told", Faults: faults(sim.FaultLeft + "=volume"),
			Policy: remediating(), Days: 1, Rules: rules(sim.RuleLeft),
		},
		{
			Name: "failing launches have the time of a day", File: unlaunched,
			Old: "due := since.Add(tolerance)", New: "due := since.Add(300 * tolerance)",
			Harm: "a group lacks instances, and nobody is told", Faults: faults(sim.FaultUnlaunched),
			Policy: remediating(), Rules: rules(sim.RuleUnlaunched),
		},
		{
			Name: "an orphan is due at once", File: orphan,
			Old: "f := a.finding(m, roll.Orphaned, since, since.Add(tolerance))", New: "f := a.finding(m, roll.Orphaned, since, since.Add(0*tolerance))",
			Harm: "a machine is ended whose NodeClaim a person may restore", Faults: faults(sim.FaultLeft + "=orphan"),
			Policy: remediating("orphaned: {tolerate: 1h}", "ladders:\n  Orphaned: [{do: notify}, {do: terminate}]"), Rules: rules(sim.RuleTolerance),
		},
		{
			Name: "a node that leaves Ready on and off worked never", File: node,
			Old: "return n.Initialized || claim != nil && (", New: "return !n.Initialized && claim != nil && (",
			Harm: "a node that works is ended for a startup taint", Faults: faults(sim.FaultTaintReturns),
			Rules: rules(sim.RuleHealthy),
		},
		{
			Name: "whether a node worked before the taint is forgotten", File: node,
			Old: "return known.Worked\n", New: "return false\n",
			Harm: "a node that works is ended for a startup taint", Faults: faults(sim.FaultTaintReturns), Rules: rules(sim.RuleHealthy), Sample: true,
		},
		{
			Name: "status checks that were not read are in order", File: kept,
			Old: "a.Snapshot.StatusRead != roll.Yes:", New: "a.Snapshot.StatusRead == roll.NotAsked:",
			Harm: "an impaired instance is told to have recovered", Faults: faults(sim.FaultImpaired+"=2", sim.FaultErrors+"=0.3"),
			Rules: rules(sim.RuleEnd),
		},
		{
			Name: "a node is counted as overdue in its group alone", File: count,
			Old: "\ta.total.Overdue++\n", New: "",
			Harm:  "acts go on while a large part of the cluster is unhealthy",
			Rules: rules(sim.RuleShare),
		},
		{
			Name: "instances that never joined do not count as unhealthy", File: count,
			Old: "case roll.Ghost, roll.Flapping,", New: "case roll.Unregistered, roll.Ghost, roll.Flapping,",
			Harm: "acts go on while nothing joins any more", Faults: faults(sim.FaultNoJoin + "=4"),
			Rules: rules(sim.RuleShare),
		},
		{
			Name: "a starting node counts as silent in its zone", File: count,
			Old: "case !a.starting(m):", New: "case true:",
			Harm: "a group that grows is taken for an outage of the zone", Faults: faults(sim.FaultScale+"=slow:24", sim.FaultSilence+"=1"),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 3m}]"), Rules: rules(sim.RuleTruth),
		},
		{
			Name: "flaps of an earlier hour count", File: flaps,
			Old: "return !t.After(a.Now) && a.Now.Sub(t) < roll.FlapWindow", New: "return !t.After(a.Now)",
			Harm: "a node is called flapping for what is long over", Faults: faults(sim.FaultFlapping), Rules: rules(sim.RuleTidy), Sample: true,
		},
		{
			Name: "flapping is never noticed", File: flaps,
			Old: "if len(returns) < roll.FlapCount {\n\t\treturn\n\t}\n\tn := m.Node", New: "if len(returns) < 100*roll.FlapCount {\n\t\treturn\n\t}\n\tn := m.Node",
			Harm: "a node that comes and goes is never told", Faults: faults(sim.FaultFlapping),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "a bastion is meant to be a node since its template has some", File: unpaired,
			Old: "\tcase bySiblings:\n\t\ta.out.Inherited[i.ID] = true\n", New: "\tcase bySiblings:\n",
			Harm: "a bastion from the nodes' launch template is ended", Faults: faults(sim.FaultBastion + "=unread"),
			Policy: remediating("limits: {causeOutside: tryOnce}"),
			Rules:  rules(sim.RuleForeign),
		},
		{
			Name: "no node is known to have vanished", File: unpaired,
			Old: "works := a.works(i.ID)", New: "works := \"\"",
			Harm: "a machine that works, whose Node no list shows and whose NodeClaim is lost, is ended as an orphan", Faults: faults(sim.FaultOrphans+"=4", sim.FaultVanishedNode+"=unlisted:4"),
			Policy: remediating("limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"), // all of a group are affected
			Rules:  rules(sim.RuleHealthy),
		},
		{
			Name: "what EKS does not know counts as active", File: assess,
			Old: "a.gone = s.ClusterGone()", New: "a.gone = false",
			Harm: "machines of a deleted cluster are never told of", Faults: faults(sim.FaultSilence, sim.FaultDeleted),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "a notice counts only the nodes that it has findings about", File: assess,
			Old: "Nodes: len(s.Nodes),", New: "Nodes: len(in.State.Findings),",
			Harm: "people take a cluster for smaller than it is", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "a trouble is told to have begun when its tolerance ended", File: "shared/report/notice.go",
			Old: "\t\tSince: f.Since.UTC(), Due: f.Due.UTC(), New: e.New,", New: "\t\tSince: f.Due.UTC(), Due: f.Due.UTC(), New: e.New,",
			Harm: "people look for what happened at the wrong time", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleReport),
		},
	}
}
