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

// username is the part of a mapping's username that becomes such a name.
func (n naming) username() string {
	if n == byInstanceID {
		return nodeUsers[1]
	}
	return nodeUsers[0]
}

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

// naming is what the user data has the node named after, with what shows it; "" where that is not known: it joins
// in several ways, may not take the one that it has, or gives a name of its own. gap is why it was not read.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/
func (d *door) naming() (name naming, shown roll.Evidence, gap string) {
	data, source := d.UserData()
	if !data.Known() || len(data.Value.Joins) != 1 || len(data.Value.Faults) > 0 {
		return "", roll.Evidence{}, data.Gap()
	}
	j := data.Value.Joins[0]
	switch {
	case j.Conditional, j.Kubelet.HostnameOverride.State != userdata.Absent:
		return "", roll.Evidence{}, data.Gap()
	case j.InstanceIDName && j.Tool == userdata.BottlerocketSettings:
		return byInstanceID, roll.Evidence{Source: source, Field: "settings.kubernetes.hostname-override-source", Observed: "instance-id", Expected: "a username of " + nodeUsers[1]}, ""
	case j.InstanceIDName:
		return byInstanceID, roll.Evidence{Source: source, Field: "spec.featureGates.InstanceIdNodeName", Observed: "true", Expected: "a username of " + nodeUsers[1]}, ""
	}
	return byDNSName, roll.Evidence{Source: source, Field: string(j.Tool), Observed: "nothing names the node after its instance id", Expected: "a username of " + nodeUsers[0]}, ""
}

// namedByID reports that the node, if it is not of Auto Mode, is named after its instance id.
func (d *door) namedByID() bool {
	n, _, _ := d.naming()
	return n == byInstanceID && d.Finding.Owner != roll.OwnerAutoMode
}
