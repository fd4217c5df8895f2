package plan

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Each limit is one small function. It returns nil if the act may go on, or a refusal with a
// sentence for a person. An unset limit never means "unlimited".

// AllowedOverdue returns how many of n nodes may be past their tolerance before nothing is ordered:
// max(ceil(share of n), min(2, n-1), 1). The middle term keeps small groups working, where a fifth
// of the nodes is less than one. It allows 2 of 3 nodes, 1 of 2, and always a single node, whatever
// the share.
func AllowedOverdue(n int, share policy.Percent) int {
	return max(share.Of(n), min(2, n-1), 1)
}

// shareExceeded checks the unhealthy share of a cluster or group.
func shareExceeded(of string, c assess.Count, share policy.Percent) *Refusal {
	allowed := AllowedOverdue(c.Nodes, share)
	if c.Overdue <= allowed {
		return nil
	}
	return refuse(UnhealthyShare, "%d of %d nodes of %s are past their tolerance, more than the %d that limits.unhealthy (%s) allows: the fault is probably not in the instances", c.Overdue, c.Nodes, of, allowed, share)
}

// actionsPerCheckSpent checks the number of acts ordered in this check.
func actionsPerCheckSpent(of string, ordered, limit int) *Refusal {
	if ordered < limit {
		return nil
	}
	return refuse(ActionsPerCheck, "%d ordered in this check of %s, limits.actionsPerCheck is %d", ordered, of, limit)
}

// Hour is the window of limits.actionsPerHour.
const Hour = time.Hour

// actedOnLately reports whether an instance was acted on in the last hour.
func actedOnLately(actions []ledger.Action, id roll.InstanceID, now time.Time) bool {
	b := ledger.Budget{Since: now.Add(-Hour)}
	return b.Spent(actions, id) < b.Spent(actions, "")
}

// actionsPerHourSpent checks the number of other instances acted on in the last hour, plus the
// other ones on which this check orders acts.
func actionsPerHourSpent(of string, actions []ledger.Action, instance roll.InstanceID, ordered, limit int, now time.Time) *Refusal {
	spent := ledger.Budget{Max: limit, Since: now.Add(-Hour)}.Spent(actions, instance) + ordered
	if spent < limit {
		return nil
	}
	no := refuse(ActionsPerHour, "%d in the last hour in %s, limits.actionsPerHour is %d", spent, of, limit)
	no.Until = hourOver(actions, instance, limit, now)
	return no
}

// hourOver returns when enough acts are older than an hour to allow one more. It returns zero if
// the acts of the last hour alone do not use up the limit.
func hourOver(actions []ledger.Action, but roll.InstanceID, limit int, now time.Time) time.Time {
	last := map[roll.InstanceID]time.Time{}
	for _, a := range actions {
		if took := a.TookUntil(); a.Interrupted() && took.After(now.Add(-Hour)) && a.Instance != but && took.After(last[a.Instance]) {
			last[a.Instance] = took
		}
	}
	if limit == 0 || len(last) < limit {
		return time.Time{}
	}
	return slices.SortedFunc(maps.Values(last), time.Time.Compare)[len(last)-limit].Add(Hour)
}

// notSeenTwice requires an earlier complete check, at least assess.Confirmation ago, that saw the
// same.
func notSeenTwice(known ledger.Finding, seen bool, now time.Time) *Refusal {
	if !seen {
		return refuse(NotSeenTwice, "first seen in this check; a second check at least %.0f s later must confirm it", assess.Confirmation.Seconds())
	}
	if age := now.Sub(known.FirstSeen); age < assess.Confirmation {
		no := refuse(NotSeenTwice, "first seen %.0f s ago; a second sighting must come at least %.0f s later", age.Seconds(), assess.Confirmation.Seconds())
		no.Until = known.FirstSeen.Add(assess.Confirmation)
		return no
	}
	return nil
}

// foundBefore requires a fault that began after the first complete check of the cluster, and a
// finding opened while remediate was on. Everything else is left to a person. Lowering and
// restoring the mode afterwards changes nothing.
func foundBefore(f roll.Finding, known ledger.Finding, remediateSince, first time.Time) *Refusal {
	switch {
	case first.IsZero():
		return refuse(FoundBeforeRemediate, "no complete check of the cluster is on record: Rollcall acts only on trouble that begins after the first one")
	case f.Since.Before(first), !known.FirstSeen.After(first):
		return refuse(FoundBeforeRemediate, "it began before the first complete check of the cluster, at %s: Rollcall acts only on later trouble", roll.Clock(first))
	case !f.Perhaps.IsZero() && f.Perhaps.Before(first):
		return refuse(FoundBeforeRemediate, "it may have begun at %s, before the first complete check of the cluster at %s: no check saw whether it was over in between. Rollcall acts only on later trouble", roll.Clock(f.Perhaps), roll.Clock(first))
	}
	if known.Allowed || known.Opened.IsZero() || !known.Opened.Before(remediateSince) {
		return nil
	}
	return refuse(FoundBeforeRemediate, "found at %s, before mode remediate was turned on at %s: only findings opened later are acted on", roll.Clock(known.Opened), roll.Clock(remediateSince))
}

