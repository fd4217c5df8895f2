package identity

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/iam"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// otherRole is a role mapped for nodes that is not the instance's.
type otherRole struct {
	arn, source, field string
	// by is the evidence that the role is a controller's, the strongest first.
	by []roll.Evidence
	// sure is the strength of that evidence; 0 means not recognized.
	sure sureness
	// karpenter reports whether the evidence points to Karpenter, not only to some pods.
	karpenter bool
	account   string // whose pods assume it, "" if unknown
	nodes     bool   // it is a node's, as far as is known
	gap       string // why its owner is unknown, "" if it is known
}

// sureness is how a role was recognized as a controller's, the weakest first.
type sureness uint8

const (
	byName     sureness = iota + 1
	byPolicies          // it launches instances, and EC2 may not assume it
	byTrust             // pods may assume it, and EC2 may not
	byAccount           // Karpenter's own service account names it
)

// namesTold is how many roles mapped for nodes a cause names.
const namesTold = 5

// others returns the other roles that the enabled stores map for nodes, and why some could not
// be classified. Roles of Fargate and of nodes outside EC2 are left out.
func (d *door) others(mode string) (out []otherRole, gap string) {
	if mode != modeConfigMap {
		unread := 0
		for _, arn := range d.Cluster.AccessEntries.Value.Principals {
			e := d.Cluster.AccessEntries.Value.Entries[arn]
			switch {
			case !strings.Contains(arn, ":role/"), strings.Contains(arn, ":role/aws-"):
			case !e.Known():
				unread++
			case strings.HasPrefix(e.Value.Type, "EC2"):
				out = append(out, otherRole{arn: arn, source: "access entry", field: "principalArn"})
			}
		}
		if unread > 0 {
			gap = fmt.Sprintf("of %d access entries it was not read whether they are nodes'", unread)
		}
		slices.SortFunc(out, func(a, b otherRole) int { return strings.Compare(a.arn, b.arn) })
	}
	if mode != modeAPI {
		for _, m := range d.Cluster.AwsAuth.Value.Roles {
			if m.Effective && (slices.Contains(m.Groups, groupNodes) || slices.Contains(m.Groups, groupBootstrappers)) && !slices.Contains(m.Groups, groupFargate) {
				out = append(out, otherRole{arn: m.ARN, source: "aws-auth", field: field(m.Index, "rolearn")})
			}
		}
	}
	if d.Finding.Owner != roll.OwnerKarpenter {
		return out, "" // nobody mapped a controller's role in place of theirs
	}
	for i := range out {
		d.recognize(&out[i])
		if out[i].gap != "" {
			gap = out[i].gap
		}
	}
	return out, gap
}

// groupFargate is a group that only Fargate nodes have.
// https://docs.aws.amazon.com/eks/latest/userguide/fargate-getting-started.html
const groupFargate = "system:node-proxier"

// recognize checks whether the role is a controller's. A Karpenter setup creates two roles,
// with any names, and the wrong one may get mapped. Karpenter's service account names its own
// role. Otherwise the trust policy decides, then the permissions, then the name. A role that
// EC2 may assume is a node's, whatever its name and policies.
// https://karpenter.sh/docs/reference/cloudformation/
func (d *door) recognize(o *otherRole) {
	name := roll.LastPart(o.arn)
	for _, a := range d.Cluster.Controllers.Value {
		if sameRole(a.RoleARN, o.arn) {
			o.is(byAccount, true, roll.Evidence{Source: "service account", Field: a.Namespace + "/" + a.Name + " eks.amazonaws.com/role-arn", Observed: a.RoleARN, Expected: "a role that no node is mapped by"})
		}
	}
	role := d.Roles[name]
	if !strings.Contains(o.arn, ":"+d.ClusterID.Account+":") {
		role = evidence.Skipped[evidence.Role](name + " is a role of another account")
	}
	trust, who := trusts(role.Value.TrustPolicy, accountOf(role.Value.ARN)), readAssumers(role.Value.TrustPolicy)
	o.nodes = trust == allows || who.fargate || d.ofNodes(name)
	if o.nodes {
		return
	}
	if who.pods != "" && trust == denies {
		o.account = who.account
		o.is(byTrust, strings.Contains(strings.ToLower(who.account), "karpenter"), roll.Evidence{Source: "role " + name, Field: "AssumeRolePolicyDocument", Observed: who.pods, Expected: "sts:AssumeRole by ec2.amazonaws.com, if it were a node's"})
	}
	documents := d.Documents[name]
	if names := launches(documents.Value); names != "" {
		o.is(byPolicies, true, roll.Evidence{Source: "role " + name, Field: "policies", Observed: names + " allow it to launch instances and to give them roles", Expected: "what a node needs"})
	}
	if named(name, trust) {
		o.is(byName, true, roll.Evidence{Source: "role " + name, Field: "RoleName", Observed: name, Expected: "another name than a controller's; this is the weakest evidence"})
	}
	switch {
	case !role.Known():
		o.gap = role.Missing("the role " + name)
	case documents.Why != "":
		o.gap = documents.Why
	case d.Cluster.Controllers.State == evidence.Unreadable:
		o.gap = d.Cluster.Controllers.Gap()
	default:
		o.gap = "it is unknown whose role " + name + " is, which is mapped for nodes"
	}
}

