package assess

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// claimless judges an instance of Karpenter without a node by its NodeClaim. It reports whether
// that settles the verdict: it is an orphan, or was one and this check cannot determine it.
//
// Karpenter creates the NodeClaim before it launches the instance, and its garbage collection
// terminates instances whose NodeClaim is gone. So an instance that has had no NodeClaim for long
// has no Karpenter either.
func (a *assessor) claimless(m roll.Member) bool {
	if m.Owner() != roll.OwnerKarpenter {
		return false
	}
	switch a.Snapshot.Details[m.ID()].HasNodeClaim {
	case roll.Yes:
		return false
	case roll.No:
		a.orphan(m, "it is Karpenter's, and no NodeClaim has it")
		a.ask(roll.Question{Instance: m.ID(), UserData: true}, m.Group()) // an act needs more than tags
		return true
	}
	return a.keepOne(roll.FindingKey{Instance: m.ID(), Kind: roll.Orphaned})
}

// orphans judges the instances of a cluster that EKS does not know. Only tags that EKS or eksctl
// write show that it was an EKS cluster: kops and others use kubernetes.io/cluster/ for clusters
// that EKS never knew.
func (a *assessor) orphans() {
	if !a.orphansRead() {
		return
	}
	for n := range a.Snapshot.Instances {
		a.joined, a.late = false, false
		i := &a.Snapshot.Instances[n]
		switch {
		case i.State != roll.StateRunning, i.OtherCluster != "", a.Snapshot.Target != "" && i.ID != a.Snapshot.Target:
		case i.ControlPlane:
			a.notNode(i, whyControlPlane)
		case i.Ambiguous:
			a.notNode(i, whyAmbiguous)
		case !i.Named:
			a.notNode(i, "EKS has no such cluster, and only a kubernetes.io/cluster/ tag names it: it may be of a cluster that is not one of EKS")
		default:
			a.orphan(roll.Member{Instance: i}, "its EKS cluster does not exist")
		}
	}
}

// orphansRead reports whether all instances of a cluster that EKS does not know were read.
func (a *assessor) orphansRead() bool {
	return !slices.ContainsFunc(a.Snapshot.Gaps, func(g roll.Gap) bool {
		return g.Scope == roll.ScopeInstances || g.Scope == roll.ScopeCluster && g.Kind != roll.GapClusterGone
	})
}

// orphan finds an instance without an owner. Its time begins with the first check that sees it.
func (a *assessor) orphan(m roll.Member, why string) {
	tolerance, ok := a.tolerance(m, roll.Orphaned)
	if !ok {
		return
	}
	launched := a.firstKnown(m.Instance.Launched, time.Time{})
	since := a.Now.UTC()
	if known, ok := a.State.Findings[roll.FindingKey{Instance: m.ID(), Kind: roll.Orphaned}]; ok && known.Began.Equal(launched) {
		since = known.Since.UTC()
	}
	f := a.finding(m, roll.Orphaned, since, since.Add(tolerance))
	f.Began = launched
	f.Summary = fmt.Sprintf("instance %s, launched at %s, has no owner any more: %s", m.ID(), roll.Clock(launched), why)
	a.add(f, m)
}
