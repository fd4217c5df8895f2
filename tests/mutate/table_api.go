package mutate

import "rollcall/shared/sim"

// read returns mutations that misread API answers.
func read() []Mutation {
	const client, drain, write, pods, cluster, observe, instances, status = "shared/kube/client.go", "shared/kube/drain.go", "shared/kube/write.go", "shared/kube/pods.go", "shared/observe/cluster.go", "shared/observe/observe.go", "shared/observe/instances.go", "shared/observe/status.go"
	return []Mutation{
		{
			Name: "a listing that expired (410) ends", File: client,
			Old: "\t\trestart()\n\t\terr = list()\n", New: "\t\treturn nil\n",
			Harm: "nodes of later pages are taken for missing", Faults: faults(sim.FaultAPIErrors+"=0.02", sim.FaultNotReady+"=1"),
			Rules: rules(sim.RuleWhole),
		},
		{
			Name: "a listing that expired (410) begins anew without forgetting", File: client,
			Old: "\t\trestart()\n\t\terr = list()\n", New: "\t\terr = list()\n",
			Harm: "nodes are counted twice", Faults: faults(sim.FaultAPIErrors+"=0.02", sim.FaultNotReady+"=1"),
			Rules: rules(sim.RuleWhole),
		},
		{
			Name: "only the first page of nodes is read", File: client,
			Old: "if options.Continue = next; next == \"\" {", New: "if options.Continue = next; next == \"\" || options.Limit > 0 {",
			Harm: "nodes of later pages are taken for missing", Rules: rules(sim.RuleWhole), Sample: true,
		},
		{
			Name: "a page of nodes that fails ends the listing", File: observe,
			Old: "\tif err != nil {\n\t\to.fail(ctx, s, roll.ScopeNodes, callNodes, err)\n\t}\n}", New: "\tif err != nil && len(s.Nodes) == 0 {\n\t\to.fail(ctx, s, roll.ScopeNodes, callNodes, err)\n\t}\n}",
			Harm: "nodes of later pages are taken for missing", Faults: faults(sim.FaultAPIErrors+"=0.5", sim.FaultNotReady+"=1"),
			Rules: rules(sim.RuleWhole),
		},
		{
			Name: "a cluster that cannot be described has no memory", File: cluster,
			Old: "if o.Account != \"\" {", New: "if o.Account == \"\" {",
			Harm: "nobody learns that nothing is watched", Faults: faults(sim.FaultUndescribed),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "the tag of a cluster that cannot be described is taken for observe", File: cluster,
			Old: "ModeTag: roll.ModeTagUnread}", New: "ModeTag: \"observe\"}",
			Harm: "nobody learns that nothing is watched", Faults: faults(sim.FaultUndescribed),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "a page of instances that fails ends the listing", File: instances,
			Old: "\t\t\ts.Gaps = append(s.Gaps, g)\n\t\t\treturn\n", New: "\t\t\tif page == 1 {\n\t\t\t\ts.Gaps = append(s.Gaps, g)\n\t\t\t}\n\t\t\treturn\n",
			Harm: "instances of later pages are taken for ended", Faults: faults(sim.FaultThrottle+"=0.5", sim.FaultNotReady+"=1"),
			Rules: rules(sim.RuleWhole),
		},
		{
			Name: "instances that the listing lacks are not looked up", File: instances,
			Old: "if id := s.Nodes[i].Instance; id != \"\" && !listed[id] {", New: "if id := s.Nodes[i].Instance; id == \"\" && !listed[id] {",
			Harm: "what EC2 shows late is taken for ended", Faults: faults(sim.FaultStale+"=0.5", sim.FaultScale+"=3"),
			Rules: rules(sim.RuleTruth),
		},
		{
			Name: "instances that could not be looked up are taken for unknown", File: instances,
			Old: "\t\tfound, unknown, err := o.lookup(ctx, batch)\n\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n", New: "\t\tfound, unknown, err := o.lookup(ctx, batch)\n\t\tif err != nil {\n\t\t\tunknown = batch\n\t\t}\n",
			Harm: "nodes of working machines are deleted", Faults: faults(sim.FaultGhosts+"=2", sim.FaultThrottle+"=0.5"),
			Rules: rules(sim.RuleWhole),
		},
		{
			Name: "instances of several clusters are of this one", File: instances,
			Old: "OtherCluster:   p.texts.One(tags.OtherCluster(cluster)),", New: "",
			Harm: "instances of another cluster are ended", Faults: faults(sim.FaultForeignTags + "=tags-back"),
			Survives: "tags that name another cluster, and not this one, make an instance unclaimed too (Unclaimed), which is left out of the listing and holds every act",
		},
		{
			Name: "rollcall:hold is not read", File: instances,
			Old: "Hold:           p.texts.One(tags.Hold),", New: "",
			Harm: "what a person looks at is ended", Faults: faults(sim.FaultPeople+"=hold", sim.FaultSilence+"=2"), Rules: rules(sim.RuleKept),
		},
		{
			Name: "karpenter.sh/do-not-repair is not read", File: "shared/kube/project.go",
			Old: "n.Annotations[roll.AnnotationDoNotRepair] == \"true\"", New: "n.Annotations[roll.AnnotationDoNotRepair] == \"yes\"",
			Harm: "what a person debugs is ended", Faults: faults(sim.FaultPeople+"=keep it unhealthy", sim.FaultSilence+"=2"),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "status checks that could not be read are in order", File: status,
			Old: "s.StatusRead = roll.Unreadable\n\tif !s.Has(roll.ScopeInstances) {", New: "s.StatusRead = roll.Yes\n\tif !s.Has(roll.ScopeInstances) {",
			Harm: "an impaired instance is told to have recovered", Faults: faults(sim.FaultImpaired+"=2", sim.FaultDenied+"=status:0.5"),
			Rules: rules(sim.RuleEnd),
		},
		{
			Name: "the uid of a node is not compared", File: write,
			Old: "if string(n.UID) != uid {", New: "if uid == \"\" {",
			Harm: "another node of the same name is cordoned", Faults: faults(sim.FaultNotReady, sim.FaultGhosts),
			Survives: "the Node is read again by its name a moment before; another one of that name comes minutes later",
		},
		{
			Name: "a cordon overwrites that of a person", File: write,
			Old: "if n.Spec.Unschedulable {\n\t\t\treturn nil, nil", New: "if n.Annotations[roll.AnnotationCordoned] != \"\" {\n\t\t\treturn nil, nil",
			Harm: "a node that a person cordoned is uncordoned", Faults: faults(sim.FaultPeople+"=cordon", sim.FaultNotReady+"=2"),
			Survives: "remediate leaves a cordon alone that its look found",
		},
		{
			Name: "an uncordon does not ask whose cordon it is", File: write,
			Old: "if order == \"\" || n.Annotations[roll.AnnotationCordoned] != order {", New: "if order == \"-\" {",
			Harm: "a node that a person cordoned is uncordoned", Faults: faults(sim.FaultPeople+"=cordon", sim.FaultNotReady+"=2"),
			Survives: "the plan lifts a cordon only if the ledger knows its order",
		},
		{
			Name: "do-not-disrupt is ignored by drains", File: drain,
			Old: "\tif asked == \"true\" {\n", New: "\tif asked == \"yes\" {\n",
			Harm: "a job that must not be disturbed is evicted", Faults: faults(sim.FaultNotReady + "=do-not-disrupt"),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "safe-to-evict is ignored", File: drain,
			Old: "if p.Annotations[roll.AnnotationSafeToEvict] == \"false\" {", New: "if p.Annotations[roll.AnnotationSafeToEvict] == \"no\" {",
			Harm: "a job that must not be disturbed is evicted", Faults: faults(sim.FaultNotReady + "=safe-to-evict"),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "pods that a budget keeps are left", File: drain,
			Old: "\t\td.Blocked = append(d.Blocked, p.because(\"%s\", refusal(err)))\n", New: "",
			Harm: "pods that their budget cannot spare are ended", Faults: faults(sim.FaultNotReady + "=budget"),
			Rules: rules(sim.RuleLadder, sim.RuleServing),
		},
		{
			Name: "pods that are still stopping are gone", File: drain,
			Old: "\t\t\td.Leaving = append(d.Leaving, p.because(\"has until", New: "\t\t\td.Stuck = append(d.Stuck, p.because(\"has until",
			Harm: "pods are ended in their grace period", Faults: faults(sim.FaultNotReady + "=slow"),
			Policy: remediating("ladders:\n  NotReady: [{do: cordon}, {do: drain}, {do: terminate}]"),
			Rules:  rules(sim.RuleServing),
		},
		{
			Name: "pods that are stuck keep a drain waiting", File: drain,
			Old: "now.Sub(p.DeletionTimestamp.Time) > stuckAfter", New: "now.Sub(p.DeletionTimestamp.Time) > 100*stuckAfter",
			Harm: "a machine whose container runtime is dead is kept", Faults: faults(sim.FaultHangingPods), Rules: rules(sim.RuleCure), Sample: true,
		},
		{
			Name: "pods of DaemonSets are evicted", File: drain,
			Old: "owner.Kind == \"DaemonSet\" ||", New: "owner.Kind == \"Deployment\" ||",
			Harm: "what the node needs is evicted, and comes back for ever", Faults: faults(sim.FaultNotReady),
			Rules: rules(sim.RuleKept),
		},
		{
			Name: "a budget without a word counts for nothing", File: pods,
			Old: "Unknown: pdb.err != nil || pdb.Status.ObservedGeneration < pdb.Generation || uncounted(pdb.budgetObject),", New: "",
			Harm: "pods that their budget cannot spare are ended", Faults: faults(sim.FaultSilentServing + "=budget-uncounted"),
			Rules: rules(sim.RuleServing),
		},
		{
			Name: "annotations of the node are ignored", File: "shared/kube/project.go",
			Old: "\t\tNotToDisrupt:  roll.NotToDisrupt(n.Annotations),\n", New: "",
			Harm: "a node that must not be disturbed is ended", Faults: faults(sim.FaultSilentServing), Rules: rules(sim.RuleServing),
		},
	}
}

