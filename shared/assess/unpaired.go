package assess

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// unpaired judges an instance whose id no node carries.
func (a *assessor) unpaired(m roll.Member) {
	i := m.Instance
	switch {
	case i.State == roll.StatePending:
		a.pending(m)
		return
	case i.State != roll.StateRunning:
		return
	case i.Ambiguous:
		a.notNode(i, whyAmbiguous)
		return
	case !a.nodesListed:
		// Its node may be among the unread ones. Status checks can still be judged.
		a.impairedIfNode(m)
		return
	}
	p := a.Policy(m.Selector())
	start, event := a.firstKnown(i.Launched, time.Time{}), "its launch"
	rested, known := a.State.Rests[i.ID]
	if rested.Left.After(start) {
		start, event = rested.Left.UTC(), "its group put it into service" // it did not have to register before that
	}
	key := roll.FindingKey{Instance: i.ID, Kind: roll.Unregistered}
	before := a.State.Findings[key]
	since, later := a.began(key, start, p.Registration.WarnAfter, p.Registration.Deadline)
	warnAt := since.Add(p.Registration.WarnAfter)
	if !later && a.Now.Before(warnAt) && !resting(a.Snapshot.Details[i.ID].Lifecycle) {
		if known {
			a.out.Rests[i.ID] = rested
		}
		a.wait(warnAt)
		a.impairedIfNode(m)
		return
	}
	doubt := a.State.Doubts[i.ID].UTC()
	if doubt.Before(start) {
		doubt = time.Time{}
	}
	if !a.candidate(m, start, cmp.Or(doubt, since)) {
		return
	}
	if !doubt.IsZero() {
		a.out.Doubts[i.ID] = doubt
	}
	a.ask(roll.Question{Instance: i.ID, AutoScaling: i.ASG != "", NodeClaim: m.Owner() == roll.OwnerKarpenter, Lease: before.Contradicted}, m.Group())
	works := a.works(i.ID) // then it is no orphan, even without a NodeClaim
	if works == "" && a.claimless(m) {
		a.impaired(m)
		return
	}
	began := since
	if works == "" {
		began = a.silentSince(i.ID, a.counted(key, since, later))
	}
	f := a.finding(m, roll.Unregistered, since, began.Add(p.Registration.Deadline))
	f.Began, f.Contradiction, f.Perhaps = began, works, doubt
	f.Worked = later && doubt.IsZero() || works != "" || before.Worked && !before.Since.After(f.Since) // an earlier check, which could judge it, knew its Node
	switch {
	case works != "":
		f.Summary = fmt.Sprintf("no node carries the id of instance %s, but %s", i.ID, works)
	case later:
		f.Summary = fmt.Sprintf("instance %s, launched at %s, has had no node since %s", i.ID, roll.Clock(i.Launched), roll.Clock(since))
	default:
		f.Summary = fmt.Sprintf("instance %s has not registered as a node since %s at %s", i.ID, event, roll.Clock(start))
	}
	a.warn(&f, warnAt)
	a.add(f, m)
	a.impaired(m)
}

// silentSince returns from when an instance without a Node counts as unregistered: since a time from
// which the fault counts, or since its kubelet last renewed its lease, or since the last check found that
// it works. Until then only its Node was missing.
func (a *assessor) silentSince(id roll.InstanceID, since time.Time) time.Time {
	since = roll.Later(since, a.Snapshot.Details[id].LeaseRenewed)
	if a.State.Findings[roll.FindingKey{Instance: id, Kind: roll.Unregistered}].Contradicted {
		since = roll.Later(since, a.State.Checked)
	}
	return a.firstKnown(since, time.Time{})
}

// wait counts an instance that still has time, and checks again then.
func (a *assessor) wait(until time.Time) {
	a.out.Waiting++
	a.next(until)
}

// candidate reports whether an instance without a node should be one now. start is the start of its
// registration time as known before. doubt is since when it may have had a fault if it cannot be judged.
func (a *assessor) candidate(m roll.Member, start, doubt time.Time) bool {
	i := m.Instance
	detail := a.Snapshot.Details[i.ID]
	due := start.Add(a.Policy(m.Selector()).Registration.Deadline)
	does, left := a.rest(i)
	switch {
	case does == rests:
		a.notNode(i, fmt.Sprintf("its Auto Scaling group keeps it in %s", detail.Lifecycle))
		return false
	case does == unknownRest:
		a.keepResting(m)
		if shows, _ := a.intent(i, detail); shows != noIntent {
			a.countUnknownRest(m, due)
			due = time.Time{}
		}
		if _, rested := a.State.Rests[i.ID]; !rested && detail.Bootstraps != roll.No {
			a.noteUnjudged(m, due, doubt)
		}
		return false
	case left.After(start): // it went into service just now
		a.wait(left.Add(a.Policy(m.Selector()).Registration.WarnAfter))
		a.impairedIfNode(m)
		return false
	}
	shows, why := a.intent(i, detail)
	switch shows {
	case intentShown:
		return true
	case noIntent:
		if detail.Bootstraps != roll.No {
			a.keep(i.ID)
			a.noteUnjudged(m, due, doubt)
		}
		a.notNode(i, why)
	case bySiblings:
		a.out.Inherited[i.ID] = true
	}
	a.ask(roll.Question{Instance: i.ID, UserData: true, AutoScaling: i.ASG != ""}, m.Group())
	return shows != noIntent
}

