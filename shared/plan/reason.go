package plan

import (
	"fmt"
	"time"
)

// Reason is why an act is held. A held act is a result: it is listed and reported like an order.
type Reason string

// Refusal is why an act is not ordered; nil means that nothing objects.
type Refusal struct {
	Reason Reason `json:"reason"`
	Detail string `json:"detail"` // a sentence for a person
	// Until is when the reason passes by itself, if that is known; zero otherwise.
	Until time.Time `json:"-"`
}

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// The reasons, in the order in which they are checked. The stop, the mode and an approval come
// last. So ModeObserve and ModeNotify mean that nothing before the mode holds the act. A reason
// that several checks give, such as NotReadYet, is listed once.
const (
	// Conflicting: the finding is contradicted, or a node has the name of one instance and the id of
	// another.
	Conflicting Reason = "Conflicting"
	// ActionStuck: the act was carried out, but had no effect in time.
	ActionStuck Reason = "ActionStuck"
	// AlreadyBegun: this order was begun before. It is never begun again.
	AlreadyBegun Reason = "AlreadyBegun"
	// DrainUnfinished: pods were left on the node at the end of the drain time. A person has to
	// decide, unless the policy forces the next step after a while.
	DrainUnfinished Reason = "DrainUnfinished"
	// ClusterNotActive: the cluster is not in status ACTIVE.
	ClusterNotActive Reason = "ClusterNotActive"
	// ClusterUnreachable: the Kubernetes API did not answer, or refused the request.
	ClusterUnreachable Reason = "ClusterUnreachable"
	// SnapshotIncomplete: the cluster could not be described, or not all instances or nodes could be read.
	SnapshotIncomplete Reason = "SnapshotIncomplete"
	// InstanceNotSeen: EC2 did not list the instance in this check.
	InstanceNotSeen Reason = "InstanceNotSeen"
	// InstanceIgnored: the instance carries rollcall:ignore=true.
	InstanceIgnored Reason = "InstanceIgnored"
	// InstanceHeld: the instance carries rollcall:hold.
	InstanceHeld Reason = "InstanceHeld"
	// NodeHeld: the node or its NodeClaim carries karpenter.sh/do-not-repair, or a person, or nobody knows
	// who, cordoned the node, and it is silent or its instance is stopped.
	NodeHeld Reason = "NodeHeld"
	// NodeDeleting: the node is already being deleted.
	NodeDeleting Reason = "NodeDeleting"
	// NotClaimed: the instance's own tags do not name this cluster, or not clearly, or its user
	// data joins another one. A node alone does not prove that an instance belongs to the cluster.
	NotClaimed Reason = "NotClaimed"
	// OlderThanCluster: the instance was launched before the cluster was created, perhaps for an
	// earlier cluster with that name.
	OlderThanCluster Reason = "OlderThanCluster"
	// InstanceNotRunning: the instance is stopped or hibernated, or on its way there.
	InstanceNotRunning Reason = "InstanceNotRunning"
	// MachineSound: an EC2 status check fails, but not one of those for the machine.
	MachineSound Reason = "MachineSound"
	// NodeReady: the node is Ready. Whatever else is wrong, it may be working, also if only Karpenter's mark of
	// an initialized node is missing.
	NodeReady Reason = "NodeReady"
	// ConditionAlone: a monitoring condition failed and the node is Ready. Such conditions latch,
	// so no act follows from one alone.
	ConditionAlone Reason = "ConditionAlone"
	// RepairNeedsPerson: its accelerator failed for a reason for which neither the policy nor AWS
	// names a reboot or a replacement as the repair.
	RepairNeedsPerson Reason = "RepairNeedsPerson"
	// NodeWithoutProviderID: a node of the cluster has no provider id that names its instance. It
	// may be this one's.
	NodeWithoutProviderID Reason = "NodeWithoutProviderID"
	// RegistersLate: nodes of its group usually register at its age, or later.
	RegistersLate Reason = "RegistersLate"
	// SharedCause: other instances have the same cause, and a replacement would have it too.
	SharedCause Reason = "SharedCause"
	// CauseOutside: one of its decisive causes lies in a role, template, subnet or cluster. A
	// person has to fix it there.
	CauseOutside Reason = "CauseOutside"
	// CauseNotChecked: the evidence for a cause that a replacement would have too was unreadable,
	// and no cause was proven. Or a cause with its own ladder could not be ruled out, and that
	// ladder does not contain the act.
	CauseNotChecked Reason = "CauseNotChecked"
	// CausePasses: one of its decisive causes passes by itself, such as a kubelet that restarts
	// while the node starts up, or is not the instance's fault.
	CausePasses Reason = "CausePasses"
	// OwnerNotifyOnly: the policy, or this version, only notifies for this owner.
	OwnerNotifyOnly Reason = "OwnerNotifyOnly"
	// GroupSuspended: a person suspended processes of its Auto Scaling group, so that it leaves its
	// instances unchanged or launches none.
	GroupSuspended Reason = "GroupSuspended"
	// OwnerUnknown: what the owner does about it could not be read.
	OwnerUnknown Reason = "OwnerUnknown"
	// NodeGroupUnhealthy: its managed node group is changing, or EKS reports it as unhealthy.
	NodeGroupUnhealthy Reason = "NodeGroupUnhealthy"
	// OwnerWillAct: the owner repairs or replaces it itself, or still has time to do so; or an agent that
	// cordoned it does.
	OwnerWillAct Reason = "OwnerWillAct"
	// OwnerDidNotAct: the owner had time to repair or replace it, and did not.
	OwnerDidNotAct Reason = "OwnerDidNotAct"
	// ReplacementUnavailable: the latest launch of the group failed, its node pool is not ready, or
	// this instance's capacity cannot be replaced.
	ReplacementUnavailable Reason = "ReplacementUnavailable"
	// NoNodeIntent: nothing about the instance itself shows that it should be a node.
	NoNodeIntent Reason = "NoNodeIntent"
	// TerminationProtected: EC2's termination protection is on, or its stop protection, which refuses a termination too.
	TerminationProtected Reason = "TerminationProtected"
	// ScaleInProtected: its Auto Scaling group protects it from scale-in.
	ScaleInProtected Reason = "ScaleInProtected"
	// ProtectionUnknown: whether it is protected, its state in its Auto Scaling group, or whether
	// it renews a lease without a node, could not be read.
	ProtectionUnknown Reason = "ProtectionUnknown"
	// NotReadYet: something could not be read in this check for a temporary reason. It is what the
	// owner does, the protection, zonal shifts, or the evidence for a cause that a replacement
	// would have too.
	NotReadYet Reason = "NotReadYet"
	// NotInService: its Auto Scaling group is launching or terminating it, keeps it in standby, or
	// does not know it.
	NotInService Reason = "NotInService"
	// NotSeenTwice: two complete checks at least 60 s apart must see the same.
	NotSeenTwice Reason = "NotSeenTwice"
	// FoundBeforeRemediate: the finding was opened before mode remediate was on.
	FoundBeforeRemediate Reason = "FoundBeforeRemediate"
	// ZonalShift: ARC shifts the cluster away from its zone.
	ZonalShift Reason = "ZonalShift"
	// ZoneOutage: most nodes of its zone are not ready.
	ZoneOutage Reason = "ZoneOutage"
	// MassSilence: many nodes went silent within minutes of each other.
	MassSilence Reason = "MassSilence"
	// UnhealthyShare: too large a share of the cluster or of the group is past its tolerance, so
	// the fault is probably not in the instances.
	UnhealthyShare Reason = "UnhealthyShare"
	// StormCooldown: the cluster as a whole was in trouble recently.
	StormCooldown Reason = "StormCooldown"
	// CauseEnded: until lately the cause lay outside the instance, or too many nodes were unhealthy.
	CauseEnded Reason = "CauseEnded"
	// PodsUnread: the pods of a silent node, or the volumes on the disks of one that is not Ready, could
	// not be read.
	PodsUnread Reason = "PodsUnread"
	// PodsNotToDisrupt: the node is annotated as not to be disrupted; or it is silent, and one of its
	// pods that may still work is.
	PodsNotToDisrupt Reason = "PodsNotToDisrupt"
	// DisruptionBudget: the node is silent, and without its pods, which may still work, a
	// PodDisruptionBudget has too few healthy ones.
	DisruptionBudget Reason = "DisruptionBudget"
	// LocalVolume: the node is not Ready, or is to be drained for an event or a repair, and has persistent volumes on its own disks.
	LocalVolume Reason = "LocalVolume"
	// ActionFailed: the last try failed recently.
	ActionFailed Reason = "ActionFailed"
	// OtherFinding: the instance is acted on for another of its findings.
	OtherFinding Reason = "OtherFinding"
	// ReplacementRepeats: the last acts on its group brought no working node.
	ReplacementRepeats Reason = "ReplacementRepeats"
	// ReplacementPending: the replacement of the group's last act is overdue, or what was launched after it
	// never became a Ready node. An Auto Scaling group whose desired capacity is lower needs none, nor does a node
	// pool if no pod waits for a node.
	ReplacementPending Reason = "ReplacementPending"
	// OneAtATime: another instance of its group is acted on in this check, is on its ladder, or was
	// terminated and its replacement still has time.
	OneAtATime Reason = "OneAtATime"
	// ActionUnresolved: an earlier act on the instance, or on another one of its group, has no
	// outcome yet.
	ActionUnresolved Reason = "ActionUnresolved"
	// ActionsPerHour: the acts of the last hour use up the limit.
	ActionsPerHour Reason = "ActionsPerHour"
	// ActionsPerCheck: the acts of this check use up the limit.
	ActionsPerCheck Reason = "ActionsPerCheck"
	// Stopped: the policy says stop: true.
	Stopped Reason = "Stopped"
	// ModeObserve and ModeNotify: the mode allows no act.
	ModeObserve Reason = "ModeObserve"
	ModeNotify  Reason = "ModeNotify"
	// ApprovalPending: the ladder asks for a person's approval, and its time is not over.
	ApprovalPending Reason = "ApprovalPending"
	// ApprovalUnrecorded: the tag approves the act, and this check records that. Only an approval in
	// the ledger counts.
	ApprovalUnrecorded Reason = "ApprovalUnrecorded"
	// ApprovalMissing: nobody approved in time, and the ladder holds the act then.
	ApprovalMissing Reason = "ApprovalMissing"
)

