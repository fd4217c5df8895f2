package report

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// stop says how a person keeps Rollcall from acting, where it acts or might.
func stop(id roll.ClusterID, kind roll.Kind, entries []plan.Entry, mode policy.Mode, at time.Time) (out []recipe) {
	if !slices.ContainsFunc(entries, func(e plan.Entry) bool { return mightAct(e, mode, at) }) {
		return nil
	}
	if kind != roll.Ghost { // whose instance loses its tags
		out = hold(id, entries, at)
	}
	if mode == policy.Remediate {
		out = append(out, recipe{"To stop all acts on this cluster (an override of the policy for the group goes before the tag)",
			[]string{fmt.Sprintf("aws eks tag-resource --region %s --resource-arn %s --tags %s=%s", id.Region, clusterARN(id), roll.TagMode, policy.Notify)}})
	}
	return out
}

// mightAct reports whether something is done about an entry, or would be if what holds
// it back did not.
func mightAct(e plan.Entry, mode policy.Mode, at time.Time) bool {
	switch {
	case e.Order != nil:
		return true
	case e.Held != nil:
		return e.Held.Reason != plan.Conflicting && e.Held.Reason != plan.ClusterNotActive
	}
	return follows(e, mode, at) && coming[e.Step.Do] != "" || roll.HoldActive(e.Hold, at)
}

// hold says how a person keeps single instances as they are.
func hold(id roll.ClusterID, entries []plan.Entry, at time.Time) (out []recipe) {
	for _, e := range entries {
		if roll.HoldActive(e.Hold, at) {
			out = append(out, recipe{"To let go of an instance that is kept",
				[]string{fmt.Sprintf("aws ec2 delete-tags --region %s --resources %s --tags Key=%s", id.Region, e.Finding.Instance, roll.TagHold)}})
			break
		}
	}
	keep := func(title, instance string) recipe {
		return recipe{title, []string{fmt.Sprintf("aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=true", id.Region, instance, roll.TagHold)}}
	}
	for _, e := range entries {
		switch {
		case roll.HoldActive(e.Hold, at), e.Order != nil && e.Order.Action != plan.Cordon && e.Order.Action != plan.Drain && e.Order.Action != plan.Reboot:
			continue // kept already, or too late
		case e.Left != "", e.Held != nil && e.Held.Reason == plan.OwnerWillAct:
			return append(out, keep("To keep Rollcall, but not its owner, off an instance (remove the tag to let go)", string(e.Finding.Instance)))
		}
		return append(out, keep("To keep an instance as it is (remove the tag to let go)", string(e.Finding.Instance)))
	}
	return append(out, keep("To keep others of the kind as they are, tag them before their time is up", "INSTANCE"))
}