// zoneOut checks for a zone outage. Either at least the share limits.zone of the zone's nodes, and
// 3, are not ready. Or all of them, and at least 2, left Ready together. The Kubernetes node
// lifecycle controller uses the same numbers (--unhealthy-zone-threshold 0.55).
// https://kubernetes.io/docs/concepts/architecture/nodes/#node-eviction-rate-limits
func zoneOut(zone string, c assess.ZoneCount, share policy.Percent) *Refusal {
	if zone != "" && c.Ready == 0 && c.Silent >= wholeZone && c.Last.Sub(c.First) <= silenceWindow {
		return refuse(ZoneOutage, "all %d nodes of zone %s left Ready within %.0f min of each other: probably the zone failed, not its nodes", c.Silent, zone, silenceWindow.Minutes())
	}
	if zone == "" || c.Silent < zoneLeast || c.Silent*100 < int(share)*c.Nodes {
		return nil
	}
	return refuse(ZoneOutage, "%d of %d nodes in zone %s are not ready, limits.zone is %s: perhaps the zone failed, not its nodes", c.Silent, c.Nodes, zone, share)
}

// shifted checks for an ARC zonal shift away from the finding's zone, or for unreadable shifts.
func shifted(f roll.Finding, s *roll.Snapshot) *Refusal {
	if !s.Cluster.ZonalShift {
		return nil
	}
	if s.ShiftsRead != roll.Yes {
		return unread(s, ZonalShift, roll.CallZonalShift, fmt.Sprintf("whether a zonal shift is active could not be read (%s)", roll.CallZonalShift))
	}
	for _, shift := range s.Shifts {
		if f.ZoneID == "" || shift.ZoneID == f.ZoneID {
			return refuse(ZonalShift, "a zonal shift away from %s is active until %s", shift.ZoneID, roll.Clock(shift.Expires))
		}
	}
	return nil
}

// massSilence checks how many nodes went silent within silenceWindow before and after a time. If
// there are too many, the fault is not in the nodes. silent is sorted.
func massSilence(at time.Time, silent []time.Time, nodes int, share policy.Percent) *Refusal {
	from := sort.Search(len(silent), func(i int) bool { return !silent[i].Before(at.Add(-silenceWindow)) })
	to := sort.Search(len(silent), func(i int) bool { return silent[i].After(at.Add(silenceWindow)) })
	n := to - from
	if n < silenceLeast || n*100 < int(share)*nodes {
		return nil
	}
	return refuse(MassSilence, "%d of %d nodes went silent within %.0f min of each other, limits.massSilence is %s: probably the network, the control plane or a rollout failed, not the nodes", n, nodes, silenceWindow.Minutes(), share)
}

// snapshotFault returns why the whole snapshot is unfit to act on.
func snapshotFault(s *roll.Snapshot) *Refusal {
	if s.ClusterGone() {
		return refuse(ClusterNotActive, "EKS has no cluster %s in this account and region", s.Cluster.ID.Name)
	}
	// Of a cluster that could not be described, the gap says why.
	if status := s.Cluster.Status; status != roll.ClusterActive && (status != "" || s.Whole()) {
		return refuse(ClusterNotActive, "cluster %s is %s, not %s", s.Cluster.ID.Name, s.Cluster.Status, roll.ClusterActive)
	}
	for _, g := range s.Gaps {
		switch {
		case g.Scope == roll.ScopeDetail:
		case g.Kind == roll.GapClusterNotActive:
			return &Refusal{Reason: ClusterNotActive, Detail: g.Detail}
		case g.Kind == roll.GapClusterUnreachable || g.Kind == roll.GapUnauthorized:
			return &Refusal{Reason: ClusterUnreachable, Detail: g.Detail}
		default:
			return &Refusal{Reason: SnapshotIncomplete, Detail: g.Detail}
		}
	}
	return nil
}

