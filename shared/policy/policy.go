package policy

import (
	"time"

	"rollcall/shared/roll"
)

// Policy is the effective settings of one cluster, group or instance. It is
// complete: what nobody set has its default.
type Policy struct {
	Mode Mode
	// ModeSet is false when neither the document nor an override named a mode and Mode
	// is the default. A tag only lowers a mode, and names none.
	ModeSet bool
	// Stop halts every act, in every cluster and group, whatever the mode. Only the
	// document itself says it.
	Stop           bool
	Registration   Registration
	Initialization Initialization
	// Conditions in a fixed order: the defaults, then what the document adds. No
	// two of them have the same type and status.
	Conditions []Condition
	// Tolerances are how long a finding of these kinds may last before it is acted on:
	// Impaired, Ghost, Orphaned and Conflict. The other kinds have sections of their own.
	Tolerances map[roll.Kind]time.Duration
	// Ladders by kind of finding. A kind without one has nothing done about it. Which one
	// holds for a finding is told by [Policy.Ladder].
	Ladders map[roll.Kind][]Step
	// CauseLadders go before those of their kinds, for findings with the cause.
	CauseLadders map[CauseKey][]Step
	// Repair is what is done about accelerators that failed; see [Policy.Repairs].
	Repair Repairs
	Limits Limits
	Drain  Drain
	Reboot Reboot
	// Scheduled is when a node is moved before an event that EC2 has scheduled.
	Scheduled Scheduled
	// Launch is how long a launch may take.
	Launch Launch
	// SilentNode is what speaks against ending a node whose kubelet is silent.
	SilentNode SilentNode
	// Owners has a rule for every owner of roll.Owners.
	Owners map[roll.Owner]OwnerRule
}

// Registration is how long an instance may take from its launch to its Node.
type Registration struct {
	WarnAfter time.Duration // never more than Deadline
	Deadline  time.Duration // always positive
}

// Initialization is how long a node may take from its creation to being ready for
// work.
type Initialization struct {
	WarnAfter time.Duration // never more than Deadline
	Deadline  time.Duration // always positive
	// Taints are keys of startup taints beside the well-known ones.
	Taints []string
}

// Scheduled is about events that EC2 has scheduled for instances.
type Scheduled struct {
	// Lead is how long before such an event may begin its node is emptied; always positive.
	Lead time.Duration
}

// Launch is how long launches may take, until Unlaunched is found.
type Launch struct {
	// Tolerance is how long launches of a group may fail, or not come about; always positive.
	Tolerance time.Duration
	// Pending is how long an instance may stay pending; always positive.
	Pending time.Duration
}

// Drain is how a node is emptied before its instance is ended.
type Drain struct {
	Timeout time.Duration // always positive
	// Force is whether the instance is ever ended with pods left on its node.
	Force Force
	// BudgetTimeout is how long after its first try an unfinished drain is forced, if
	// Force says so; always positive.
	BudgetTimeout time.Duration
}

// Force is what follows a drain that stays unfinished.
type Force string

// What may follow. Anything else, the zero value included, must be read as never.
const (
	// ForceNever: the ladder stops, and a person is asked.
	ForceNever Force = "never"
	// ForceAfterBudgetTimeout: the next step is taken once the drain has been unfinished
	// for BudgetTimeout since its first try, whatever keeps the pods.
	ForceAfterBudgetTimeout Force = "afterBudgetTimeout"
)

var forces = []Force{ForceNever, ForceAfterBudgetTimeout}

// SilentNode is what may keep a silent node from being rebooted or ended, since its pods may
// still work; and what follows its end.
type SilentNode struct {
	DoNotDisrupt Guard // the node, or pods of it, that are annotated as not to be disrupted
	Budgets      Guard // PodDisruptionBudgets that would be gone below
	LocalVolumes Guard // persistent volumes on the node's own disks
	// OutOfServiceTaint: a node whose instance was terminated is tainted as out of service.
	OutOfServiceTaint bool
}

// Guard is whether something holds an act back.
type Guard string

// The guards. Anything else, the zero value included, must be read as hold.
const (
	GuardHold   Guard = "hold"
	GuardIgnore Guard = "ignore"
)

