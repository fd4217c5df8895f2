// Package bootstrap looks for what keeps an instance from becoming a node by itself: its user
// data, its AMI, and what its console shows about both.
//
// The user data of an instance is complete: EKS has merged its own part into that of managed node
// groups without a custom AMI, and Karpenter its part into that of all AMI families except Custom.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
// https://karpenter.sh/docs/concepts/nodeclasses/#specuserdata
//
// For a node that registered, only taints, the flags that set them, the family of its address, the kubelet's
// version, the configuration with which its container manager does not start, and the certificate authorities
// that a silent kubelet trusts matter. While an instance of the same launch template version works, causes in user
// data are only suggestive.
//
// The package is pure.
package bootstrap

import (
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// rules lists the rules for each kind of finding, besides the user data of an unregistered
// instance.
var rules = map[roll.Kind]cause.Rules[*start]{
	roll.Unregistered: {
		cause.UserDataTaintConflict: (*start).taintConflict, cause.StartupTaintMissing: (*start).startupTaint,
		cause.AmiWithoutKubernetes: (*start).withoutKubernetes, cause.ArchitectureMismatch: (*start).architecture,
		cause.KubeletVersionSkew: (*start).skew, cause.AmiFamilyUnsupported: (*start).unsupported,
		cause.NodeadmFailed: (*start).nodeadm, cause.CloudInitFailed: (*start).cloudInit,
	},
	roll.Uninitialized: {
		cause.UserDataMalformedFlags: (*start).registeredFlags, cause.UserDataTaintConflict: (*start).taintConflict,
		cause.StartupTaintMissing: (*start).startupTaint, cause.KubeletVersionSkew: (*start).skew, cause.CloudInitFailed: (*start).unstarted,
	},
	roll.NotReady: {cause.KubeletVersionSkew: (*start).skew},
	roll.Unknown:  {cause.UserDataClusterMismatch: (*start).silenced},
}

// Analyze notes what it finds about the bootstrap of the case's instance. EKS Auto Mode's user
// data and AMI are AWS's own.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Owner == roll.OwnerAutoMode {
		return
	}
	b := &start{Look: cause.Look{Case: c, Sheet: s}, os: readSystem(c)}
	b.data, b.source = c.UserData()
	if c.Finding.Kind == roll.Unregistered {
		b.userData()
	}
	rules[c.Finding.Kind].Apply(s, b)
}

// start is how an instance is meant to become a node.
type start struct {
	cause.Look
	data   evidence.Fact[userdata.Boot]
	source string // of data
	os     system
}

// given returns a cause that lies in the instance's user data or AMI. It is not decisive for an
// instance that is checked alone, whose healthy siblings are unknown.
func (b *start) given(sure bool, v cause.Verdict) cause.Verdict {
	return b.unlessOthersWork(sure && !b.Alone, v)
}

// mate returns a healthy instance of the same launch template version, "" if none is known.
func (b *start) mate() roll.InstanceID {
	i := b.Config().Value
	if i.LaunchTemplate == "" || i.LaunchTemplateVersion == "" {
		return ""
	}
	return b.healthy(func(m evidence.Member) bool {
		return m.LaunchTemplate == i.LaunchTemplate && m.LaunchTemplateVersion == i.LaunchTemplateVersion
	})
}

// unlessOthersWork makes a cause suggestive if a healthy instance comes from the same launch
// template version.
func (b *start) unlessOthersWork(sure bool, v cause.Verdict) cause.Verdict {
	if mate := b.mate(); mate != "" {
		sure = false
		v.Saw("launch template", "version", string(mate)+" comes from the same one and is healthy", "no node that works with it")
	}
	return v.DecisiveIf(sure)
}

// healthy returns another healthy instance of the group that matches, "" if there is none.
func (b *start) healthy(such func(evidence.Member) bool) roll.InstanceID {
	for _, m := range b.Group().Members {
		if m.Healthy && m.Instance != b.Finding.Instance && such(m) {
			return m.Instance
		}
	}
	return ""
}

// inData returns a verdict with a cause that lies where the user data comes from.
func (b *start) inData() cause.Verdict {
	i := b.Config().Value
	switch {
	case b.Finding.Owner == roll.OwnerKarpenter && i.NodeClass != "":
		return cause.Suggestive().In("nodeclass/" + i.NodeClass)
	case i.LaunchTemplate != "":
		return cause.Suggestive().In(b.LaunchTemplate())
	case b.data.Value.SHA256 != "":
		return cause.Suggestive().In("user-data/" + b.data.Value.SHA256)
	}
	return cause.Suggestive() // the instance was launched without an owner
}

// inImage returns a verdict with a cause that lies in the AMI.
func (b *start) inImage() cause.Verdict {
	return cause.Suggestive().In("ami/" + b.Config().Value.Image)
}
