package trigger

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

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

// EncodeOrder writes an order as a message: its JSON. It refuses one that ParseOrder would
// refuse: better not sent than not understood.
func EncodeOrder(o plan.Order) ([]byte, error) {
	if err := validate(o); err != nil {
		return nil, err
	}
	for _, t := range []*time.Time{&o.FirstSeen, &o.Since, &o.At, &o.Expires} {
		*t = t.UTC()
	}
	o.Why = sendable(o.Why)
	body, err := json.Marshal(o)
	if err == nil && len(body) > MaxBody {
		err = &Malformed{"order", []string{fmt.Sprintf("%d bytes, more than the %d that are read", len(body), MaxBody)}}
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// ParseOrder reads an order as EncodeOrder writes it. It does not judge whether the order is
// to be obeyed, expired or for this account: that is for who carries it out.
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

// validate finds all that is wrong with an order.
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
	oneOf(&f, "action", o.Action, orderActions)
	if needsNode(o.Action) {
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

// oneOf checks a word that must be one of the known ones.
func oneOf[S ~string](f *faults, field string, s S, known []S) {
	if !slices.Contains(known, s) {
		f.add(field, "unknown: %+.40q", s)
	}
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
func OrderGroup(o plan.Order) string { return o.Name }

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
