package network

import (
	"fmt"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// securityGroups asks whether the security groups let the node's HTTPS through to the
// API server (SecurityGroupBlocksApi): out of the instance, and at a private endpoint
// into the cluster's network interfaces. Groups keep state, so answers need no rule.
// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
func (l *look) securityGroups() {
	const code = cause.SecurityGroupBlocksApi
	a, ok := l.path(code)
	if !ok {
		return
	}
	if a.place == private && len(l.clusterGroups()) == 0 {
		l.s.NotChecked(evidence.AnswerOf+"eks:DescribeCluster lacks the security group of the cluster", code)
		return
	}
	out, in := l.groupsOut(a.place), result{state: open}
	if a.place == private {
		in = either(l.families(), func(v6 bool) result { return l.through(l.clusterGroups(), false, l.nodePeer(v6)) })
	}
	switch {
	case out.state == closed, out.partial && in.state != closed:
		l.groupsRefuse(a, out, true)
	case in.state == closed, in.partial:
		l.groupsRefuse(a, in, false)
	case out.state == unsure:
		l.s.NotChecked(out.gap, code)
	case in.state == unsure:
		l.s.NotChecked(in.gap, code)
	default:
		l.s.RuledOut(code)
	}
}

// groupsOut is what the instance's groups say of HTTPS to the API server.
func (l *look) groupsOut(to place) result {
	return either(l.families(), func(v6 bool) result {
		if to == private {
			return l.through(l.i.SecurityGroups, true, l.apiPeer(v6))
		}
		return l.through(l.i.SecurityGroups, true, internetPeer("the API server", v6))
	})
}

// groupsRefuse notes that the groups stop the node's HTTPS. A proxy would take another
// way, on ports of its own.
func (l *look) groupsRefuse(a api, r result, egress bool) {
	proxied, why := l.proxied()
	if proxied == open {
		l.s.NotChecked(why, cause.SecurityGroupBlocksApi)
		return
	}
	sure := r.state == closed && proxied == closed && (a.sure || egress && l.groupsCloseOutside())
	c := roll.Cause{Code: cause.SecurityGroupBlocksApi, Confidence: weaker(l.confidence(), sure), Evidence: r.evidence}
	node, cluster := strings.Join(l.i.SecurityGroups, ", "), strings.Join(l.clusterGroups(), ", ")
	some := ""
	if r.state != closed {
		some = " for some of its addresses"
	}
	switch {
	case !egress:
		c.Subject = "security-group/" + l.clusterGroups()[0]
		c.Summary = fmt.Sprintf("the security groups of the API server of %s (%s) let no HTTPS in%s from the instance, which has %s and %s", l.clusterName(), cluster, some, node, l.i.PrivateIP)
		c.Fix = l.aws("ec2", "authorize-security-group-ingress", "--group-id", l.clusterGroups()[0], "--protocol", "tcp", "--port", "443", "--source-group", l.i.SecurityGroups[0])
	case a.place == private:
		c.Subject = "security-group/" + l.i.SecurityGroups[0]
		c.Summary = fmt.Sprintf("the security groups of the instance (%s) let no HTTPS out%s to the API server of %s (%s)", node, some, l.clusterName(), cluster)
		c.Fix = l.allowOut(map[string]any{"UserIdGroupPairs": []map[string]string{{"GroupId": first(l.clusterGroups())}}})
	default:
		c.Subject = "security-group/" + l.i.SecurityGroups[0]
		c.Summary = fmt.Sprintf("the security groups of the instance (%s) let no HTTPS out to the internet, where alone the API server of %s is reached", node, l.clusterName())
		c.Fix = l.allowOut(map[string]any{"IpRanges": []map[string]string{{"CidrIp": "0.0.0.0/0"}}})
	}
	if r.state != closed {
		c.Evidence = append(c.Evidence, roll.Evidence{Source: "EKS cluster", Field: "resourcesVpcConfig.subnetIds", Observed: strings.Join(l.k.Subnets, ", "), Expected: "subnets that the rules cover"})
	}
	l.found(c)
}

// groupsCloseOutside: HTTPS may not leave to a public address either, so that it does
// not matter which addresses the API server's name leads to.
func (l *look) groupsCloseOutside() bool { return l.groupsOut(public).state == closed }

// allowOut lets HTTPS out of the instance's first security group to a destination.
func (l *look) allowOut(to map[string]any) string {
	permission := map[string]any{"IpProtocol": "tcp", "FromPort": https, "ToPort": https}
	for k, v := range to {
		permission[k] = v
	}
	return l.aws("ec2", "authorize-security-group-egress", "--group-id", first(l.i.SecurityGroups), "--ip-permissions", jsonText([]any{permission}))
}

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
