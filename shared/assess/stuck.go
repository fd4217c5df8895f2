package assess

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// The kinds of objects that a finding of the kind Stuck is about.
const (
	aNode      = "node"
	aNodeClaim = "nodeclaim"
)

// stuck finds Nodes and NodeClaims that were deleted long ago and still exist. The state of the
// node does not matter: one that works and never goes blocks whatever waits for its deletion, such
// as an update. If both are deleted, the finding is about the NodeClaim, which Karpenter releases
// last.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/controller.go (finalize)
func (a *assessor) stuck(members []roll.Member) {
	if a.Snapshot.Target != "" {
		return // no act is about them
	}
	claims := map[string]*roll.NodeClaim{}
	machines := map[roll.InstanceID]*roll.NodeClaim{}
	for i := range a.Snapshot.Deleting {
		c := &a.Snapshot.Deleting[i]
		claims[c.Name] = c
		if c.Instance != "" {
			machines[c.Instance] = c
		}
	}
	var nodes []*roll.Node
	machine := map[roll.InstanceID]*roll.Instance{}
	for i := range a.Snapshot.Nodes {
		n := &a.Snapshot.Nodes[i]
		if !n.DeletedAt.IsZero() {
			nodes, machine[n.Instance] = append(nodes, n), nil
		}
	}
	for id := range machines {
		machine[id] = nil
	}
	if len(nodes)+len(claims) == 0 {
		return // as in most checks: do not walk through all members
	}
	for _, m := range members {
		if _, wanted := machine[m.ID()]; wanted {
			machine[m.ID()] = m.Instance
		}
	}
	for _, n := range nodes {
		c := machines[n.Instance]
		if c != nil {
			delete(claims, c.Name)
		}
		a.removal(roll.Member{Instance: machine[n.Instance], Node: n}, c)
	}
	for i := range a.Snapshot.Deleting {
		if c := &a.Snapshot.Deleting[i]; claims[c.Name] != nil {
			a.removal(roll.Member{Instance: machine[c.Instance]}, c)
		}
	}
}

// removal judges a deleted Node, a deleted NodeClaim, or both.
func (a *assessor) removal(m roll.Member, c *roll.NodeClaim) {
	n := m.Node
	if i := m.Instance; m.ControlPlane() || i != nil && (i.OtherCluster != "" || i.Ignore) {
		return
	}
	r := roll.Removal{Machine: m.ID()}
	var subject roll.InstanceID
	var since time.Time
	if n != nil {
		subject, since = roll.SubjectID(aNode, n.Name), n.DeletedAt
		r.NodeFinalizers = strings.Join(n.Finalizers, ", ")
	}
	if c != nil {
		r.Claim, r.ClaimFinalizers, r.Machine = c.Name, strings.Join(c.Finalizers, ", "), cmp.Or(r.Machine, c.Instance)
		// A finding about the Node alone, from before the NodeClaim was deleted, stays one.
		if _, known := a.State.Findings[roll.FindingKey{Instance: subject, Kind: roll.Stuck}]; !known {
			subject = roll.SubjectID(aNodeClaim, c.Name)
		}
		if n == nil || c.DeletedAt.Before(since) {
			since = c.DeletedAt
		}
	} else if a.Snapshot.DeletingRead != roll.Yes && a.keepOfNode(n.Name) {
		return
	}
	if m.Instance != nil {
		r.State = m.Instance.State
	} else {
		r.Gone = a.instancesRead && a.Snapshot.NotFound[r.Machine]
	}
	if m.Instance == nil && n == nil {
		m.Node = &roll.Node{Owner: cmp.Or(c.Owner, roll.OwnerKarpenter), Group: c.Group} // for its owner and group
	}
	tolerance, ok := a.tolerance(m, roll.Stuck)
	if !ok {
		return
	}
	since = a.firstKnown(since, time.Time{})
	due := since.Add(tolerance)
	if a.Now.Before(due) {
		a.next(due) // most are gone long before that
		return
	}
	f := a.finding(m, roll.Stuck, since, due)
	f.Instance, f.Group, f.Selector, f.Removal, f.Node = subject, m.Group(), m.Selector(), r, ""
	if known := a.State.Findings[f.Key()]; f.Group == roll.GroupNone && known.Group != "" {
		f.Group, f.Selector.Group = known.Group, known.Group // EC2 no longer returns the instance
	}
	if n != nil {
		f.Node = n.Name
	}
	f.Summary = removalSummary(f)
	a.out.Findings = append(a.out.Findings, f)
}

// keepOfNode keeps a finding about a node's NodeClaim while the NodeClaim is unreadable, so that it
// is not reported again as one about the Node.
func (a *assessor) keepOfNode(node string) (kept bool) {
	for k, known := range a.State.Findings {
		if k.Kind == roll.Stuck && known.Node == node && k.Instance != roll.SubjectID(aNode, node) {
			kept = a.keepOne(k) || kept
		}
	}
	return kept
}

// stuckUnread reports whether the snapshot can neither confirm nor end a finding of kind Stuck.
func (a *assessor) stuckUnread(k roll.FindingKey) bool {
	if _, ok := k.Instance.Leftover(); ok {
		return a.leftUnread(k)
	}
	kind, _, _ := strings.Cut(string(k.Instance), "/")
	return kind == aNodeClaim && a.Snapshot.DeletingRead != roll.Yes
}

func removalSummary(f roll.Finding) string {
	r := f.Removal
	what, finalizers := "Node "+f.Node, r.NodeFinalizers
	if r.Claim != "" {
		what, finalizers = "NodeClaim "+r.Claim, r.ClaimFinalizers
	}
	s := fmt.Sprintf("%s has been deleting since %s", what, roll.Clock(f.Since))
	switch {
	case r.Claim != "" && f.Node != "" && r.NodeFinalizers != "":
		s += fmt.Sprintf(", kept by its finalizer %s, which waits for its Node %s (finalizer %s)", cmp.Or(finalizers, "(none)"), f.Node, r.NodeFinalizers)
	case finalizers != "":
		s += ", kept by " + roll.Plural(len(roll.Finalizers(finalizers)), "its finalizer ", "its finalizers ") + finalizers
	default:
		s += " and names no finalizer"
	}
	switch {
	case r.Gone:
		s += fmt.Sprintf("; EC2 no longer knows its instance %s", r.Machine)
	case r.State != "":
		s += fmt.Sprintf("; its instance %s is %s", r.Machine, r.State)
	}
	return s
}
