package trigger

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// orderMessage is an order as it travels. Only node and why may be missing.
type orderMessage struct {
	ID        string          `json:"id"`
	Account   string          `json:"account"`
	Region    string          `json:"region"`
	Cluster   string          `json:"cluster"`
	Instance  roll.InstanceID `json:"instance"`
	Node      string          `json:"node,omitempty"`
	Group     roll.Group      `json:"group"`
	Owner     roll.Owner      `json:"owner"`
	Kind      roll.Kind       `json:"kind"`
	Action    plan.Action     `json:"action"`
	FirstSeen string          `json:"firstSeen"`
	Since     string          `json:"since"`
	At        string          `json:"at"`
	Expires   string          `json:"expires"`
	Why       string          `json:"why,omitempty"`
}

var orderFields = []string{
	"id", "account", "region", "cluster", "instance", "node", "group", "owner", "kind", "action", "firstSeen", "since", "at", "expires", "why",
}

var (
	orderIDForm = regexp.MustCompile(`^[0-9a-f]{16}$`)                       // as package plan makes them
	groupForm   = regexp.MustCompile(`^(none|(nodepool|nodegroup|asg)/.+)$`) // see roll.Group
)

// EncodeOrder writes an order as a message. It refuses one that ParseOrder would
// refuse: better not sent than not understood.
func EncodeOrder(o plan.Order) ([]byte, error) {
	body, err := json.Marshal(orderMessage{
		ID: o.ID, Account: o.Cluster.Account, Region: o.Cluster.Region, Cluster: o.Cluster.Name,
		Instance: o.Instance, Node: o.Node, Group: o.Group, Owner: o.Owner, Kind: o.Kind, Action: o.Action,
		FirstSeen: stamp(o.FirstSeen), Since: stamp(o.Since), At: stamp(o.At), Expires: stamp(o.Expires), Why: sendable(o.Why),
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
		Action:    oneOf(o, "action", []plan.Action{plan.Terminate}),
		FirstSeen: o.moment("firstSeen"),
		Since:     o.moment("since"),
		At:        o.moment("at"),
		Expires:   o.moment("expires"),
	}
	order.Node, _ = o.optional("node")
	why, _ := o.optional("why")
	order.Why = sendable(why)
	if !order.At.IsZero() && !order.Expires.IsZero() && !order.Expires.After(order.At) {
		f.add("expires", "must be after at")
	}
	if err := f.err(); err != nil {
		return plan.Order{}, err
	}
	return order, nil
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
