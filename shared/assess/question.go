package assess

import (
	"cmp"
	"slices"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// ask adds what a suspect's verdict needs and the snapshot's details lack.
func (a *assessor) ask(q roll.Question) {
	d := a.Snapshot.Details[q.Instance]
	q.UserData = q.UserData && d.Bootstraps == roll.NotAsked
	q.AutoScaling = q.AutoScaling && d.LifecycleRead == roll.NotAsked
	q.Protection = q.Protection && d.TerminationProtected == roll.NotAsked
	if !q.UserData && !q.AutoScaling && !q.Protection {
		return
	}
	if i, ok := a.asked[q.Instance]; ok {
		old := &a.out.Questions[i]
		old.UserData = old.UserData || q.UserData
		old.AutoScaling = old.AutoScaling || q.AutoScaling
		old.Protection = old.Protection || q.Protection
		return
	}
	a.asked[q.Instance] = len(a.out.Questions)
	a.out.Questions = append(a.out.Questions, q)
}

// mayTerminate reports whether the ladder of the kind ends in a termination.
func mayTerminate(p policy.Policy, kind roll.Kind) bool {
	for _, step := range p.Ladders[kind] {
		if step.Do == policy.DoTerminate {
			return true
		}
	}
	return false
}

// sortQuestions puts the suspects of the most urgent findings first: whoever
// answers may stop after some.
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

// Thoroughly assesses a snapshot, has what is missing about suspects read into its
// Details by ask, and assesses it again. ask must settle what it is asked, if only
// as roll.Unreadable.
func Thoroughly(in Input, ask func([]roll.Question)) Assessment {
	a := Assess(in)
	// What is learned of an instance can make it a suspect of whom more is asked,
	// but the questions of one instance are of three kinds, so this ends.
	for range 3 {
		if len(a.Questions) == 0 {
			break
		}
		ask(a.Questions)
		a = Assess(in)
	}
	return a
}
