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

// architecture checks for programs of another architecture on the instance. The AMI cannot be
// one: EC2 does not launch an instance whose type does not fit the AMI
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html), so a running
// instance whose AMI agrees rules that out. What remains are programs that user data fetches.
func (b *start) architecture() cause.Verdict {
	config, image := b.Config(), b.Image()
	if f, ok := b.sign(console.ExecFormatError); ok {
		return b.notExecuted(f)
	}
	if !config.Known() {
		return cause.NotChecked(config.Gap())
	}
	if f, ok := b.foreignFetch(); ok {
		return b.given(false, b.fetches(f, "and cannot run it"))
	}
	if gap := b.noArchitecture(); gap != "" {
		return cause.NotChecked(gap)
	}
	own, ami := config.Value.Architecture, image.Value.Architecture
	agrees := ami != "" && ami == own
	refused, ok := b.refusedLaunch()
	switch {
	case agrees && !b.data.Settled():
		return cause.NotChecked(b.data.Gap())
	case agrees:
		return cause.RuledOut
	case ok:
		return cause.Suggestive().In(string(b.Finding.Group)).
			Says("EC2 refused to launch instances of %s because the AMI is not of the instance type's architecture", b.Finding.Group).
			Shows(refused).Fix(b.compare())
	case image.Known():
		return b.inImage().
			Says("%s is %s, but EC2 lists its AMI %s as %s", b.Finding.Instance, own, config.Value.Image, ami).
			Saw("AMI", "Architecture", ami, own).Fix(b.compare())
	case image.State == evidence.Absent:
		return cause.NotChecked("the AMI does not exist any more, or is not shared")
	}
	return cause.NotChecked(image.Gap())
}

// noArchitecture says that the architecture is missing from EC2's answer, which always has it.
// It returns "" if the answer has it, or if there is no answer.
func (b *start) noArchitecture() string {
	if config := b.Config(); !config.Known() || config.Value.Architecture != "" {
		return ""
	}
	return evidence.AnswerOf + "ec2:DescribeInstances lacks the architecture of " + string(b.Finding.Instance)
}

// machine returns the instance's architecture as programs name it, "" if unknown.
func (b *start) machine() string {
	switch a := b.Config().Value.Architecture; a {
	case "x86_64":
		return "amd64"
	case "arm64":
		return a
	}
	return b.log().Arch
}

// foreignFetch returns a program of another architecture that the user data fetches and runs.
// One outside any branch is preferred.
func (b *start) foreignFetch() (userdata.Fetch, bool) {
	own := b.machine()
	out := slices.DeleteFunc(slices.Clone(b.data.Value.Fetches), func(f userdata.Fetch) bool { return own == "" || f.Arch == own })
	if len(out) == 0 {
		return userdata.Fetch{}, false
	}
	slices.SortStableFunc(out, func(a, c userdata.Fetch) int { return roll.TrueFirst(!a.Conditional, !c.Conditional) })
	return out[0], !out[0].Conditional || b.ranIt(out[0])
}

// ranIt reports whether the console shows that the kernel refused that very file.
func (b *start) ranIt(f userdata.Fetch) bool {
	found, ok := b.sign(console.ExecFormatError)
	return ok && f.Name != "" && strings.HasSuffix(found.Detail, "/"+f.Name)
}

// ownPrograms are the AMI's programs without which the instance cannot become a node.
var ownPrograms = []string{"kubelet", "nodeadm", "containerd"}

// notExecuted evaluates the kernel's refusal to run a program. It is proof for a program of the
// other architecture that the user data fetches, and for the AMI's own programs, unless the
// kubelet started anyway.
func (b *start) notExecuted(f console.Found) cause.Verdict {
	harmless := later(b.log(), f.Line, started...)
	if fetch, ok := b.foreignFetch(); ok {
		return b.given(!harmless, b.fetches(fetch, "and the kernel refuses to run it").Shows(cause.Line(f, "programs for "+b.machine())))
	}
	name := f.Detail[strings.LastIndexByte(f.Detail, '/')+1:]
	return b.given(slices.Contains(ownPrograms, name) && !harmless, b.inData().Unsettled(b.noArchitecture()).
		Says("the kernel of %s refused to run %s, which is made for another architecture or is no program", b.Finding.Instance, cmp.Or(f.Detail, "a program")).
		Shows(cause.Line(f, "programs for the instance's architecture")).
		Fix(b.showConsole(), b.compare()))
}

// refusedLaunch returns a launch of the group that EC2 refused because of the architecture:
// "The architecture 'arm64' of the specified instance type does not match the architecture
// 'x86_64' of the specified AMI".
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func (b *start) refusedLaunch() (roll.Evidence, bool) {
	about := func(message string) bool {
		return strings.Contains(message, "architecture") && strings.Contains(message, "does not match")
	}
	g := b.Group()
	for _, a := range g.Activities.Value {
		if a.Status == "Failed" && about(a.Message+a.Description) {
			return roll.Evidence{Source: "scaling activities", Field: roll.Clock(a.At), Observed: a.Message, Expected: "a launch"}, true
		}
	}
	for _, n := range g.NodeClaims.Value {
		if c, ok := n.Condition("Launched"); ok && c.Status != "True" && about(c.Message) {
			return roll.Evidence{Source: "NodeClaim", Field: n.Name + " status.conditions[Launched]", Observed: c.Message, Expected: "True"}, true
		}
	}
	return roll.Evidence{}, false
}

// compare returns the command that shows the architectures.
func (b *start) compare() string {
	i := b.Config().Value
	return paste.Format("aws ec2 describe-images --region %[1]s --image-ids %[2]s --query 'Images[].Architecture'\naws ec2 describe-instance-types --region %[1]s --instance-types %[3]s --query 'InstanceTypes[].ProcessorInfo.SupportedArchitectures'", b.Region, i.Image, i.Type)
}

func (b *start) fetches(f userdata.Fetch, follows string) cause.Verdict {
	name, own := cmp.Or(f.Name, "a program"), b.machine()
	return b.inData().Unsettled(b.noArchitecture()).
		Says("the user data of %s fetches %s for %s, but the instance is %s, %s", b.Finding.Instance, name, f.Arch, own, follows).
		Saw(b.source, f.Part, name+" for "+f.Arch, "a program for "+own).
		Fix(b.change(fmt.Sprintf("fetch the program for %s, or choose it by uname -m", own)))
}