// kept returns mutations that keep the ledger wrongly.
func kept() []Mutation {
	const act, book, kinds = "shared/ledger/act.go", "shared/ledger/book.go", "shared/ledger/kinds.go"
	return []Mutation{
		{
			Name: "the budget lets one more act be", File: act,
			Old: "!intent.Free && spent >= budget.Max {", New: "!intent.Free && spent > budget.Max {",
			Harm:     "more acts an hour than allowed",
			Survives: "the plan that is made anew counts the same acts",
		},
		{
			Name: "the budget counts acts that have an outcome only", File: act,
			Old: "if a.Interrupted() && a.interruptsAfter(b.Since)", New: "if a.Outcome != nil && a.Interrupted() && a.interruptsAfter(b.Since)",
			Harm:     "more acts an hour than allowed",
			Survives: "the plan that is made anew counts the same acts",
		},
		{
			Name: "an order may be begun again once it has an outcome", File: act,
			Old: "(earlier.Outcome == nil || earlier.Outcome.Result != Failed) {", New: "earlier.Outcome == nil {",
			Harm: "a message that comes twice is carried out twice", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Survives: "remediate asks the ledger for the order before it looks at the target",
		},
		{
			Name: "an order may be begun again while it has no outcome", File: act,
			Old: "(earlier.Outcome == nil || earlier.Outcome.Result != Failed) {", New: "earlier.Outcome != nil && earlier.Outcome.Result != Failed {",
			Harm: "a message that comes twice is carried out twice", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Survives: "remediate asks the ledger for the order before it looks at the target",
		},
		{
			Name: "an act without an outcome does not hold its instance", File: act,
			Old: "\t\tcase a.Instance == instance:\n\t\t\treturn a, true\n", New: "",
			Harm: "an instance is acted on twice at once", Faults: faults(sim.FaultMessages, sim.FaultLostAnswers),
			Survives: "the plan that is made anew asks for it too",
		},
		{
			Name: "two instances of a group may be begun at once", File: act,
			Old: "if b.Ordered.IsZero() || intent.Free || intent.Group == roll.GroupNone {", New: "if true {",
			Harm: "several machines of a group are acted on at once", Faults: faults(sim.FaultPeople+"=hold what is ordered for minutes", sim.FaultSilence+"=3", sim.FaultDenied+"=untagging:1"),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 3m}]", "ladders:\n  Unknown: [{do: reboot}]", "limits: {unhealthy: 100%, zone: 100%, massSilence: 100%}"),
			Rules:  rules(sim.RulePace),
		},
		{
			Name: "an act that failed is one that interrupted", File: act,
			Old: "return !a.Free && !failed", New: "return !a.Free && (failed || !failed)",
			Harm: "calls that AWS refused use up the budget", Faults: faults(sim.FaultSilence+"=4", sim.FaultDenied+"=only-acts:0.9"),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 3m}]", "ladders:\n  Unknown: [{do: terminate}]", "limits: {actionsPerHour: 1, unhealthy: 100%, zone: 100%, massSilence: 100%}"),
			Rules:  rules(sim.RuleTruth),
		},
		{
			Name: "the first of several tries is the act", File: act,
			Old: "for _, a := range slices.Backward(s.Actions) {\n\t\tif a.ID == id {", New: "for _, a := range s.Actions {\n\t\tif a.ID == id {",
			Harm: "an act that failed once is never tried again", Faults: faults(sim.FaultSilence+"=2", sim.FaultDenied+"=acts"),
			Rules: rules(sim.RuleOnce),
		},
		{
			Name: "notices are written over those of another check", File: book,
			Old: "if v := changes.NoticesVersion; v != 0 {", New: "if v := changes.NoticesVersion; v < 0 {",
			Harm: "one trouble opens two incidents", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Survives: "the version is raised before anything is told, and a check that read an older one says nothing",
		},
		{
			Name: "any check may send the notices", File: book,
			Old: "[]write{*noticesWrite(read, read+1)}", New: "[]write{{key: noticesKey, value: json.RawMessage(`{}`), version: read + 1}}",
			Harm: "one trouble opens two incidents", Faults: faults(sim.FaultMessages, sim.FaultSilence),
			Rules: rules(sim.RuleReport, sim.RuleNoise),
		},
		{
			Name: "dropped notices stay", File: kinds,
			Old: "writes = append(writes, write{key: k.key(key)})", New: "if k.name != \"notice\" {\n\t\t\twrites = append(writes, write{key: k.key(key)})\n\t\t}",
			Harm: "the end of a trouble is told again and again", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleEnd),
		},
		{
			Name: "dropped findings stay", File: kinds,
			Old: "writes = append(writes, write{key: k.key(key)})", New: "if k.name != \"finding\" {\n\t\t\twrites = append(writes, write{key: k.key(key)})\n\t\t}",
			Harm: "a trouble that is over counts as seen before", Faults: faults(sim.FaultFlapping),
			Rules: rules(sim.RuleTidy),
		},
		{
			Name: "a check waits for a usable policy", File: "shared/lambdas/inspect.go",
			Old: "\t\th.check(ctx, c)\n", New: "\t\tif _, _, err := h.Policies.Usable(ctx, h.Permitted, h.Clock(), config.PolicyAge); err != nil {\n\t\t\treturn events.SQSEventResponse{}, err\n\t\t}\n\t\th.check(ctx, c)\n",
			Harm: "checks are lost until the policy is mended, and nobody is told of what fails meanwhile", Faults: faults(sim.FaultBadPolicy), Rules: rules(sim.RuleLetters), Sample: true,
		},
		{
			Name: "a group forgets its replacements", File: kinds,
			Old: "writes, err = append(writes, w), errors.Join(err, failed)", New: "if k.name != \"memory\" {\n\t\t\twrites, err = append(writes, w), errors.Join(err, failed)\n\t\t}",
			Harm: "no replacement ever counts, and the group is held", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleCure, sim.RuleTruth),
		},
	}
}

