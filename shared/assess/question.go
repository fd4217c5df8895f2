package assess

import (
	"cmp"
	"slices"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// ask adds questions for what a suspect's verdict needs and the snapshot does not have. group is
// the suspect's.
func (a *assessor) ask(q roll.Question, group roll.Group) {
	d := a.Snapshot.Details[q.Instance]
	q.Whole = q.Whole && d.WholeRead == roll.NotAsked
	q.UserData = q.UserData && d.Bootstraps == roll.NotAsked
	q.AutoScaling = q.AutoScaling && d.LifecycleRead == roll.NotAsked
	q.NodeClaim = q.NodeClaim && d.HasNodeClaim == roll.NotAsked
	q.Lease = q.Lease && d.LeaseRead == roll.NotAsked
	q.Protection = q.Protection && d.TerminationProtected == roll.NotAsked
	q.Waiting = q.Waiting && a.Snapshot.PodsWait == roll.NotAsked
	if d.Pods != nil {
		q.Pods, q.Deleted = "", false
	}
	if q.Group {
		_, told := a.Snapshot.Groups[group]
		q.Group = !told
	}
	if q == (roll.Question{Instance: q.Instance}) {
		return
	}
	if i, ok := a.asked[q.Instance]; ok {
		old := &a.out.Questions[i]
		old.Whole = old.Whole || q.Whole
		old.UserData = old.UserData || q.UserData
		old.AutoScaling = old.AutoScaling || q.AutoScaling
		old.NodeClaim = old.NodeClaim || q.NodeClaim
		old.Lease = old.Lease || q.Lease
		old.Group = old.Group || q.Group
		old.Protection = old.Protection || q.Protection
		old.Waiting = old.Waiting || q.Waiting
		old.Pods, old.Deleted = cmp.Or(old.Pods, q.Pods), old.Deleted || q.Deleted
		return
	}
	a.asked[q.Instance] = len(a.out.Questions)
	a.out.Questions = append(a.out.Questions, q)
}

// askOverdue adds what must be known before an act on an overdue finding: whether the instance is
// in a warm pool or Standby, whether it is protected, and what its owner does. A contradicted
// finding leads to no act, and a Ghost has no instance, so neither has questions.
func (a *assessor) askOverdue(f roll.Finding, m roll.Member) {
	if m.Instance == nil || f.Contradiction != "" || f.Kind == roll.Ghost {
		return
	}
	pol := a.Policy(f.Selector)
	acting := slices.ContainsFunc(pol.Steps(f), func(s policy.Step) bool { return s.Do.Acts() }) // the causes later decide which ladder applies
	absent := m.Node == nil || m.Node.Ready.Status != roll.ConditionTrue
	_, repaired := pol.Repairs(f)
	drained := acting && (f.Kind == roll.Scheduled || repaired) // though it may be Ready
	holding, deleted := "", false                               // a node whose pods and disks are checked before an act
	switch {
	case a.gone, !drained && (!absent || !pol.StopsInstance(f)):
	case m.Node != nil:
		holding = m.Node.Name
	case pol.StopsInstance(f) && f.Worked && m.Instance.PrivateDNS != "":
		holding, deleted = m.Instance.PrivateDNS, true // by default, a Node has this name
	}
	a.ask(roll.Question{
		Instance:    f.Instance,
		AutoScaling: m.Instance.ASG != "" && (acting || absent),
		NodeClaim:   acting && f.Owner == roll.OwnerKarpenter && !a.gone,
		Group:       acting && (f.Owner == roll.OwnerManagedNodeGroup || f.Owner == roll.OwnerAutoScalingGroup),
		Protection:  acting && f.Kind != roll.Scheduled, // nothing protects from what EC2 has scheduled
		Waiting:     acting && f.Owner == roll.OwnerKarpenter && !a.gone && a.lost(f.Group),
		Lease:       acting && (f.Kind == roll.Unregistered || f.Kind == roll.Orphaned) && !a.gone,
		Pods:        holding,
		Deleted:     deleted,
	}, f.Group)
}

// lost reports whether an act may have taken an instance from the group, for which Karpenter launches another only if
// pods wait.
func (a *assessor) lost(g roll.Group) bool {
	return !a.State.Groups[g].Ended.Done.IsZero() || slices.ContainsFunc(a.State.Actions, func(done ledger.Action) bool { return done.Group == g })
}

// sortQuestions puts the suspects of the most urgent findings first, since the number of answers
// may be limited.
func (a *assessor) sortQuestions() {
	urgency := make(map[roll.InstanceID]int, len(a.out.Findings))
	for i, f := range a.out.Findings {
		if _, ok := urgency[f.Instance]; !ok {
			urgency[f.Instance] = i
		}
	}
	rank := func(id roll.InstanceID) int {
		if i, ok := urgency[id]; ok {
			return i
		}
		return len(a.out.Findings)
	}
	slices.SortStableFunc(a.out.Questions, func(x, y roll.Question) int {
		return cmp.Or(cmp.Compare(rank(x.Instance), rank(y.Instance)), cmp.Compare(x.Instance, y.Instance))
	})
}

// rounds limits how often questions are asked. An answer may lead to further questions, but only of
// a few kinds.
const rounds = 6

// Thoroughly assesses a snapshot, calls ask to read the missing details into it, and assesses it
// again. ask must settle every question, if only as roll.Unreadable.
func Thoroughly(in Input, ask func([]roll.Question)) Assessment {
	a := Assess(in)
	for range rounds {
		if len(a.Questions) == 0 {
			break
		}
		ask(a.Questions)
		a = Assess(in)
	}
	return a
}