// is records that the role is a controller's.
func (o *otherRole) is(sure sureness, karpenter bool, by roll.Evidence) {
	o.by = append(o.by, by)
	o.sure = max(o.sure, sure)
	o.karpenter = o.karpenter || karpenter
}

// ofNodes reports whether instances are known to have the role or to be launched with it.
func (d *door) ofNodes(name string) bool {
	for _, p := range d.Profiles {
		if slices.Contains(p.Value.Roles, name) {
			return true
		}
	}
	for _, g := range d.Groups {
		if g.NodeClass.Value.Role == name || roll.LastPart(g.NodeGroup.Value.RoleARN) == name {
			return true
		}
	}
	return false
}

// named reports whether a controller's role may have the name. Where EC2 may not assume the
// role, Karpenter's name is enough.
func named(name string, trust verdict) bool {
	name = strings.ToLower(name)
	if !strings.Contains(name, "karpenter") {
		return false
	}
	return trust == denies || !strings.Contains(name, "node") && (strings.Contains(name, "controller") || strings.Contains(name, "irsa"))
}

// launches names the policies that let a role launch instances and pass them a role, as
// Karpenter's controller must. It returns "" if they do not allow both. An administrator's
// policy, which allows everything, is no sign of a controller.
func launches(documents []evidence.PolicyDocument) string {
	var launch, pass []string
	for _, doc := range documents {
		statements, err := iam.Statements[statement](doc.Text)
		if err != nil {
			continue
		}
		for _, st := range statements {
			if !strings.EqualFold(st.Effect, "Allow") {
				continue
			}
			if st.names("ec2:RunInstances") || st.names("ec2:CreateFleet") {
				launch = append(launch, roll.LastPart(doc.Name))
			}
			if st.names("iam:PassRole") {
				pass = append(pass, roll.LastPart(doc.Name))
			}
		}
	}
	if len(launch) == 0 || len(pass) == 0 {
		return ""
	}
	all := append(launch, pass...)
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// names reports whether one of the statement's actions is in the action's service and matches
// it; case does not count.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_action.html
func (s statement) names(action string) bool {
	action = strings.ToLower(action)
	service, _, _ := strings.Cut(action, ":")
	return slices.ContainsFunc(s.Action, func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		return strings.HasPrefix(pattern, service+":") && iam.Matches(pattern, action)
	})
}

// controllers returns the role that is most certainly a controller's.
func controllers(others []otherRole) (found otherRole, ok bool) {
	for _, o := range others {
		if o.sure > found.sure {
			found = o
		}
	}
	return found, found.sure > 0
}

// whose describes the role's owner for a person.
func (o otherRole) whose() string {
	pods := ""
	if o.account != "" {
		pods = ", service account " + o.account
	}
	switch {
	case o.sure == byName:
		return "by its name the role of the Karpenter controller"
	case o.karpenter:
		return "the role of the Karpenter controller" + pods
	}
	return "a role that pods assume" + pods
}

// mapping returns where a store maps the role, as evidence.
func (o otherRole) mapping(own evidence.Role) roll.Evidence {
	return roll.Evidence{Source: o.source, Field: o.field, Observed: o.arn, Expected: own.ARN}
}

// mappings returns the roles mapped for nodes as evidence, those that are not known to be a
// node's first.
func mappings(others []otherRole, own evidence.Role) (out []roll.Evidence) {
	slices.SortStableFunc(others, func(a, b otherRole) int { return roll.TrueFirst(!a.nodes, !b.nodes) })
	for i, o := range others {
		e := o.mapping(own)
		switch {
		case i == namesTold:
			e.Observed = fmt.Sprintf("%d further roles are mapped for nodes", len(others)-i)
			return append(out, e)
		case o.nodes:
			e.Observed += ", the role of other nodes"
		}
		out = append(out, e)
	}
	return out
}

// inPlace names, for a summary, the roles that may be mapped in place of the nodes' own.
func inPlace(others []otherRole) string {
	var names []string
	for _, o := range others {
		if o.gap != "" {
			names = append(names, roll.LastPart(o.arn))
		}
	}
	switch n := len(names); {
	case n == 0:
		return ""
	case n > namesTold:
		names = append(names[:namesTold], fmt.Sprintf("%d more", n-namesTold))
	}
	return "; mapped for nodes, and it is unknown whose roles they are: " + strings.Join(names, ", ")
}
