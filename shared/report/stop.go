package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// stop returns the commands that keep Rollcall from acting, if it acts or might.
func stop(id roll.ClusterID, kind roll.Kind, entries []plan.Entry, mode policy.Mode, at time.Time) (out []Recipe) {
	if !slices.ContainsFunc(entries, func(e plan.Entry) bool { return mightAct(e, mode, at) }) {
		return nil
	}
	if kind != roll.Ghost { // the instance of a ghost is gone, and its tags with it
		out = hold(id, entries, at)
	}
	if mode == policy.Remediate {
		out = append(out,
			Recipe{"To stop all acts on this cluster", []string{paste.Format("aws eks tag-resource --region %s --resource-arn %s --tags %s=%s", id.Region, id.ARN(), roll.TagMode, string(policy.Notify))}},
			Recipe{"To let it act again", []string{paste.Format("aws eks untag-resource --region %s --resource-arn %s --tag-keys %s", id.Region, id.ARN(), roll.TagMode)}})
	}
	return out
}

// halt returns the first recipe that can be pasted as it is, nil if there is none.
func halt(recipes []Recipe) *Recipe {
	for _, r := range recipes {
		if !slices.ContainsFunc(r.Commands, func(c string) bool { return strings.Contains(c, "INSTANCE") }) {
			return &r
		}
	}
	return nil
}

// acting reports whether an act on an entry is ordered, or follows if nothing changes and nobody does
// anything.
func acting(entries []plan.Entry, mode policy.Mode, at time.Time) bool {
	return slices.ContainsFunc(entries, func(e plan.Entry) bool {
		waits := e.Step.Approve.Needed() && !e.Step.Approve.ThenGo
		return e.Order != nil || follows(e, mode, at) && coming[e.Step.Do] != "" && !waits
	})
}

// mightAct reports whether an act on an entry is ordered, or would be without its hold.
func mightAct(e plan.Entry, mode policy.Mode, at time.Time) bool {
	switch {
	case e.Order != nil:
		return true
	case e.Held != nil:
		switch e.Held.Reason {
		case plan.Conflicting, plan.ClusterNotActive, plan.ActionStuck:
			return false // no act can follow
		}
		return true
	}
	return follows(e, mode, at) && coming[e.Step.Do] != "" || roll.HoldActive(e.Hold, at)
}

// release returns the command that ends the first hold, if there is one.
func release(id roll.ClusterID, entries []plan.Entry, at time.Time) []Recipe {
	for _, e := range entries {
		if roll.HoldActive(e.Hold, at) {
			return []Recipe{{"To end the hold of " + string(e.Finding.Instance),
				[]string{paste.Format("aws ec2 delete-tags --region %s --resources %s --tags Key=%s", id.Region, string(e.Finding.Instance), roll.TagHold)}}}
		}
	}
	return nil
}

// hold returns the commands that exempt single instances from acts.
func hold(id roll.ClusterID, entries []plan.Entry, at time.Time) (out []Recipe) {
	out = release(id, entries, at)
	one := "it"
	if len(entries) > 1 {
		one = "the first" // the command is the same for the others
	}
	keep := func(title, instance string) Recipe {
		week := at.UTC().AddDate(0, 0, 7).Format(time.DateOnly)
		return Recipe{title, []string{paste.Format("aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=%s", id.Region, instance, roll.TagHold, week)}}
	}
	for _, e := range entries {
		switch {
		case roll.HoldActive(e.Hold, at), e.Order != nil && e.Order.Action != plan.Cordon && e.Order.Action != plan.Drain && e.Order.Action != plan.Reboot:
			continue // already held, or too late
		case e.Left != "", e.Held != nil && e.Held.Reason == plan.OwnerWillAct:
			return append(out, keep("To keep Rollcall off "+one+" for a week (Value=true: until you remove the tag); this does not stop the owner", string(e.Finding.Instance)))
		}
		return append(out, keep("To keep "+one+" as it is for a week (Value=true: until you remove the tag)", string(e.Finding.Instance)))
	}
	return append(out, keep("To keep another one for a week, tag it before its time is up", "INSTANCE"))
}

// asks returns the open question about an entry, nil if there is none.
func asks(e plan.Entry) *ledger.ApprovalRequest {
	if e.Held == nil || e.Held.Reason != plan.ApprovalPending {
		return nil
	}
	return e.Held.Question
}

// approve returns the commands that approve what the entries ask for. Without a deployment, whose
// ledger a command could write, it is the tag.
func (from From) approve(id roll.ClusterID, entries []plan.Entry) []Recipe {
	var commands []string
	for _, e := range entries {
		q := asks(e)
		switch {
		case q == nil || len(commands) == handEntries:
		case from.Stack != "":
			commands = append(commands, paste.Format("rollcall approve %s --region %s --stack %s", q.Order, id.Region, from.Stack))
		case e.Finding.Kind != roll.Ghost: // its instance is gone, and its tags with it
			commands = append(commands, paste.Format("aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=%s", id.Region, string(q.Instance), roll.TagApprove, q.Order))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	title := "To approve"
	if len(commands) > 1 {
		title += ", one command for each instance"
	}
	return []Recipe{{title, commands}}
}

// approving returns the fact of how to answer the first question, and until when.
func approving(entries []plan.Entry) []fact {
	for _, e := range entries {
		q := asks(e)
		if q == nil {
			continue
		}
		s := "by the command until " + roll.Clock(q.Until)
		if e.Finding.Kind != roll.Ghost {
			s = fmt.Sprintf("by the command, or the tag %s=%s on %s, until %s", roll.TagApprove, q.Order, q.Instance, roll.Clock(q.Until))
		}
		return []fact{{"Approve", s}}
	}
	return nil
}

// byHand returns the commands to terminate or delete what Rollcall does not, or not any more.
func byHand(id roll.ClusterID, n plan.Notice, entries []plan.Entry) (out []Recipe) {
	var instances, nodes, left []string
	for _, e := range entries {
		switch {
		case n.Gone && n.Key.Kind == roll.Orphaned:
			left = append(left, string(e.Finding.Instance))
		case e.Held == nil:
		case e.Held.Reason == plan.ActionStuck && e.Held.Action == plan.DeleteNode:
			nodes = append(nodes, e.Finding.Node)
		case e.Held.Reason == plan.ActionStuck:
			instances = append(instances, string(e.Finding.Instance))
		}
	}
	add := func(title string, command, of []string) {
		if len(of) > 0 {
			out = append(out, Recipe{title, []string{paste.Command(slices.Concat(command, of[:min(len(of), handEntries)])...)}})
		}
	}
	terminate := []string{"aws", "ec2", "terminate-instances", "--region", id.Region, "--instance-ids"}
	add("To terminate by hand what the act had no effect on", terminate, instances)
	add("To delete by hand what the act had no effect on", []string{"kubectl", "delete", "node"}, nodes)
	const behind = "To terminate what the cluster left behind, once you are sure that nobody needs it"
	if name, ok := n.Key.Group.AutoScalingGroup(); ok && len(left) > 0 { // the group outlived the cluster, and replaces what is terminated
		return append(out, Recipe{behind, []string{paste.EmptyGroup(id.Region, name)}})
	}
	add(behind, terminate, left)
	return out
}