// Protection returns what forbids the termination of an instance: termination protection, scale-in
// protection, or its state in its Auto Scaling group.
func Protection(s *roll.Snapshot, i roll.Instance) *Refusal {
	d := s.Details[i.ID]
	switch d.TerminationProtected {
	case roll.Yes:
		kind, flag := "termination protection is on for "+string(i.ID), "termination"
		if d.StopProtected {
			kind, flag = "stop protection is on for "+string(i.ID)+", which refuses a termination too", "stop"
		}
		return refuse(TerminationProtected, "EC2 %s; turn it off to let Rollcall act: %s", kind,
			paste.Format("aws ec2 modify-instance-attribute --region %s --instance-id %s --no-disable-api-%s", s.Cluster.ID.Region, string(i.ID), flag))
	case roll.NotAsked, roll.Unreadable:
		return unread(s, ProtectionUnknown, roll.CallInstanceAttribute, fmt.Sprintf("the termination protection of %s could not be read (%s)", i.ID, roll.CallInstanceAttribute))
	}
	if i.ASG != "" && d.ScaleInProtected == roll.Yes {
		return refuse(ScaleInProtected, "its Auto Scaling group protects %s from scale-in", i.ID)
	}
	return notInService(s, i)
}

// notInService refuses unless the Auto Scaling group of an instance has it in service.
func notInService(s *roll.Snapshot, i roll.Instance) *Refusal {
	switch d := s.Details[i.ID]; {
	case i.ASG == "":
	case !d.LifecycleRead.Answered():
		return unread(s, ProtectionUnknown, roll.CallAutoScalingInstances, fmt.Sprintf("the state of %s in its Auto Scaling group could not be read (%s)", i.ID, roll.CallAutoScalingInstances))
	case d.LifecycleRead == roll.No:
		return refuse(NotInService, "%s carries the tag of the Auto Scaling group %s, which does not know it and would not replace it", i.ID, i.ASG)
	case d.Lifecycle != "InService":
		return refuse(NotInService, "its Auto Scaling group has %s in state %s, and handles it itself", i.ID, d.Lifecycle)
	}
	return nil
}

// RetryAfter is how long a failed act is not tried again.
const RetryAfter = 15 * time.Minute

// TagSettles is how long EC2's permission checks may take to see a new tag. A refusal before that
// means "not yet".
const TagSettles = 2 * time.Minute

// triedBefore checks earlier tries of the same order. One that was accepted, or has no outcome, is
// never repeated. A failed one is repeated after RetryAfter.
func triedBefore(s ledger.State, id string, now time.Time) *Refusal {
	a, _ := s.Action(id)
	wait := RetryAfter
	if a.Outcome != nil && strings.HasPrefix(a.Outcome.Detail, ledger.NotYet) {
		wait = TagSettles
	}
	switch {
	case a.Outcome == nil: // an open outcome has its own reason
		return nil
	case a.Outcome.Result != ledger.Failed:
		return refuse(AlreadyBegun, "%s of %s was carried out at %s: %s", a.Do, a.Instance, roll.Clock(a.Outcome.At), a.Outcome.Detail)
	case now.Sub(a.Outcome.At) < wait:
		no := refuse(ActionFailed, "%s of %s failed at %s (%s); it is tried again %.0f min later", a.Do, a.Instance, roll.Clock(a.Outcome.At), a.Outcome.Detail, wait.Minutes())
		no.Until = a.Outcome.At.Add(wait)
		return no
	}
	return nil
}

// claimObjects requires that the instance's tags claim it for this cluster.
func claimObjects(i roll.Instance, c roll.Cluster) *Refusal {
	switch {
	case i.Vouched:
		return refuse(NotClaimed, "%s could not be read, only its node: whether its tags claim it is not known", i.ID)
	case i.OtherCluster != "":
		return refuse(NotClaimed, "the tags of %s name cluster %s", i.ID, i.OtherCluster)
	case i.Ambiguous:
		return refuse(NotClaimed, "the tags of %s name several clusters, and none of them is one that only AWS can write", i.ID)
	case i.Unclaimed:
		return refuse(NotClaimed, "%s carries no tag of the cluster (%s%s); only a node names it", i.ID, roll.ClusterTagPrefix, c.ID.Name)
	case i.Launched.Before(c.Created):
		return refuse(OlderThanCluster, "%s was launched at %s, before the cluster was created at %s", i.ID, roll.Clock(i.Launched), roll.Clock(c.Created))
	}
	return nil
}

