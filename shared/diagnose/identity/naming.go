package identity

import (
	"slices"
	"strings"

	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// naming is what a node is named after: the name under which it registers must be the one in its username,
// else the API server refuses it.
// https://kubernetes.io/docs/reference/access-authn-authz/node/
type naming string

const (
	byDNSName    naming = "private DNS name"
	byInstanceID naming = "instance id"
)

// usernameNaming is which name a username becomes, "" if neither. The session of an instance is named after its id.
func usernameNaming(user string) naming {
	switch name := strings.TrimPrefix(user, userPrefix); {
	case name == nodeUsers[0]:
		return byDNSName
	case slices.Contains(nodeUsers[1:], name):
		return byInstanceID
	}
	return ""
}

// naming is what the user data names the node after, with what shows it; "" if that is not
// known: it joins in several ways, may not take the one that it has, or gives a name of its
// own. gap is why it was not read.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/
func (d *door) naming() (name naming, shown roll.Evidence, gap string) {
	data, source := d.UserData()
	if !data.Known() || len(data.Value.Joins) != 1 || len(data.Value.Faults) > 0 {
		return "", roll.Evidence{}, data.Gap()
	}
	j := data.Value.Joins[0]
	row := func(user, field, observed string) roll.Evidence {
		return roll.Evidence{Source: source, Field: field, Observed: observed, Expected: "a username of " + user}
	}
	switch {
	case j.Conditional, j.Kubelet.HostnameOverride.State != userdata.Absent:
		return "", roll.Evidence{}, ""
	case j.InstanceIDName && j.Tool == userdata.BottlerocketSettings:
		return byInstanceID, row(nodeUsers[1], "settings.kubernetes.hostname-override-source", "instance-id"), ""
	case j.InstanceIDName:
		return byInstanceID, row(nodeUsers[1], "spec.featureGates.InstanceIdNodeName", "true"), ""
	}
	return byDNSName, row(nodeUsers[0], string(j.Tool), "nothing names the node after its instance id"), ""
}

// namedByID reports that the node, if it is not of Auto Mode, is named after its instance id.
func (d *door) namedByID() bool {
	n, _, _ := d.naming()
	return n == byInstanceID && d.Finding.Owner != roll.OwnerAutoMode
}

// username is the username of a mapping that lets the node in, by what the node is named
// after. Most are named after their private DNS name.
func (d *door) username() string {
	if n, _, _ := d.naming(); n == byInstanceID {
		return userPrefix + nodeUsers[1]
	}
	return userPrefix + nodeUsers[0]
}