var guards = []Guard{GuardHold, GuardIgnore}

// Condition is how long a node condition may have a status before that counts as
// a finding.
type Condition struct {
	Type     string        // as in a Node's status.conditions, such as Ready
	Status   string        // True, False or Unknown
	Tolerate time.Duration // always positive
}

// Limits hold destructive actions back. None of them can be unlimited.
type Limits struct {
	// Unhealthy is the share of a cluster's and of a group's nodes that may be
	// past their tolerance while something is still done about it.
	Unhealthy Percent
	// Zone is the share of silent nodes of an availability zone from which on the
	// zone, not the nodes, is taken to be at fault.
	Zone Percent
	// MassSilence is the share of a cluster's nodes that turned Unknown within minutes
	// of each other from which on it is not the nodes that are at fault.
	MassSilence Percent
	// StormCooldown is how long nothing is ordered after the cluster as a whole was in
	// trouble.
	StormCooldown time.Duration
	// Replacements is how many acts on a group may go by without a replacement that has
	// stayed Ready for ProvenAfter.
	Replacements int
	ProvenAfter  time.Duration
	// WithoutReplacement is what happens while the replacement of the last instance that was
	// ended in a group is not Ready, or the group's latest launch failed.
	WithoutReplacement WithoutReplacement
	// CauseOutside is what happens to an instance with a decisive cause that another one would
	// have too.
	CauseOutside CauseOutside
	// ReplacementWait is how long an instance that was cordoned, drained or rebooted keeps
	// the others of its group waiting.
	ReplacementWait time.Duration
	// ActionsPerCheck and ActionsPerHour count actions per cluster; 0 is none.
	ActionsPerCheck int
	ActionsPerHour  int
}

// WithoutReplacement is what happens where nothing shows that a group brings another
// instance for the one that is to be ended.
type WithoutReplacement string

// What may happen. Anything else, the zero value included, must be read as hold.
const (
	WithoutReplacementHold    WithoutReplacement = "hold"    // no further instance is ended
	WithoutReplacementProceed WithoutReplacement = "proceed" // it is ended all the same
)

var withoutReplacement = []WithoutReplacement{WithoutReplacementHold, WithoutReplacementProceed}

// CauseOutside is what happens to an instance whose cause lies in a role, template, subnet or
// cluster, so that its replacement would meet the same.
type CauseOutside string

// What may happen. Anything else, the zero value included, must be read as hold.
const (
	CauseOutsideHold    CauseOutside = "hold"    // nothing is done before the cause is mended
	CauseOutsideTryOnce CauseOutside = "tryOnce" // one instance of the group is ended all the same
)

var causesOutside = []CauseOutside{CauseOutsideHold, CauseOutsideTryOnce}

// Reboot is what a reboot is given before the next step.
type Reboot struct {
	// Wait is how long after a reboot nothing further is done to the instance at least, so
	// that it can boot and its node become Ready; always positive.
	Wait time.Duration
}

// OwnerRule is what may happen to the instances of an owner: "notify" or
// "terminate". Anything else, the zero value included, must be read as notify.
type OwnerRule string

// The rules.
const (
	// OwnerNotify: its instances are tagged and reported, never ended.
	OwnerNotify OwnerRule = "notify"
	// OwnerTerminate: its instances may be terminated, where mode, ladder and
	// limits allow it too, and where the owner does not do it itself.
	OwnerTerminate OwnerRule = "terminate"
	// OwnerDeleteNodeClaim: instead of the instance, Karpenter's NodeClaim is deleted;
	// Karpenter then drains the node and ends the instance. For Karpenter only.
	OwnerDeleteNodeClaim OwnerRule = "delete-nodeclaim"
)

var ownerRules = []OwnerRule{OwnerNotify, OwnerTerminate, OwnerDeleteNodeClaim}

// Tolerance is how long a condition may have a status ("True", "False" or
// "Unknown"). It is false when the policy does not watch that pair.
func (p Policy) Tolerance(conditionType, status string) (time.Duration, bool) {
	for _, c := range p.Conditions {
		if c.Type == conditionType && c.Status == status {
			return c.Tolerate, true
		}
	}
	return 0, false
}
