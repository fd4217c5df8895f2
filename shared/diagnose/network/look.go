package network

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// look is one look at a finding whose instance was read.
type look struct {
	*evidence.Case
	s *cause.Sheet
	i evidence.InstanceConfig
	k evidence.ClusterConfig // the zero value unless it was read; see clusterRead
}

// state is what is known of a way.
type state uint8

const (
	unsure state = iota
	open
	closed
)

// clusterRead notes the code as not checked unless the cluster was read.
func (l *look) clusterRead(code cause.Code) bool {
	if l.Cluster.Config.Known() {
		if (l.k.PublicAccess || l.k.PrivateAccess) && l.k.VPC != "" { // one way in there always is
			return true
		}
		l.s.NotChecked(evidence.AnswerOf+"eks:DescribeCluster lacks resourcesVpcConfig, or the VPC in it", code)
		return false
	}
	l.s.NotChecked(l.Cluster.Config.Missing("the EKS cluster"), code)
	return false
}

// leaseGrace is how much older than its duration a lease is before the node is taken to
// be silent. The control plane waits 50 s since the last renewal (node-monitor-grace-period).
const leaseGrace = 40 * time.Second

// speaking reports that the kubelet reached the API server just now: it says Ready=False
// itself, since a silent one is set to Unknown, or its lease is fresh.
// https://kubernetes.io/docs/reference/node/node-status/#heartbeats
func (l *look) speaking() bool {
	if l.Finding.Kind == roll.NotReady {
		return true
	}
	lease := l.Node().Lease
	return l.Finding.Kind != roll.Unregistered && lease.Known() && lease.Value.Fresh(l.At)
}

// silent reports that the node's lease ran out, or that it never had one.
func (l *look) silent() bool {
	lease := l.Node().Lease
	return lease.State == evidence.Absent || lease.Known() && !lease.Value.Fresh(l.At.Add(-leaseGrace))
}

// confidence is how sure a closed way to the API server explains the finding.
func (l *look) confidence() roll.Confidence {
	if l.Finding.Kind == roll.Unregistered || l.silent() {
		return roll.Decisive
	}
	return roll.Suggestive
}

// weaker is the confidence, but no more than suggestive unless sure.
func weaker(c roll.Confidence, sure bool) roll.Confidence {
	if !sure {
		return roll.Suggestive
	}
	return c
}

// found notes a cause that closes the way to the API server, with the lease of a node
// that fell silent and what the console says of it. Whether a proxy is the way instead, or
// the node still speaks, is not settled where nobody could read that.
func (l *look) found(c roll.Cause) {
	lease := l.Node().Lease
	if c.Confidence != roll.Decisive {
		proxied, why := l.proxied()
		switch {
		case proxied == unsure:
			c.Unsettled = why
		case l.Finding.Kind == roll.Unknown && !lease.Settled():
			c.Unsettled = lease.Missing("lease of node " + l.Finding.Node)
		}
	}
	if l.Finding.Kind != roll.Unregistered && lease.Known() && l.silent() {
		c.Evidence = append(c.Evidence, roll.Evidence{
			Source: "lease", Field: "spec.renewTime", Observed: lease.Value.Renewed.UTC().Format(time.RFC3339), Expected: "renewed within " + lease.Value.Term().String(),
		})
	}
	if f, ok := l.timedOut(); ok {
		c.Evidence = append(c.Evidence, roll.Evidence{Source: "console", Field: fmt.Sprintf("line %d", f.Line), Observed: f.Excerpt, Expected: "a connection to " + l.host()})
	}
	l.s.Found(c)
}

// timedOut is the console's word of a connection to the API server itself that failed:
// one through a proxy would say so.
func (l *look) timedOut() (console.Found, bool) {
	for _, f := range l.Instance().Console.Value.Found {
		if f.Sign == console.EndpointUnreachable && f.Detail != "" && f.Detail == l.host() && !strings.Contains(f.Excerpt, "proxyconnect") {
			return f, true
		}
	}
	return console.Found{}, false
}

// origin is what an instance's own settings come from, for several that share a wrong
// one: its group, or else its launch template.
func (l *look) origin() string {
	switch {
	case l.Finding.Group != "" && l.Finding.Group != roll.GroupNone:
		return string(l.Finding.Group)
	case l.i.LaunchTemplate != "":
		return "launch-template/" + l.i.LaunchTemplate + ":" + l.i.LaunchTemplateVersion
	}
	return ""
}