// Reasons that are added when an order is carried out.
const (
	// StepUnavailable: the ladder has a step that this version cannot do. The steps after it are
	// not done either.
	StepUnavailable Reason = "StepUnavailable"
	// OrderExpired: the order, or what was read for it, is too old.
	OrderExpired Reason = "OrderExpired"
	// PolicyUnreadable: the policy could not be read again, is missing, or does not validate.
	PolicyUnreadable Reason = "PolicyUnreadable"
	// TargetUnreadable: the instance or its node could not be read again.
	TargetUnreadable Reason = "TargetUnreadable"
	// VerdictChanged: read again, the instance or its node is in another state.
	VerdictChanged Reason = "VerdictChanged"
	// OrderUnmarked: the instance does not carry the order's tag.
	OrderUnmarked Reason = "OrderUnmarked"
	// EvidenceNotStored: the evidence that the instance still has could not be stored.
	EvidenceNotStored Reason = "EvidenceNotStored"
	// NotRecorded: the intent could not be recorded.
	NotRecorded Reason = "NotRecorded"
	// NoticeNotSent: the notice of the act could not be sent.
	NoticeNotSent Reason = "NoticeNotSent"
)

// Passing reports whether a reason ends by itself or with the mode, so that it needs no notice.
func (r Reason) Passing() bool {
	switch r {
	case NotReadYet, NotSeenTwice, AlreadyBegun, StormCooldown, CauseEnded, OtherFinding, OneAtATime, ActionFailed, ActionsPerHour, ActionsPerCheck, ActionUnresolved, Stopped, ModeObserve, ModeNotify,
		ApprovalUnrecorded, OrderExpired, OrderUnmarked, TargetUnreadable, NotRecorded, EvidenceNotStored, PolicyUnreadable, NoticeNotSent:
		return true
	}
	return false
}

