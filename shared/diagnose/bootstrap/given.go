package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// read are the codes about the content of user data; whole are those about user data as a
// whole.
var (
	whole = []cause.Code{cause.UserDataEmpty, cause.UserDataTooLarge}
	read  = []cause.Code{
		cause.UserDataWrongFormat, cause.UserDataUnparseable, cause.UserDataClusterMismatch, cause.UserDataMalformedFlags, cause.UserDataPrivateClusterArgs,
	}
)

// userData checks the user data, from its size to its flags. User data that nothing on the
// instance reads has no further faults.
func (b *start) userData() {
	d := b.data
	switch {
	case !d.Settled():
		b.NotChecked(d.Gap(), slices.Concat(whole, read)...)
		b.Note(cause.UserDataWrongFormat, b.removedScript())
		return
	case d.State == evidence.Absent || d.Value.Empty:
		b.RuledOut(cause.UserDataTooLarge)
		b.RuledOut(read...)
		b.Note(cause.UserDataEmpty, b.empty())
		return
	case d.Value.Size > userdata.MaxRaw:
		b.RuledOut(cause.UserDataEmpty)
		b.NotChecked("user data above the size that EC2 keeps is not read", read...)
		b.Note(cause.UserDataTooLarge, b.tooLarge())
		return
	}
	b.RuledOut(cause.UserDataTooLarge)
	b.Note(cause.UserDataEmpty, b.joinless())
	format, certain := b.wrongFormat()
	b.Note(cause.UserDataWrongFormat, format)
	if certain {
		return
	}
	unparseable, certain := b.unparseable()
	b.Note(cause.UserDataUnparseable, unparseable)
	if certain {
		return
	}
	b.Note(cause.UserDataClusterMismatch, b.clusterMismatch())
	b.Note(cause.UserDataMalformedFlags, b.malformedFlags())
	b.Note(cause.UserDataPrivateClusterArgs, b.privateArgs())
}

// empty evaluates an instance without user data. None of EKS's AMIs knows by itself which
// cluster to join; another AMI may, and then starts to join, which the console shows. EKS and
// Karpenter give every instance user data, except for launch templates with a custom AMI and for the
// AMI family Custom.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-custom-ami
func (b *start) empty() cause.Verdict {
	v := b.inData().
		Says("%s has no user data, so nothing on it knows that it is to join %s", b.Finding.Instance, b.ClusterID.Name).
		Saw(b.source, "UserData", "none", b.needs()).
		Fix(b.change("write " + b.needs()))
	if b.os.told != "" {
		v.Saw(b.os.source, b.os.field, b.os.told, "an AMI that joins "+b.ClusterID.Name+" without user data")
	}
	f, failed := b.unconfigured()
	if failed {
		v.Shows(cause.Line(f, "a NodeConfig that nodeadm finds"))
	}
	sure := (b.os.eks || failed) && (b.bare() || b.ownData()) || b.leftToOwner()
	if !sure && b.Config().Value.LaunchTemplate != "" && b.ownData() {
		v = v.Unsettled(b.template().Gap())
	}
	return b.given(sure, v)
}

// leftToOwner reports whether EKS, or Karpenter, leaves all user data of an AMI of one's own to the
// person who made it, and the console was read and does not show that the AMI joins by itself.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-custom-ami
func (b *start) leftToOwner() bool {
	t := b.template()
	asked := b.Finding.Owner == roll.OwnerManagedNodeGroup && t.Known() && !t.Value.HasUserData || b.Finding.Owner == roll.OwnerKarpenter
	return asked && b.ownData() && b.Instance().Console.Settled() && !slices.ContainsFunc(traces, b.log().Has)
}

