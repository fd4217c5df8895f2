package trigger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

var (
	orderIDForm = pattern.New(`^[0-9a-f]{16}$`)                       // as package plan makes them
	groupForm   = pattern.New(`^(none|(nodepool|nodegroup|asg)/.+)$`) // see roll.Group
	// A DNS subdomain, as the names of Kubernetes objects are:
	// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/.
	claimForm = pattern.New(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

// EncodeOrder returns the message of an order, in JSON. It returns an error for an order
// that ParseOrder would refuse.
func EncodeOrder(o plan.Order) ([]byte, error) {
	if err := validate(o); err != nil {
		return nil, err
	}
	for _, t := range []*time.Time{&o.FirstSeen, &o.Since, &o.At, &o.Expires} {
		*t = t.UTC()
	}
	o.Why = sendable(o.Why)
	body, err := json.Marshal(o)
	if len(body) > MaxBody {
		err = &Malformed{"order", []string{fmt.Sprintf("%d bytes, more than the %d that are read", len(body), MaxBody)}}
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// ParseOrder parses a message of EncodeOrder. Package remediate checks whether the order
// has expired or is for this account.
func ParseOrder(body []byte) (plan.Order, error) {
	var o plan.Order
	if err := decode("order", body, &o); err != nil {
		return plan.Order{}, err
	}
	written, err := EncodeOrder(o)
	if err == nil {
		err = canonical("order", body, written)
	}
	if err != nil {
		return plan.Order{}, err
	}
	return o, nil
}

// validate returns an error that lists everything that is wrong with an order, or nil.
func validate(o plan.Order) error {
	var f faults
	f.form("id", o.ID, orderIDForm, "an order id of 16 hexadecimal digits")
	f.form("account", o.Account, accountForm, "an account of 12 digits")
	f.form("region", o.Region, regionForm, "a region")
	f.form("cluster", o.Name, clusterForm, "a name of an EKS cluster")
	if _, ok := roll.ParseInstanceID(string(o.Instance)); !ok {
		f.add("instance", "%+.40q is not an instance id", o.Instance)
	}
	f.form("group", string(o.Group), groupForm, "a group such as nodegroup/workers")
	oneOf(&f, "owner", o.Owner, roll.Owners())
	oneOf(&f, "kind", o.Kind, roll.Kinds())
	oneOf(&f, "action", o.Action, plan.Actions)
	if o.Action.OnNode() {
		f.given("node", o.Node)
	}
	switch {
	case o.Action == plan.DeleteNodeClaim:
		f.form("claim", o.Claim, claimForm, "a name of a NodeClaim")
	case o.Claim != "":
		f.add("claim", "only for the action %s", plan.DeleteNodeClaim)
	}
	f.moment("firstSeen", o.FirstSeen)
	f.moment("since", o.Since)
	f.moment("at", o.At)
	f.moment("expires", o.Expires)
	if !o.Expires.After(o.At) {
		f.add("expires", "must be after at")
	}
	if o.Incident != "" {
		f.form("incident", o.Incident, orderIDForm, "an incident's id of 16 hexadecimal digits")
	}
	return f.err("order")
}

// oneOf adds a fault if a word is not a known one.
func oneOf[S ~string](f *faults, field string, s S, known []S) {
	if !slices.Contains(known, s) {
		f.add(field, "unknown: %+.40q", s)
	}
}

// sendable replaces characters that SQS refuses. A text may quote a node's conditions,
// which anything on the node can write.
func sendable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		return r
	}, s)
}

// OrderGroup returns the FIFO message group of an order: the cluster, so that its acts come
// one after the other. See Check.Group.
func OrderGroup(o plan.Order) string { return o.Name }

// OrderDeduplicationID returns the deduplication id of an order: its id and the minute in
// which it was given.
//
// A queue drops messages whose id it has seen within five minutes, even after they were
// processed:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html.
// The order's id alone does not suffice. Every check gives the same order with the same id.
// An order that was refused for a passing reason must get through when the next check gives
// it again, at least a minute later. The body does not suffice either: two deliveries of
// one check message give the order at two different seconds. If both get through, at the
// turn of a minute, the ledger still permits only one act.
func OrderDeduplicationID(o plan.Order) string {
	return o.ID + "-" + o.At.UTC().Truncate(time.Minute).Format("20060102T1504Z")
}
