package policy

import (
	"strconv"
	"time"

	"rollcall/shared/roll"
)

// Policy holds the effective settings of one cluster, group or instance. It is complete: unset
// values have their defaults.
type Policy struct {
	Mode Mode
	// ModeSet is false if neither the document nor an override names a mode, so that Mode is the
	// default. A tag only lowers a mode, and does not count.
	ModeSet bool
	// Stop halts every act, in every cluster and group, whatever the mode. Only the document itself
	// can set it.
	Stop           bool
	Registration   Registration
	Initialization Initialization
	// Conditions are in a fixed order: the defaults, then the document's. Each type and status
	// occurs once.
	Conditions []Condition
	// Tolerances are how long findings of these kinds may last before an act: Impaired, Ghost
	// and Orphaned. The other kinds have their own sections.
	Tolerances map[roll.Kind]time.Duration
	// Ladders has the ladders by kind of finding. No act follows for a kind without one.
	// [Policy.Ladder] returns the one that applies to a finding.
	Ladders map[roll.Kind][]Step
	// CauseLadders take precedence over those of their kinds, for findings with the cause.
	CauseLadders map[CauseKey][]Step
	// Repair is what to do about failed accelerators; see [Policy.Repairs].
	Repair Repairs
	Limits Limits
	Drain  Drain
	Reboot Reboot
	// Scheduled is when to move a node before an EC2 scheduled event.
	Scheduled Scheduled
	// Launch is how long a launch may take.
	Launch Launch
	// SilentNode is what prevents the termination of a node whose kubelet is silent.
	SilentNode SilentNode
	// Owners has a rule for each owner in roll.Owners.
	Owners map[roll.Owner]OwnerRule
}

// Registration is how long an instance may take from its launch to its Node.
type Registration struct {
	WarnAfter time.Duration // never more than Deadline
	Deadline  time.Duration // always positive
}

// Initialization is how long a node may take from its creation until it is ready for work.
type Initialization struct {
	WarnAfter time.Duration // never more than Deadline
	Deadline  time.Duration // always positive
	// Taints are keys of startup taints in addition to the well-known ones.
	Taints []string
}

// Scheduled is about EC2 scheduled events.
type Scheduled struct {
	// Lead is how long before the possible start of an event its node is drained; always positive.
	Lead time.Duration
}

// Launch is how long launches may take before Unlaunched is found.
type Launch struct {
	// Tolerance is how long a group's launches may fail or be missing; always positive.
	Tolerance time.Duration
	// Pending is how long an instance may stay pending; always positive.
	Pending time.Duration
}

// Drain is how a node is drained before its instance is terminated.
type Drain struct {
	Timeout time.Duration // always positive
	// Force is whether the instance may be terminated with pods left on its node, whatever blocks
	// them, once the drain has been unfinished for BudgetTimeout since its first try. Otherwise the
	// ladder stops, and a person has to decide.
	Force         bool
	BudgetTimeout time.Duration // always positive
}

// SilentNode is what may prevent a reboot or termination of a silent node, since its pods may still
// work. It also has what follows its termination.
type SilentNode struct {
	IgnoreDoNotDisrupt bool // the node, or its pods, annotated as not to be disrupted
	IgnoreBudgets      bool // PodDisruptionBudgets that would be violated
	IgnoreLocalVolumes bool // persistent volumes on the node's own disks
	// OutOfServiceTaint: the node of a terminated instance gets the out-of-service taint.
	OutOfServiceTaint bool
}

// Condition is how long a node condition may have a status before it is a finding.
type Condition struct {
	Type     string        // as in a Node's status.conditions, such as Ready
	Status   string        // True, False or Unknown
	Tolerate time.Duration // always positive
}

// Limits limit destructive acts. None of them can be unlimited.
type Limits struct {
	// Unhealthy is the share of a cluster's and of a group's nodes that may be past their
	// tolerance. Above it, acts are held.
	Unhealthy Percent
	// Zone is the share of nodes in an availability zone that are not Ready from which the zone,
	// not the nodes, is considered faulty.
	Zone Percent
	// MassSilence is the share of a cluster's nodes that turn Unknown within minutes of each other
	// from which the fault is not considered to be in the nodes.
	MassSilence Percent
	// StormCooldown is how long nothing is ordered after trouble of the cluster as a whole, and how long
	// a node has to recover after its cause outside the instance ended.
	StormCooldown time.Duration
	// Replacements is how many acts on a group are allowed without a replacement that stays Ready
	// for ProvenAfter.
	Replacements int
	ProvenAfter  time.Duration
	// WithoutReplacement is whether a further instance of a group may be terminated while the
	// replacement of the last one is not Ready, or the group's latest launch failed.
	WithoutReplacement bool
	// TryOnce is whether one instance of a group may be terminated although its decisive cause lies in
	// a role, template, subnet or cluster, so that its replacement would have it too.
	TryOnce bool
	// ReplacementWait is how long an instance that was cordoned, drained or rebooted blocks the
	// others of its group.
	ReplacementWait time.Duration
	// ActionsPerCheck and ActionsPerHour are the maximum numbers of acts per cluster; 0 means none.
	ActionsPerCheck int
	ActionsPerHour  int
}

// Reboot is the time that a reboot gets before the next step.
type Reboot struct {
	// Wait is the minimum time after a reboot before the next step, so that the instance can boot
	// and its node become Ready; always positive.
	Wait time.Duration
}

// OwnerRule is what may happen to the instances of an owner: "notify", "terminate" or
// "delete-nodeclaim". Anything else, including the zero value, must be read as notify.
type OwnerRule string

// The rules.
const (
	// OwnerNotify: its instances are tagged and reported, never terminated.
	OwnerNotify OwnerRule = "notify"
	// OwnerTerminate: its instances may be terminated if mode, ladder and limits allow it, and the
	// owner does not do it itself.
	OwnerTerminate OwnerRule = "terminate"
	// OwnerDeleteNodeClaim: Karpenter's NodeClaim is deleted instead of the instance. Karpenter
	// then drains the node and terminates the instance. For Karpenter only.
	OwnerDeleteNodeClaim OwnerRule = "delete-nodeclaim"
)

var ownerRules = []OwnerRule{OwnerNotify, OwnerTerminate, OwnerDeleteNodeClaim}

// Tolerance returns how long a condition may have a status ("True", "False" or "Unknown"). It
// returns false if the policy does not watch that pair.
func (p Policy) Tolerance(conditionType, status string) (time.Duration, bool) {
	for _, c := range p.Conditions {
		if c.Type == conditionType && c.Status == status {
			return c.Tolerate, true
		}
	}
	return 0, false
}

// Percent is a whole percentage from 0 to 100. It is whole so that shares of nodes are counted with
// integers, and limits have no rounding errors.
type Percent int

// Of returns the percentage of n, rounded up: 20% of 6 is 2.
func (p Percent) Of(n int) int { return (int(p)*n + 99) / 100 }

// String returns the percentage as written in a policy, such as "20%".
func (p Percent) String() string { return strconv.Itoa(int(p)) + "%" }