// Blocked reports whether the reason means that Rollcall could not do what an act needs, perhaps for lack of a
// permission. It mostly passes by itself; it is news once it has lasted, since every check gives the order again.
func (r Reason) Blocked() bool {
	switch r {
	case OrderUnmarked, TargetUnreadable, NotRecorded, EvidenceNotStored, PolicyUnreadable:
		return true
	}
	return false
}

// Told reports whether a notice reports an order's refusal for the reason: at once, or if it lasts.
func (r Reason) Told() bool { return !r.Passing() || r.Blocked() }

// Ends returns what ends a reason, as the end of a sentence that begins with "it ends": "when a
// second check, a minute later, sees it too". It addresses the reader as "you". For an unknown
// reason it returns "".
func (r Reason) Ends() string { return ends[r] }

var ends = map[Reason]string{
	Conflicting:            "when the two sources agree again; find out which of them is wrong",
	ActionStuck:            "when the instance, or its node, is gone; terminate it by hand",
	AlreadyBegun:           "when the act shows its effect; it is not repeated",
	DrainUnfinished:        "when the pods that are left go: see to them; with drain.force: afterBudgetTimeout, when drain.budgetTimeout is over",
	ClusterNotActive:       "when EKS says that the cluster is ACTIVE; of a deleted cluster nothing is terminated, delete what it left behind",
	ClusterUnreachable:     "when the Kubernetes API answers, and lets Rollcall in",
	SnapshotIncomplete:     "when a check can read all instances and nodes, and the ledger",
	InstanceNotSeen:        "when EC2 lists the instance again",
	InstanceIgnored:        "when you remove the tag rollcall:ignore",
	InstanceHeld:           "when you remove the tag rollcall:hold, or its date is over",
	NodeHeld:               "when you remove the annotation karpenter.sh/do-not-repair, or lift the cordon of the node",
	NodeDeleting:           "when the node is gone, or an hour after its deletion began; if it stays, look at its finalizers",
	NotClaimed:             "when the tags of the instance, and its user data, name this cluster alone",
	OlderThanCluster:       "when you terminate the instance, or take the cluster's tag off it",
	InstanceNotRunning:     "when you start the instance, or terminate it and delete its node",
	MachineSound:           "when the check passes again: see to the volume, the application or the performance that it names",
	NodeReady:              "when the node leaves Ready, or you replace it yourself",
	ConditionAlone:         "when the node leaves Ready, or you replace it yourself",
	RepairNeedsPerson:      "when the condition is over, or you give its reason a repair in the policy: reboot or replace",
	NodeWithoutProviderID:  "when every node of the cluster has a provider id, or the instance's own node shows",
	RegistersLate:          "when it is half as old again as nodes of its group usually register, or an hour old; raise registration.deadline",
	SharedCause:            "when you fix what the instances have in common",
	CauseOutside:           "when you fix the cause, or set limits.causeOutside: tryOnce",
	CauseNotChecked:        "when a check can look for the cause, or you set limits.causeOutside: tryOnce, or give the cause's ladder the act, too",
	CausePasses:            "when the cause is gone",
	OwnerNotifyOnly:        "when the policy lets Rollcall act for this owner; for Auto Mode and Cluster API never",
	GroupSuspended:         "when you resume the processes of the Auto Scaling group",
	OwnerUnknown:           "when Rollcall may read what the owner does",
	NodeGroupUnhealthy:     "when the node group is ACTIVE and EKS reports no issue with it",
	OwnerWillAct:           "when the owner has acted, or its time is over",
	OwnerDidNotAct:         "when 15 minutes have passed since the owner's time was over; the ladder continues then, if it has a step left",
	ReplacementUnavailable: "when a launch works, or you tag the instance rollcall:replace=true, or set limits.withoutReplacement: proceed",
	NoNodeIntent:           "when its own user data, or a node of its group, shows that it is one; else take the cluster's tag off, or terminate it",
	TerminationProtected:   "when you turn the protection off",
	ScaleInProtected:       "when you turn the scale-in protection of the instance off",
	ProtectionUnknown:      "when Rollcall may read how the instance is protected and, if it has no node, its lease: see infra/README.md",
	NotReadYet:             "when a check can read it; every check asks again",
	NotInService:           "when its Auto Scaling group has it in service, or has terminated it",
	NotSeenTwice:           "when a second check, a minute later, sees it too",
	FoundBeforeRemediate:   "when you deal with it by hand; what is found from then on is acted on",
	ZonalShift:             "when the zonal shift is over, or you cancel it",
	ZoneOutage:             "when enough nodes of the zone are ready again",
	MassSilence:            "when enough of the nodes report again",
	UnhealthyShare:         "when enough nodes are healthy again, or you raise limits.unhealthy",
	CauseEnded:             "when it has had limits.stormCooldown to recover",
	StormCooldown:          "when the cluster has been in order for limits.stormCooldown",
	PodsUnread:             "when a check can read them: apply infra/rbac.yaml if it may not; over 8 MB of pods are not read: delete finished ones",
	PodsNotToDisrupt:       "when the pods are gone or run elsewhere, you take the annotation off, or set silentNode.doNotDisrupt: ignore",
	DisruptionBudget:       "when enough pods of the budget are healthy elsewhere, or you set silentNode.budgets: ignore",
	LocalVolume:            "when you delete the volumes, or set silentNode.localVolumes: ignore",
	ActionFailed:           "when it is tried again, 15 minutes after the failure",
	OtherFinding:           "when the act for the other finding has had its time",
	ReplacementRepeats:     "when an instance that the group launches becomes a Ready node; look at its template, role and image",
	ReplacementPending:     "when a replacement is Ready, none is needed, or you set rollcall:replace=true or limits.withoutReplacement: proceed",
	OneAtATime:             "when the instance that comes first is done with, or its replacement is Ready or has had its time",
	ActionUnresolved:       "when the earlier act has its outcome; a check finds it out",
	ActionsPerHour:         "when the acts that count are an hour old, or you raise limits.actionsPerHour",
	ActionsPerCheck:        "when the next check comes, or you raise limits.actionsPerCheck",
	Stopped:                "when you run rollcall resume, or take stop: true out of the policy",
	ModeObserve:            "when you set the mode to remediate",
	ModeNotify:             "when you set the mode to remediate",
	ApprovalPending:        "when somebody approves it (rollcall approve), or its time is over",
	ApprovalUnrecorded:     "when the next check acts on the approval",
	ApprovalMissing:        "when you act by hand, or set then: go in the approve step; a new fault asks again",

	StepUnavailable:   "when you take the step out of the ladder, or update Rollcall",
	OrderExpired:      "when a check orders it again",
	PolicyUnreadable:  "when the policy is there, can be read, and is valid",
	TargetUnreadable:  "when the instance and its node can be read again",
	VerdictChanged:    "when a check comes to the same order again",
	OrderUnmarked:     "when the order's tag is on the instance; the next check writes it, unless the instance already has 50 tags",
	EvidenceNotStored: "when the evidence can be stored: the bucket is there, and may be written",
	NotRecorded:       "when the ledger can be written",
	NoticeNotSent:     "when the notice can be sent: the topic is there, and may be published to",
}
