package network

import (
	"maps"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
)

// securityGroups looks at whether the security groups let the node's HTTPS through to the
// API server (SecurityGroupBlocksApi): out of the instance, and at a private endpoint into
// the cluster's network interfaces. Groups keep state, so answers need no rule.
// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
func (l *look) securityGroups() cause.Verdict {
	a, done := l.toAPI()
	if done != nil {
		return *done
	}
	if a.place == private && len(l.clusterGroups()) == 0 {
		return cause.NotChecked(evidence.AnswerOf + "eks:DescribeCluster lacks the security group of the cluster")
	}
	out, in := l.groupsOut(a.place), result{state: open}
	if a.place == private {
		in = either(l.families(), func(v6 bool) result { return l.through(l.clusterGroups(), false, l.nodePeer(v6)) })
	}
	switch {
	case out.state == closed, out.partial && in.state != closed:
		return l.groupsRefuse(a, out, true)
	case in.state == closed, in.partial:
		return l.groupsRefuse(a, in, false)
	case out.state == unsure:
		return cause.NotChecked(out.gap)
	case in.state == unsure:
		return cause.NotChecked(in.gap)
	}
	return cause.RuledOut
}

// groupsOut is what the instance's groups say about HTTPS to the API server.
func (l *look) groupsOut(to place) result {
	return either(l.families(), func(v6 bool) result {
		if to == private {
			return l.through(l.i.SecurityGroups, true, l.apiPeer(v6))
		}
		return l.through(l.i.SecurityGroups, true, internetPeer("the API server", v6))
	})
}

// groupsRefuse is the cause that the groups stop the node's HTTPS. A proxy would be
// another way, on ports of its own. If HTTPS may not leave to a public address either, it
// does not matter where the API server's name leads.
func (l *look) groupsRefuse(a api, r result, egress bool) cause.Verdict {
	proxied, why := l.proxied()
	if proxied == open {
		return cause.NotChecked(why)
	}
	c := l.blocks(l.explains() && r.state == closed && proxied == closed && (a.sure || egress && l.groupsOut(public).state == closed)).Shows(r.evidence...)
	node, cluster, name, some := strings.Join(l.i.SecurityGroups, ", "), strings.Join(l.clusterGroups(), ", "), l.clusterName(), ""
	if r.state != closed {
		some = " for some of its addresses"
	}
	switch {
	case !egress:
		c.In("security-group/"+l.clusterGroups()[0]).
			Says("the security groups of the API server of %s (%s) let no HTTPS in%s from the instance, which has %s and %s", name, cluster, some, node, l.i.PrivateIP).
			Fix(l.allowIn(l.clusterGroups()))
	case a.place == private:
		c.In("security-group/"+l.i.SecurityGroups[0]).
			Says("the security groups of the instance (%s) let no HTTPS out%s to the API server of %s (%s)", node, some, name, cluster).
			Fix(l.allowOut(toGroup(l.clusterGroups())))
	default:
		c.In("security-group/"+l.i.SecurityGroups[0]).
			Says("the security groups of the instance (%s) let no HTTPS out to the internet, the only way to the API server of %s", node, name).
			Fix(l.allowOut(map[string]any{"IpRanges": []map[string]string{{"CidrIp": "0.0.0.0/0"}}}))
	}
	if r.state != closed {
		c.Saw("EKS cluster", "resourcesVpcConfig.subnetIds", strings.Join(l.k.Subnets, ", "), "subnets that the rules cover")
	}
	return c.Shows(l.silence()...)
}

// allowIn lets HTTPS of the instance into the first of the security groups.
func (l *look) allowIn(groups []string) string {
	return l.AWS("ec2", "authorize-security-group-ingress", "--group-id", first(groups), "--protocol", "tcp", "--port", "443", "--source-group", first(l.i.SecurityGroups))
}

// allowOut lets HTTPS out of the instance's first security group to a destination.
func (l *look) allowOut(to map[string]any) string {
	permission := map[string]any{"IpProtocol": "tcp", "FromPort": https, "ToPort": https}
	maps.Copy(permission, to)
	return l.AWS("ec2", "authorize-security-group-egress", "--group-id", first(l.i.SecurityGroups), "--ip-permissions", paste.JSON([]any{permission}))
}

// toGroup is the first of the security groups as a destination.
func toGroup(groups []string) map[string]any {
	return map[string]any{"UserIdGroupPairs": []map[string]string{{"GroupId": first(groups)}}}
}
