// Package bootstrap looks for what keeps an instance from becoming a node by itself: its
// user data, its AMI, and what its console says of both.
//
// User data is judged as the instance holds it. EKS merges its own part into that of
// managed node groups without an AMI of their own, and Karpenter into that of all AMI
// families but Custom, so what the instance holds is whole.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
// https://karpenter.sh/docs/concepts/nodeclasses/#specuserdata
//
// A node that registered has been through all of this, so the codes are about instances
// that did not; only taints, the flags that give them, and the kubelet's version matter
// beyond. What an instance of
// the same launch template and version works with proves nothing against another: such a
// cause is a hint at most.
//
// The package is pure.
package bootstrap

import (
	"fmt"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// Analyze notes what it finds about the bootstrap of the case's instance. The user data
// and the AMI of EKS Auto Mode are AWS's own.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Owner == roll.OwnerAutoMode {
		return
	}
	b := newStart(c, s)
	switch c.Finding.Kind {
	case roll.Unregistered:
		b.userData()
		b.taintConflict()
		b.startupTaint()
		b.withoutKubernetes()
		b.architecture()
		b.skew()
		b.unsupported()
		b.nodeadm()
		b.cloudInit()
	case roll.Uninitialized:
		b.registeredFlags()
		b.taintConflict()
		b.startupTaint()
		b.skew()
	case roll.NotReady:
		b.skew()
	}
}

// start is how an instance was to become a node.
type start struct {
	*evidence.Case
	s      *cause.Sheet
	data   evidence.Fact[userdata.Boot]
	source string // of data
	os     system
}

func newStart(c *evidence.Case, s *cause.Sheet) *start {
	b := &start{Case: c, s: s}
	b.data, b.source = c.UserData()
	b.os = readSystem(c)
	return b
}

// found notes a cause: decisive if it is sure.
func (b *start) found(sure bool, c roll.Cause) {
	c.Confidence = roll.Suggestive
	if sure {
		c.Confidence = roll.Decisive
	}
	b.s.Found(c)
}

// given notes a cause that lies in what the instance was given: its user data or AMI.
func (b *start) given(sure bool, c roll.Cause) {
	if c.Subject == "" {
		c.Subject = b.subject()
	}
	if b.Alone && c.Code != cause.UserDataClusterMismatch {
		sure = false // whether others like it work was not looked at; what may be another cluster's is left alone all the same
	}
	if mate := b.mate(); mate != "" {
		sure = false
		c.Evidence = append(c.Evidence, roll.Evidence{
			Source: "launch template", Field: "version", Observed: fmt.Sprintf("%s comes from the same one and is healthy", mate), Expected: "no node that works with it",
		})
	}
	b.found(sure, c)
}

// mate is a healthy instance of the same version of the same launch template, "" if none
// is known.
func (b *start) mate() roll.InstanceID {
	i := b.Config().Value
	if i.LaunchTemplate == "" || i.LaunchTemplateVersion == "" {
		return ""
	}
	for _, m := range b.Group().Members {
		if m.Healthy && m.Instance != b.Finding.Instance && m.LaunchTemplate == i.LaunchTemplate && m.LaunchTemplateVersion == i.LaunchTemplateVersion {
			return m.Instance
		}
	}
	return ""
}

// subject is where the user data comes from.
func (b *start) subject() string {
	i := b.Config().Value
	switch {
	case b.Finding.Owner == roll.OwnerKarpenter && i.NodeClass != "":
		return "nodeclass/" + i.NodeClass
	case i.LaunchTemplate != "":
		return "launch-template/" + i.LaunchTemplate + ":" + i.LaunchTemplateVersion
	case b.data.Value.SHA256 != "":
		return "user-data/" + b.data.Value.SHA256
	}
	return "" // the instance was launched by itself
}