// unconfigured returns the console line by which nodeadm, which another AMI may give its
// NodeConfig, found none. It looks for that before it calls any service: the failure of one
// means that it got further.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/
func (b *start) unconfigured() (console.Found, bool) {
	f, ok := b.sign(console.NodeConfigMissing)
	if !ok {
		f, ok = b.sign(console.NodeadmFailed)
		ok = ok && f.From == "" && (withoutUserData(f.Detail) || f.Detail == configUnit && !b.shows(console.AccessDenied, console.APIRetries, console.IMDSFailed, console.NodeConfigInvalid))
	}
	return f, ok && b.os.family == al2023 && !later(b.log(), f.Line, started...)
}

// withoutUserData reports whether nodeadm failed because the instance metadata service has no user data:
// it answers 404 then.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
func withoutUserData(failure string) bool {
	return strings.Contains(failure, "ec2imds: GetUserData") && strings.Contains(failure, "StatusCode: 404")
}

// configUnit is the unit in which nodeadm reads its NodeConfig.
const configUnit = "nodeadm-config.service"

// bare reports whether the launch template is known to name an AMI and to have no user data.
func (b *start) bare() bool {
	t := b.template()
	return t.Value.Image != "" && !t.Value.HasUserData
}

// template returns the launch template version of the instance.
func (b *start) template() evidence.Fact[evidence.LaunchTemplate] {
	i := b.Config().Value
	return b.Templates[i.LaunchTemplate+":"+i.LaunchTemplateVersion]
}

// ownData reports whether the instance only has user data that a person wrote.
func (b *start) ownData() bool {
	g := b.Group()
	switch b.Finding.Owner {
	case roll.OwnerManagedNodeGroup:
		return g.NodeGroup.Value.AMIType == "CUSTOM"
	case roll.OwnerKarpenter:
		return b.custom()
	}
	return true
}

// custom reports whether the instance is of Karpenter's AMI family Custom, to whose user data
// Karpenter adds nothing. An alias implies another family.
// https://karpenter.sh/docs/concepts/nodeclasses/#custom
func (b *start) custom() bool {
	n := b.Group().NodeClass
	return n.Value.AMIFamily == "Custom" && n.Value.AMIAlias == ""
}

// joinless says that there is user data and that nothing in it was seen to join a cluster. A
// script may join in a way that is not followed, so it is a hint. For PowerShell, which is
// followed least, it is not even that.
func (b *start) joinless() cause.Verdict {
	d := b.data.Value
	other := slices.ContainsFunc(d.Formats, b.isForeign) || b.os.family == al2023 && slices.Contains(d.Formats, userdata.NodeConfig)
	if b.os.family == "" && !b.Image().Settled() {
		return cause.NotChecked(b.Image().Gap())
	}
	if b.Finding.Owner == roll.OwnerClusterAPI {
		return cause.NotChecked("what joins the instance may be in a secret that Cluster API's user data fetches, and is not read")
	}
	if b.os.family == "" || b.os.family == windows || len(d.Joins)+len(d.Faults)+len(d.Edits) > 0 || other || b.withoutNodeConfig() {
		return cause.RuledOut
	}
	return b.given(false, b.inData().
		Says("the user data of %s was read, and nothing in it joins %s or any other cluster", b.Finding.Instance, b.ClusterID.Name).
		Saw(b.source, "UserData", "no bootstrap that could be followed", b.needs()).
		Fix(b.change("add "+b.needs())))
}

// tooLarge checks the size: EC2 accepts 16 KB before base64.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
func (b *start) tooLarge() cause.Verdict {
	size := b.data.Value.Size
	return b.given(true, b.inData().
		Says("the user data of %s has %d bytes, and EC2 takes %d at most", b.Finding.Instance, size, userdata.MaxRaw).
		Saw(b.source, "UserData", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d bytes", userdata.MaxRaw)).
		Fix(b.change("make it smaller: compress it with gzip where cloud-init, nodeadm or Bottlerocket reads it, or fetch the long parts from S3")))
}

// needs returns what user data the system needs.
func (b *start) needs() string {
	return cmp.Or(b.os.of().needs, "user data that joins ") + paste.Word(b.ClusterID.Name)
}