// membershipObjects requires that the instance belongs to this cluster, by its tags and its user
// data, whoever launched it.
func (p *planner) membershipObjects(i roll.Instance) *Refusal {
	if no := claimObjects(i, p.Snapshot.Cluster); no != nil {
		return no
	}
	if other := p.Snapshot.Details[i.ID].OtherCluster; other != "" {
		return refuse(NotClaimed, "the user data of %s bootstraps a node of cluster %s, and none of %s", i.ID, other, p.Snapshot.Cluster.ID.Name)
	}
	if c, ok := p.strangers[i.ID]; ok {
		return refuse(NotClaimed, "%s: %s", c.Code, c.Summary)
	}
	return nil
}

// strangersOf returns the instances whose user data provably joins another cluster, according to
// any of their findings.
func strangersOf(why map[roll.FindingKey]roll.Diagnosis) map[roll.InstanceID]roll.Cause {
	out := map[roll.InstanceID]roll.Cause{}
	for key, d := range why {
		for _, c := range d.Causes {
			if c.Code == cause.UserDataClusterMismatch && c.Confidence == roll.Decisive {
				out[key.Instance] = c
			}
		}
	}
	return out
}

// intentObjects requires proof on the instance itself that it should be a node. It is not enough
// that others of its Auto Scaling group or launch template version are nodes. In that case its own
// user data is unreadable or says otherwise.
func intentObjects(s *roll.Snapshot, inherited map[roll.InstanceID]bool, f roll.Finding, d roll.Detail) *Refusal {
	if !inherited[f.Instance] {
		return nil
	}
	if d.Bootstraps == roll.No {
		return refuse(NoNodeIntent, "other instances of its Auto Scaling group or launch template version are meant to be nodes, but the user data of %s bootstraps none", f.Instance)
	}
	if d.BootstrapsUnnamed {
		return refuse(NoNodeIntent, "the user data of %s bootstraps a node of a cluster whose name it computes: only tags show that it is this one, until a node came from its Auto Scaling group or launch template version", f.Instance)
	}
	return unread(s, NoNodeIntent, roll.CallInstanceAttribute, fmt.Sprintf("only its launch template version, or other instances of it or of its Auto Scaling group, show that %s is meant to be a node: its own user data could not be read (%s)", f.Instance, roll.CallInstanceAttribute))
}

// keptByPerson checks whether a person excludes the instance, or its node. A node whose instance is gone shows
// nothing any more. Of a stopped instance a person's cordon counts too: the Node that it registers when
// it starts would not have it. So does that of a silent node: to cordon a node and to cut it off by a security group
// is how AWS has a compromised node isolated, whose memory a reboot would erase. An agent's does not.
// https://aws.github.io/aws-eks-best-practices/incidents/
func (p *planner) keptByPerson(f roll.Finding, act Action) *Refusal {
	if i := p.instances[f.Instance]; i != nil {
		if no := taggedOut(*i, p.Now); no != nil {
			return no
		}
	}
	const held = "%s carries the annotation %s=true; it keeps costing until that is removed"
	switch n, c := p.nodes[f.Instance], p.Snapshot.Details[f.Instance].NodeClaim; {
	case act == DeleteNode && !p.onlyNodeLeft(f):
	case act == DeleteNode && n.CordonedByOthers():
		return refuse(NodeHeld, "instance %s is stopped, and somebody cordoned its node %s: once started, it would register a node that is not cordoned", f.Instance, n.Name)
	case n != nil && n.Ready.Status == roll.ConditionUnknown && n.CordonedByOthers() && n.ScaledDown.IsZero() && !cordonedByAgent(n):
		how := ""
		if n.Cordoner != "" {
			how = " (with " + n.Cordoner + ")"
		}
		return refuse(NodeHeld, "somebody cordoned node %s%s, which is silent, perhaps to isolate it: nothing that its instance has in memory is erased", n.Name, how)
	case n != nil && n.DoNotRepair:
		return refuse(NodeHeld, held, "node "+n.Name, roll.AnnotationDoNotRepair)
	case c != nil && c.DoNotRepair:
		return refuse(NodeHeld, held, "NodeClaim "+c.Name, roll.AnnotationDoNotRepair)
	}
	return nil
}

// taggedOut checks the tags with which people exclude an instance.
func taggedOut(i roll.Instance, now time.Time) *Refusal {
	if i.Ignore {
		return refuse(InstanceIgnored, "%s carries %s=true", i.ID, roll.TagIgnore)
	}
	if roll.HoldActive(i.Hold, now) {
		return refuse(InstanceHeld, "%s carries %s=%s; it keeps costing until the tag is removed", i.ID, roll.TagHold, i.Hold)
	}
	return nil
}