// handled returns mutations that mishandle a function's input, or what follows from it.
func handled() []Mutation {
	const inspect, sweep, check, remediate = "shared/lambdas/inspect.go", "shared/lambdas/sweep/sweep.go", "shared/lambdas/trigger/check.go", "shared/lambdas/remediate.go"
	return []Mutation{
		{
			Name: "no check is ever scheduled", File: inspect,
			Old: "if next.IsZero() || read && !next.Before(now.Add(sweep)) {", New: "if next.IsZero() || read && next.Before(now.Add(sweep)) {",
			Harm: "acts come minutes late", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleDeadline),
		},
		{
			Name: "a check that could not read is not repeated", File: inspect,
			Old: "if !read {", New: "if false {",
			Harm: "after each hiccup a cluster is not looked at until the next sweep", Faults: faults(sim.FaultAPIErrors + "=0.6"),
			Rules: rules(sim.RuleChecked),
		},
		{
			Name: "checks that come late are carried out", File: inspect,
			Old: "if c.Stale(started, staleAfter) {", New: "if c.Stale(started, 100*staleAfter) {",
			Harm: "a backlog of messages is a storm of checks", Faults: faults(sim.FaultMessages + "=late:0.6"),
			Rules: rules(sim.RuleChecked),
		},
		{
			Name: "every check is late", File: check,
			Old: "return now.Sub(DueAt(c.Due)) > maxAge", New: "return now.Sub(DueAt(c.Due)) < maxAge",
			Harm:  "no cluster is ever checked",
			Rules: rules(sim.RuleChecked), Sample: true,
		},
		{
			Name: "a policy that could not be read lowers nothing", File: inspect,
			Old: "permitted != h.Permitted\n", New: "false\n",
			Harm: "a policy that does not validate is taken for remediate turned off", Faults: faults(sim.FaultSilence+"=2", sim.FaultBadPolicy),
			Policy: remediating("conditions: [{type: Ready, status: Unknown, tolerate: 3m}]"),
			Rules:  rules(sim.RuleTruth),
		},
		{
			Name: "a schedule may be for a moment that has passed", File: inspect,
			Old: "roll.Later(trigger.DueAt(next), trigger.Soonest(h.Clock()))", New: "roll.Earlier(time.Time{}, trigger.DueAt(next))",
			Harm: "a check never comes", Faults: faults(sim.FaultRetries+"=0.6", sim.FaultSilence+"=2"),
			Rules: rules(sim.RuleSchedule),
		},
		{
			Name: "the sweep stops at the first queue that fails", File: sweep,
			Old: "\t\t\tfaults = append(faults, err)\n", New: "\t\t\treturn err\n",
			Harm: "clusters at the end of the list are not checked", Faults: faults(sim.FaultErrors+"=0.6", sim.FaultSilence),
			Rules: rules(sim.RuleChecked),
		},
		{
			Name: "the sweep takes the first page of clusters", File: sweep,
			Old: "\t\tnames = append(names, page.Clusters...)\n\t}\n", New: "\t\tnames = append(names, page.Clusters...)\n\t\tbreak\n\t}\n",
			Harm:  "clusters of later pages are never checked",
			Rules: rules(sim.RuleChecked),
		},
		{
			Name: "clusters that EKS does not list are never swept", File: sweep,
			Old: "if planned.Sub(planned.Truncate(time.Hour)) < h.Interval {", New: "if planned.Sub(planned.Truncate(time.Hour)) < h.Interval && len(clusters) == 0 {",
			Harm: "machines that a deleted cluster left are never told of", Faults: faults(sim.FaultSilence, sim.FaultDeleted),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "outcomes are not told", File: remediate,
			Old: "if !report.Told(out) {", New: "if report.Told(out) {",
			Harm: "nobody learns what came of an act", Faults: faults(sim.FaultSilence),
			Rules: rules(sim.RuleReport),
		},
		{
			Name: "that an outcome was told is not remembered", File: remediate,
			Old: "if !report.Sent(err) {", New: "if report.Sent(err) {",
			Harm: "each refusal is told again and again", Faults: faults(sim.FaultSilence, sim.FaultDenied+"=remediate:1"),
			Rules: rules(sim.RuleReport),
		},
	}
}
