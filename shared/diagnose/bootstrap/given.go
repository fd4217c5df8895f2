package bootstrap

import (
	"fmt"
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// read are the codes about what user data says; whole those about it as a whole.
var (
	whole = []cause.Code{cause.UserDataEmpty, cause.UserDataTooLarge}
	read  = []cause.Code{
		cause.UserDataWrongFormat, cause.UserDataUnparseable, cause.UserDataClusterMismatch, cause.UserDataMalformedFlags, cause.UserDataPrivateClusterArgs,
	}
)

// userData looks at the user data, from its size to its flags. What is not read on the
// instance at all has no further faults.
func (b *start) userData() {
	d := b.data
	switch {
	case !d.Settled():
		b.s.NotChecked(d.Gap(), slices.Concat(whole, read)...)
		b.removedScript()
		return
	case d.State == evidence.Absent || d.Value.Empty:
		b.s.RuledOut(cause.UserDataTooLarge)
		b.s.RuledOut(read...)
		b.empty()
		return
	case d.Value.Size > userdata.MaxRaw:
		b.tooLarge()
		return
	}
	b.s.RuledOut(cause.UserDataTooLarge)
	b.joinless()
	if b.wrongFormat() || b.unparseable() {
		return
	}
	b.clusterMismatch()
	b.malformedFlags()
	b.privateArgs()
}

// empty judges an instance without user data. None of EKS's AMIs knows by itself which
// cluster to join; another one may. EKS and Karpenter give every instance user data, but
// for launch templates with an AMI of their own and for the AMI family Custom.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-custom-ami
func (b *start) empty() {
	sure := b.os.eks && (b.bare() || b.ownData())
	seen := []roll.Evidence{{Source: b.source, Field: "UserData", Observed: "none", Expected: b.needs()}}
	if b.os.told != "" {
		seen = append(seen, roll.Evidence{Source: b.os.source, Field: b.os.field, Observed: b.os.told, Expected: "an AMI that joins " + b.ClusterID.Name + " without user data"})
	}
	b.given(sure, roll.Cause{
		Code:     cause.UserDataEmpty,
		Summary:  fmt.Sprintf("%s has no user data, so nothing on it knows that it is to join %s", b.Finding.Instance, b.ClusterID.Name),
		Evidence: seen,
		Fix:      b.change("write " + b.needs()),
	})
}

// bare reports whether the launch template is known to name an AMI and to have no user
// data.
func (b *start) bare() bool {
	i := b.Config().Value
	t := b.Templates[i.LaunchTemplate+":"+i.LaunchTemplateVersion]
	return t.Known() && t.Value.Image != "" && !t.Value.HasUserData
}

// ownData reports whether nobody but the person who wrote it gives the instance user data.
func (b *start) ownData() bool {
	g := b.Group()
	switch b.Finding.Owner {
	case roll.OwnerManagedNodeGroup:
		return g.NodeGroup.Known() && g.NodeGroup.Value.AMIType == "CUSTOM"
	case roll.OwnerKarpenter:
		return b.custom()
	}
	return true
}

// custom reports whether the instance is of Karpenter's AMI family Custom, to whose user
// data Karpenter adds nothing. An alias stands for another family.
// https://karpenter.sh/docs/concepts/nodeclasses/#custom
func (b *start) custom() bool {
	n := b.Group().NodeClass
	return n.Known() && n.Value.AMIFamily == "Custom" && n.Value.AMIAlias == ""
}

// joinless tells that user data is there, and that nothing was seen in it that makes a
// node. A script may do so in a way that is not followed, so it is a hint, and of
// PowerShell, which is followed least, not even that.
func (b *start) joinless() {
	d := b.data.Value
	other := slices.ContainsFunc(d.Formats, b.isForeign) || b.os.family == al2023 && slices.Contains(d.Formats, userdata.NodeConfig)
	if b.os.family == "" || b.os.family == windows || len(d.Joins)+len(d.Faults)+len(d.Edits) > 0 || other || b.withoutNodeConfig() {
		if image := b.Image(); b.os.family == "" && !image.Settled() {
			b.s.NotChecked(image.Gap(), cause.UserDataEmpty)
		} else {
			b.s.RuledOut(cause.UserDataEmpty)
		}
		return
	}
	b.given(false, roll.Cause{
		Code:     cause.UserDataEmpty,
		Summary:  fmt.Sprintf("the user data of %s was read, and nothing in it joins %s or any other cluster", b.Finding.Instance, b.ClusterID.Name),
		Evidence: []roll.Evidence{{Source: b.source, Field: "UserData", Observed: "no bootstrap that could be followed", Expected: b.needs()}},
		Fix:      b.change("add " + b.needs()),
	})
}

// tooLarge: EC2 takes 16 KB before base64, and no more.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
func (b *start) tooLarge() {
	b.s.RuledOut(cause.UserDataEmpty)
	b.s.NotChecked("user data above the size that EC2 keeps is not read", read...)
	b.given(true, roll.Cause{
		Code:     cause.UserDataTooLarge,
		Summary:  fmt.Sprintf("the user data of %s has %d bytes, and EC2 takes %d at most", b.Finding.Instance, b.data.Value.Size, userdata.MaxRaw),
		Evidence: []roll.Evidence{{Source: b.source, Field: "UserData", Observed: fmt.Sprintf("%d bytes", b.data.Value.Size), Expected: fmt.Sprintf("at most %d bytes", userdata.MaxRaw)}},
		Fix:      b.change("make it smaller: compress it with gzip where cloud-init, nodeadm or Bottlerocket reads it, or fetch the long parts from S3"),
	})
}

// needs says what user data the system needs.
func (b *start) needs() string {
	name := b.ClusterID.Name
	switch b.os.family {
	case al2, ubuntu:
		return "a shell script that calls /etc/eks/bootstrap.sh " + name
	case al2023:
		return "a NodeConfig (node.eks.aws/v1alpha1) for " + name
	case bottlerocket:
		return "TOML with settings.kubernetes.cluster-name, api-server and cluster-certificate of " + name
	case windows:
		return "<powershell> that calls Start-EKSBootstrap.ps1 -EKSClusterName " + name
	}
	return "user data that joins " + name
}
