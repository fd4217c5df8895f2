package identity

import (
	"slices"
	"sort"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// otherRole is a role that is mapped for nodes and is not that of the instance.
type otherRole struct{ arn, source, field string }

// controller finds the role of the Karpenter controller among those that are mapped for
// nodes: whoever sets Karpenter up makes two roles, and maps the wrong one. A role with
// Karpenter's name alone may well be that of another pool's nodes; it is the
// controller's if it says so, or if EC2 may not assume it.
func (d *door) controller(r evidence.Role, mode string) (otherRole, bool) {
	if d.Finding.Owner != roll.OwnerKarpenter {
		return otherRole{}, false
	}
	for _, o := range d.others(r, mode) {
		name := strings.ToLower(last(o.arn))
		if !strings.Contains(name, "karpenter") {
			continue
		}
		if strings.Contains(name, "controller") || strings.Contains(name, "irsa") {
			return o, true
		}
		if known := d.Roles[last(o.arn)]; known.Known() && trusts(known.Value.TrustPolicy) == denies && known.Value.TrustPolicy != "" {
			return o, true
		}
	}
	return otherRole{}, false
}

// others are the roles that the enabled stores map for nodes.
func (d *door) others(r evidence.Role, mode string) (out []otherRole) {
	if mode != modeConfigMap {
		for arn, e := range d.Cluster.AccessEntries.Value.Entries {
			if e.Known() && arn != r.ARN && slices.Contains(nodeTypes, e.Value.Type) {
				out = append(out, otherRole{arn, "access entry", "principalArn"})
			}
		}
		sort.Slice(out, func(i, j int) bool { return out[i].arn < out[j].arn })
	}
	if mode != modeAPI && d.Cluster.AwsAuth.Known() {
		for _, m := range d.Cluster.AwsAuth.Value.Roles {
			if m.Effective && slices.Contains(m.Groups, groupNodes) {
				out = append(out, otherRole{m.ARN, "aws-auth", field(m.Index, "rolearn")})
			}
		}
	}
	return out
}