const (
	whyAmbiguous    = "its tags name several clusters, and nothing decides which one it is for"
	whyControlPlane = "it is of the control plane of a local cluster on AWS Outposts, which EKS repairs"
)

// intent is the evidence that an instance should be a node.
type intent uint8

const (
	noIntent    intent = iota
	bySiblings         // others of its Auto Scaling group or launch template version are nodes or should be, or the template makes nodes, or its user data those of a cluster that it does not name
	byTemplate         // its launch template version has, or had, nodes; its own user data may differ
	intentShown        // its owner, its Auto Scaling group or its own user data shows it
)

// clusterAPINode is the role that Cluster API's AWS provider sets on machines that become nodes.
// https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/api/v1beta2/tags.go
const clusterAPINode = "node"

// intent returns the evidence that an instance should be a node, or why there is none. The
// cluster's tag alone is not enough: bastions and NAT instances get it from default tags. Nor is
// the launch template alone, which has versions for other purposes. User data that joins another
// cluster outweighs everything except an owner, a group that creates nodes of this one, and a group
// that this one's autoscaler scales: then either its tags or its user data are wrong: this is
// reported, and package plan holds every act.
func (a *assessor) intent(i *roll.Instance, d roll.Detail) (shows intent, why string) {
	switch i.Owner {
	case roll.OwnerKarpenter, roll.OwnerManagedNodeGroup, roll.OwnerAutoMode:
		return intentShown, ""
	case roll.OwnerClusterAPI:
		if i.ClusterAPIRole == clusterAPINode {
			return intentShown, ""
		}
	}
	group := roll.Origin(roll.AutoScalingGroup(i.ASG))
	switch {
	case a.hadNodes(group):
		if a.repurposed(i, d) {
			return bySiblings, ""
		}
		return intentShown, ""
	case d.Bootstraps == roll.Yes, i.ASG != "" && i.Scaled && d.OtherCluster != "":
		return intentShown, ""
	case d.OtherCluster != "":
		return noIntent, fmt.Sprintf("its user data bootstraps a node of cluster %s, and none of this one", d.OtherCluster)
	case a.hadNodes(roll.Origin(i.LaunchTemplate)):
		return byTemplate, ""
	case d.TemplateBootstraps, d.BootstrapsUnnamed, slices.ContainsFunc(i.Origins(), func(o roll.Origin) bool { return a.meant[o] }):
		return bySiblings, ""
	}
	switch d.Bootstraps {
	case roll.No:
		return noIntent, "nothing shows that it is meant to be a node: no node pool or node group owns it, no node came from its Auto Scaling group or launch template version, and its user data bootstraps no node of this cluster"
	case roll.Unreadable:
		return noIntent, "its user data could not be read, and nothing else shows that it is meant to be a node; it counts against acts on instances of its launch template version, instance profile or subnet"
	}
	return noIntent, "nothing shows yet that it is meant to be a node"
}

// repurposed reports whether an Auto Scaling group that has, or had, nodes may launch something else
// since a new version of its launch template: no node came from that version, and the instance's user data
// bootstraps none, or was not read. User data that computes what it joins says nothing against nodes.
func (a *assessor) repurposed(i *roll.Instance, d roll.Detail) bool {
	switch {
	case i.LaunchTemplate == "" || a.hadNodes(roll.Origin(i.LaunchTemplate)):
		return false
	case d.Bootstraps == roll.Unreadable:
		return !d.BootstrapsUnnamed
	}
	return d.Bootstraps != roll.Yes
}

// hadNodes reports whether nodes came from an Auto Scaling group or launch template version, now or
// within ledger.IntentRetention. A time before the creation of the cluster belongs to an earlier
// cluster with its name.
func (a *assessor) hadNodes(o roll.Origin) bool {
	if a.out.GroupsWithNodes[o] {
		return true
	}
	at := a.State.GroupsWithNodes[o]
	return !at.Before(a.Snapshot.Cluster.Created) && a.Now.Sub(at) < ledger.IntentRetention
}

func (a *assessor) notNode(i *roll.Instance, why string) {
	a.out.NotNodes = append(a.out.NotNodes, NotNode{Instance: i.ID, Name: i.Name, Why: why})
}

// freshLease is the maximum age of the lease of a running kubelet. The kubelet renews the lease
// every 10 seconds; the time of a check may be up to a minute ahead.
// https://kubernetes.io/docs/concepts/architecture/nodes/#node-heartbeats
const freshLease = 2 * time.Minute

// works returns the evidence that an instance without a Node works as one: its NodeClaim, or the
// lease of its kubelet: its Node is missing from a listing. The lease of a deleted Node goes with it,
// and its kubelet makes no other. It returns "" if there is no evidence.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/util/nodelease.go
func (a *assessor) works(id roll.InstanceID) string {
	d := a.Snapshot.Details[id]
	switch c := d.NodeClaim; {
	case c != nil && c.DeletedAt.IsZero() && c.Initialized.Status == roll.ConditionTrue:
		return fmt.Sprintf("its NodeClaim %s is initialized", c.Name)
	case a.Now.Sub(d.LeaseRenewed) < freshLease:
		return fmt.Sprintf("its kubelet renewed the lease %s at %s", d.LeaseOf, roll.Clock(d.LeaseRenewed))
	}
	return ""
}
