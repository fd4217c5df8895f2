package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// Action is an act that interrupts or destroys something.
type Action string

// The acts, from the mildest to the most severe.
const (
	// Cordon marks the node unschedulable and annotates it with the order.
	Cordon Action = "cordon"
	// Uncordon lifts Rollcall's own cordon from a node that came back.
	Uncordon Action = "uncordon"
	// Drain evicts the pods of a node whose kubelet answers, within their disruption budgets. It
	// takes several checks. Each one continues where the last one stopped. It cordons a node that
	// is not cordoned, and annotates it with its order.
	Drain Action = "drain"
	// Reboot is ec2:RebootInstances, at most once per finding.
	Reboot Action = "reboot"
	// DeleteNode deletes the Node object of an instance that is gone.
	DeleteNode Action = "delete-node"
	// DeleteNodeClaim deletes Karpenter's NodeClaim; Karpenter terminates the instance.
	DeleteNodeClaim Action = "delete-nodeclaim"
	// OutOfService taints the node of an instance that Rollcall terminated, so that the
	// control plane removes its pods and detaches its volumes at once.
	OutOfService Action = "out-of-service"
	// Terminate is ec2:TerminateInstances; the owner then launches a replacement.
	Terminate Action = "terminate"
)

// Actions are all acts.
var Actions = []Action{Cordon, Uncordon, Drain, Reboot, DeleteNode, DeleteNodeClaim, OutOfService, Terminate}

// OrderLife is how long an order is valid. After that, its check is too old to act on.
const OrderLife = 10 * time.Minute

// Order is the instruction to act on one instance. Its JSON is the message in the orders
// queue; package trigger validates it.
type Order struct {
	ID string `json:"id"`
	roll.ClusterID
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node,omitempty"`
	// Claim is the NodeClaim to delete, only for DeleteNodeClaim.
	Claim     string     `json:"claim,omitempty"`
	Group     roll.Group `json:"group"`
	Owner     roll.Owner `json:"owner"`
	Kind      roll.Kind  `json:"kind"`
	Action    Action     `json:"action"`
	FirstSeen time.Time  `json:"firstSeen"` // when a check first saw the finding
	Since     time.Time  `json:"since"`
	At        time.Time  `json:"at"`
	Expires   time.Time  `json:"expires"`
	Why       string     `json:"why,omitempty"` // one sentence for a person
	// Approved is who approved the act, nil if it needed no approval.
	Approved *ledger.Approval `json:"approved,omitempty"`
	// Incident is the incident whose notices report the finding, "" if there is none.
	Incident string `json:"incident,omitempty"`
}

// Held is an act that is held, and why. Its JSON is that of reports.
type Held struct {
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node"`
	Group    roll.Group      `json:"group"`
	Kind     roll.Kind       `json:"kind"`
	Action   Action          `json:"action"`
	Refusal
	// Question is the question of ApprovalPending and ApprovalMissing, nil for other reasons.
	Question *ledger.ApprovalRequest `json:"question,omitempty"`
}

// final reports whether the instance, or its node, is gone after the act.
func (a Action) final() bool {
	return a == Terminate || a == DeleteNode || a == DeleteNodeClaim
}

// cordons reports whether the act marks the node unschedulable.
func (a Action) cordons() bool { return a == Cordon || a == Drain }

// replaced reports whether the owner replaces the instance after the act.
func (a Action) replaced() bool { return a == Terminate || a == DeleteNodeClaim }

// OnNode reports whether the act changes the Node object.
func (a Action) OnNode() bool {
	return slices.Contains([]Action{Cordon, Uncordon, Drain, DeleteNode, OutOfService}, a)
}

// Free reports whether the act uses no budget: it gives back what an earlier act took, or releases
// what waits.
func (a Action) Free() bool { return a == Uncordon || a == OutOfService }

// Intent returns the ledger's record of the order's act, begun at a time, without its evidence.
func (o Order) Intent(at time.Time, s *roll.Snapshot) ledger.Action {
	a := ledger.Action{
		ID: o.ID, Do: string(o.Action), Instance: o.Instance, Node: o.Node, Group: o.Group, Kind: o.Kind, At: at, Free: o.Action.Free(),
		Desired: s.Groups[o.Group].Desired, Why: roll.Short(o.Why, ledger.WhyRunes), Since: o.Since.UTC(), Approved: o.Approved,
	}
	if i := s.Instance(o.Instance); i != nil {
		a.Launched = i.Launched
		if o.Action.replaced() {
			a.Outlives = i.Outlives
		}
	}
	return a
}

// Told reports whether the success of the act has its own notice. Cordon and drain are reported
// with what follows them.
func (a Action) Told() bool { return a.final() || a == Reboot }

// orderID returns the id of an order. All orders of one act that follow from one finding have the
// same id. So a second delivery or a second check cannot cause a second act.
func orderID(c roll.ClusterID, f roll.FindingKey, firstSeen time.Time, a Action) string {
	return hash(c.String(), string(f.Instance), string(f.Kind), firstSeen.UTC().Format(time.RFC3339Nano), string(a))
}

// orderID returns the id of the finding's order for an act.
func (p *planner) orderID(f roll.Finding, a Action) string {
	known, _ := p.State.Known(f)
	return orderID(p.Snapshot.Cluster.ID, f.Key(), known.FirstSeen, a)
}

// hash returns a short id of its parts.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:8])
}
