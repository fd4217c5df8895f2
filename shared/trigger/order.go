package trigger

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// orderMessage is an order as it travels. Why may be missing, node where the act needs
// none, and claim but for the one act that needs it.
type orderMessage struct {
	ID        string          `json:"id"`
	Account   string          `json:"account"`
	Region    string          `json:"region"`
	Cluster   string          `json:"cluster"`
	Instance  roll.InstanceID `json:"instance"`
	Node      string          `json:"node,omitempty"`
	Claim     string          `json:"claim,omitempty"`
	Group     roll.Group      `json:"group"`
	Owner     roll.Owner      `json:"owner"`
	Kind      roll.Kind       `json:"kind"`
	Action    plan.Action     `json:"action"`
	FirstSeen string          `json:"firstSeen"`
	Since     string          `json:"since"`
	At        string          `json:"at"`
	Expires   string          `json:"expires"`
	Why       string          `json:"why,omitempty"`
	Incident  string          `json:"incident,omitempty"`
}

var orderFields = []string{
	"id", "account", "region", "cluster", "instance", "node", "claim", "group", "owner", "kind", "action", "firstSeen", "since", "at", "expires", "why", "incident",
}

var (
	orderIDForm = regexp.MustCompile(`^[0-9a-f]{16}$`)                       // as package plan makes them
	groupForm   = regexp.MustCompile(`^(none|(nodepool|nodegroup|asg)/.+)$`) // see roll.Group
	// A DNS subdomain, as the names of Kubernetes objects are:
	// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/.
	claimForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

// orderActions are the acts that can be ordered.
var orderActions = []plan.Action{plan.Cordon, plan.Uncordon, plan.Drain, plan.Reboot, plan.DeleteNode, plan.DeleteNodeClaim, plan.OutOfService, plan.Terminate}

// needsNode reports the acts that are done to a Node object: without its name nobody
// knows which one was meant.
func needsNode(a plan.Action) bool {
	switch a {
	case plan.Cordon, plan.Uncordon, plan.Drain, plan.DeleteNode, plan.OutOfService:
		return true
	}
	return false
}

// EncodeOrder writes an order as a message. It refuses one that ParseOrder would
// refuse: better not sent than not understood.
func EncodeOrder(o plan.Order) ([]byte, error) {
	body, err := json.Marshal(orderMessage{
		ID: o.ID, Account: o.Cluster.Account, Region: o.Cluster.Region, Cluster: o.Cluster.Name,
		Instance: o.Instance, Node: o.Node, Claim: o.Claim, Group: o.Group, Owner: o.Owner, Kind: o.Kind, Action: o.Action,
		FirstSeen: stamp(o.FirstSeen), Since: stamp(o.Since), At: stamp(o.At), Expires: stamp(o.Expires), Why: sendable(o.Why), Incident: o.Incident,
	})
	if err != nil {
		return nil, err
	}
	if _, err := ParseOrder(body); err != nil {
		return nil, err
	}
	return body, nil
}

// stamp writes a time to the nanosecond, and one that was not set as "".
func stamp(t time.Time) string {
	if !sensible(t) {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// ParseOrder reads an order. It does not judge whether the order is to be obeyed,
// expired or for this account: that is for who carries it out.
func ParseOrder(body []byte) (plan.Order, error) {
	f := &faults{what: "order"}
	o, ok := parse(f, body)
	if !ok {
		return plan.Order{}, f.err()
	}
	o.only(orderFields...)
	order := plan.Order{
		ID: o.match("id", orderIDForm, "an order id of 16 hexadecimal digits"),
		Cluster: roll.ClusterID{
			Account: o.match("account", accountForm, "an account of 12 digits"),
			Region:  o.match("region", regionForm, "a region"),
			Name:    o.match("cluster", clusterForm, "a name of an EKS cluster"),
		},
		Instance:  o.instance("instance"),
		Group:     roll.Group(o.match("group", groupForm, "a group such as nodegroup/workers")),
		Owner:     oneOf(o, "owner", roll.Owners()),
		Kind:      oneOf(o, "kind", roll.Kinds()),
		Action:    oneOf(o, "action", orderActions),
		FirstSeen: o.moment("firstSeen"),
		Since:     o.moment("since"),
		At:        o.moment("at"),
		Expires:   o.moment("expires"),
	}
	order.Node, order.Claim = o.subject(order.Action)
	why, _ := o.optional("why")
	order.Why = sendable(why)
	if _, told := o.fields["incident"]; told {
		order.Incident = o.match("incident", orderIDForm, "an incident's id of 16 hexadecimal digits")
	}
	if !order.At.IsZero() && !order.Expires.IsZero() && !order.Expires.After(order.At) {
		f.add("expires", "must be after at")
	}
	if err := f.err(); err != nil {
		return plan.Order{}, err
	}
	return order, nil
}

// subject reads what in Kubernetes an act is done to: the node's name, which other acts
// may tell too, and the NodeClaim's, which no other act has any use for.
func (o object) subject(a plan.Action) (node, claim string) {
	if needsNode(a) {
		node, _ = o.text("node")
	} else {
		node, _ = o.optional("node")
	}
	_, told := o.fields["claim"]
	switch {
	case a == plan.DeleteNodeClaim:
		claim = o.match("claim", claimForm, "a name of a NodeClaim")
	case told && slices.Contains(orderActions, a): // of an unknown action nobody can say
		o.faults.add(o.prefix+"claim", "only for the action %s", plan.DeleteNodeClaim)
	}
	return node, claim
}

// sendable replaces what no SQS message may contain. A sentence can hold words of a
// node's conditions, which anything that runs on the node may have written.
func sendable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		return r
	}, s)
}

// OrderGroup is the FIFO message group of an order: the cluster, so that its acts
// come one after the other. See Check.Group.
func OrderGroup(o plan.Order) string { return o.Cluster.Name }

// OrderDeduplicationID is what an order is told by in its queue: its id and the
// minute in which it was given.
//
// A queue drops what it has seen within five minutes, also after that was worked
// off: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html.
// The id alone would not do. It stands for the finding, so every check that comes to
// the same order gives it the same id; and an order that was refused for a passing
// reason (the tag was not visible yet, the target could not be read) must get
// through when the next check, a minute later at the earliest, gives it again. The
// body would not do either: two deliveries of one check message give the order at
// two different seconds. Should both get through, at a turn of the minute, the
// ledger still lets one act.
func OrderDeduplicationID(o plan.Order) string {
	return o.ID + "-" + o.At.UTC().Truncate(time.Minute).Format("20060102T1504Z")
}
