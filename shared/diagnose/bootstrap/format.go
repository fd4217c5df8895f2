package bootstrap

import (
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// wrongFormat checks whether the user data is written for another system than the instance
// runs. certain reports that nothing reads it.
func (b *start) wrongFormat() (v cause.Verdict, certain bool) {
	d := b.data.Value
	if b.os.family == "" {
		return cause.NotChecked(b.os.gap), false
	}
	observed, wrong := b.misfit()
	switch image, group := b.Image(), b.Group().NodeGroup; {
	case !wrong && !image.Settled():
		return cause.NotChecked(image.Gap()), false // EKS's tools may be on it
	case !wrong && group.State == evidence.Unreadable:
		return cause.NotChecked(group.Gap()), false // EKS may add to it
	case !wrong:
		return cause.RuledOut, false
	}
	// What was not followed may have the right form, and an AMI without any of EKS's tools reads no
	// form at all.
	sure := !d.Unread() && (!slices.Contains(d.Formats, userdata.NodeConfig) || b.withoutNodeadm()) && !b.toolless() && !b.ownScript() && !b.scriptBroke()
	return b.given(sure, b.inData().
		Says("%s runs %s, which reads %s, and its user data holds %s", b.Finding.Instance, b.os.of().title, b.os.of().reads, observed).
		Saw(b.source, "UserData", observed, b.os.of().reads).
		Saw(b.os.source, b.os.field, b.os.told, "a system that reads such user data").
		Fix(b.describe(), b.change("write "+b.needs()))), sure && b.mate() == ""
}

// withoutNodeadm reports whether the system has no nodeadm, and no script may have brought one.
// AWS publishes none for Ubuntu, whose images for EKS, by Canonical, have bootstrap.sh instead. Since
// anyone can put one on an image, the console must show that cloud-init passed the NodeConfig over and
// that the boot ended without a trace of nodeadm.
// https://github.com/eksctl-io/eksctl/tree/main/pkg/nodebootstrap, ubuntu.go
func (b *start) withoutNodeadm() bool {
	switch {
	case b.os.family != al2 && b.os.family != ubuntu:
		return true
	case !b.data.Known() || b.data.Value.Unread() || b.data.Value.Opaque || b.data.Value.Uses(userdata.NodeadmCommand) || b.shows(console.NodeadmRan, console.NodeadmDone, console.NodeadmFailed):
		return false
	case b.os.family == al2:
		return true
	}
	_, ignored := b.log().InLastBoot(func(f console.Found) bool { return f.Sign == console.UserDataIgnored && ofNodeadm(f) })
	end, ended := b.sign(console.BootFinished)
	return ignored && b.os.source == "AMI" && ended && end.From == "" && !b.log().Truncated
}

// ofNodeadm reports whether cloud-init skipped a part that is for nodeadm.
func ofNodeadm(f console.Found) bool { return strings.Contains(f.Detail, "node.eks.aws") }

// toolless reports whether only the console shows the system and that bootstrap.sh is missing:
// EKS's AL2023 has one that says that it was removed.
func (b *start) toolless() bool { return b.os.source == "console" && b.shows(console.BootstrapMissing) }

// ownScript reports whether the image may have a bootstrap.sh of its own: only its console shows
// that it runs Amazon Linux 2023, and neither does the script say there that it was removed, nor
// nodeadm that it found no NodeConfig. Its author may have added one, to reuse older user data.
func (b *start) ownScript() bool {
	_, unconfigured := b.unconfigured()
	return b.os.source == "console" && b.os.family == al2023 && b.data.Value.Uses(userdata.BootstrapScript) && !unconfigured && !b.shows(console.BootstrapRemoved)
}

// scriptBroke reports whether a script that runs more than the user data holds failed, or has not ended: it may be
// what was to join. nodeadm-config.service, which then finds no NodeConfig, runs before all scripts, and some of them
// make a NodeConfig and run nodeadm on it.
// https://github.com/awslabs/amazon-eks-ami/issues/2124
func (b *start) scriptBroke() bool {
	d := b.data.Value
	return b.os.family == al2023 && d.Opaque && len(d.Joins) == 0 && b.shows(console.UserScriptFailed, console.JobRuns)
}

// misfit returns what the user data contains instead of what the system reads.
func (b *start) misfit() (observed string, wrong bool) {
	d := b.data.Value
	switch {
	case b.encodedTwice():
		return "base64 within the base64 that EC2 undoes", true
	case len(b.ofSystem()) > 0:
		return "", false
	case b.os.family == bottlerocket && slices.ContainsFunc(d.Formats, b.isForeign):
		return b.foreignForms(), true
	case slices.Contains(d.Formats, userdata.NodeConfig) && b.os.family == al2023:
		if f, ok := b.fault(userdata.Misplaced, userdata.ByNodeadm); ok {
			return "a NodeConfig in " + f.Part + ", which is no MIME part of the type application/node.eks.aws: nodeadm ignores it", true
		}
		return "", false // it is there; nodeadm may still fail to read it
	case d.Uses(userdata.BootstrapScript) && b.os.family == al2023:
		return "only a call of /etc/eks/bootstrap.sh, which was removed there", true
	case b.withoutNodeConfig():
		return "no NodeConfig, only " + joinForms(d.Formats), true
	case b.os.family == windows && len(d.Formats) == 1 && d.Formats[0] == userdata.Unknown:
		return "a text without <powershell> tags, outside of which EC2Launch runs nothing", true
	case slices.ContainsFunc(d.Formats, b.isForeign) && !slices.Contains(d.Edits, userdata.RestartsKubelet):
		return b.foreignForms(), true
	}
	return "", false
}

// withoutNodeConfig reports whether the user data was followed as a whole and has nothing for
// nodeadm, on an AMI that joins only by nodeadm: one of EKS, or one on which nodeadm says that it
// found nothing. Scripts that run something outside the user data may write a NodeConfig; if
// nodeadm found none, they do not.
func (b *start) withoutNodeConfig() bool {
	d := b.data.Value
	_, unconfigured := b.unconfigured()
	if b.os.family != al2023 || !b.os.eks && !unconfigured || !b.bare() && !b.ownData() || len(d.Joins)+len(d.Edits)+len(d.Faults) > 0 || len(d.Formats) == 0 || len(d.Traces) > 0 {
		return false
	}
	if slices.ContainsFunc(d.Formats, func(f userdata.Format) bool { return !slices.Contains(followed, f) }) {
		return false
	}
	return !d.Opaque || unconfigured
}

// followed are the forms of user data whose commands are followed.
var followed = []userdata.Format{userdata.Shell, userdata.CloudConfig, userdata.Multipart, userdata.Archive}

// joinForms names forms of user data.
func joinForms(forms []userdata.Format) string {
	return strings.Join(roll.Map(forms, func(f userdata.Format) string { return formName[f] }), " and ")
}

// formName names the forms of user data.
var formName = map[userdata.Format]string{
	userdata.Shell: "a shell script", userdata.CloudConfig: "a cloud-config", userdata.Archive: "a cloud-config archive",
	userdata.Multipart: "a MIME document", userdata.NodeConfig: "a NodeConfig", userdata.Bottlerocket: "TOML settings for Bottlerocket",
	userdata.PowerShell: "PowerShell", userdata.Include: "addresses to include", userdata.Ignition: "Ignition's JSON", userdata.TalosConfig: "a configuration of Talos",
}

// ofSystem returns the ways of joining that exist on the system, run or not. Bottlerocket reads
// nothing except TOML as a whole.
func (b *start) ofSystem() []userdata.Join {
	return slices.DeleteFunc(slices.Clone(b.data.Value.Joins), func(j userdata.Join) bool {
		return !b.os.fits(j.Tool) || b.os.family == bottlerocket && j.Part != "user data"
	})
}

func (b *start) isForeign(f userdata.Format) bool { return slices.Contains(b.os.of().foreign, f) }

func (b *start) foreignForms() string {
	return joinForms(slices.DeleteFunc(slices.Clone(b.data.Value.Formats), func(f userdata.Format) bool { return !b.isForeign(f) }))
}

// fault finds a fault with this reason for this reader.
func (b *start) fault(why userdata.Reason, by userdata.Reader) (userdata.Fault, bool) {
	return roll.Find(b.data.Value.Faults, func(f userdata.Fault) bool { return f.Reason == why && f.By == by })
}

// encodedTwice reports whether what EC2 returns is still base64 and the system does not decode
// it: nodeadm does, cloud-init from 23.3 on, Bottlerocket and EC2Launch do not.
func (b *start) encodedTwice() bool {
	if !b.data.Value.EncodedTwice {
		return false
	}
	if b.os.family == bottlerocket || b.os.family == windows {
		return true
	}
	f, ok := b.fault(userdata.EncodedAgain, userdata.CloudInit)
	return ok && b.os.family == al2 && b.stops(f)
}

// removedScript evaluates what only the console shows: a call of bootstrap.sh where it no
// longer exists. The user data is unknown, so a NodeConfig may accompany the call; if nodeadm
// found none, there is none.
// https://github.com/awslabs/amazon-eks-ami, templates/al2023/runtime/rootfs/etc/eks/bootstrap.sh
func (b *start) removedScript() cause.Verdict {
	f, ok := b.sign(console.BootstrapRemoved)
	if !ok {
		return cause.Verdict{}
	}
	return b.given(b.shows(console.NodeConfigMissing), b.inData().
		Says("the user data of %s calls /etc/eks/bootstrap.sh, which Amazon Linux 2023 does not have: it reads %s", b.Finding.Instance, families[al2023].reads).
		Shows(cause.Line(f, "no call of bootstrap.sh")).
		Fix(b.describe(), b.change("write a NodeConfig (node.eks.aws/v1alpha1) for "+paste.Word(b.ClusterID.Name))))
}
