package bootstrap

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// architecture asks whether something on the instance is made for another architecture.
// Its AMI is not: EC2 refuses to launch an instance of a type that the AMI does not fit
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html), so that an
// instance that runs, and whose AMI agrees, has that ruled out. What remains are programs
// that user data fetches.
func (b *start) architecture() {
	config, image, log := b.Config(), b.Image(), b.Instance().Console
	if log.Known() {
		if f, ok := inLastBoot(log.Value, console.ExecFormatError); ok {
			b.notExecuted(f)
			return
		}
	}
	if !config.Known() {
		b.s.NotChecked(config.Gap(), cause.ArchitectureMismatch)
		return
	}
	if f, ok := b.foreignFetch(); ok {
		b.given(false, b.fetchCause(f, nil))
		return
	}
	if gap := b.noArchitecture(); gap != "" {
		b.s.NotChecked(gap, cause.ArchitectureMismatch)
		return
	}
	agrees := image.Known() && image.Value.Architecture != "" && image.Value.Architecture == config.Value.Architecture
	seen, refused := b.refusedLaunch()
	switch {
	case agrees && !b.data.Settled():
		b.s.NotChecked(b.data.Gap(), cause.ArchitectureMismatch)
	case agrees:
		b.s.RuledOut(cause.ArchitectureMismatch)
	case refused:
		b.found(false, roll.Cause{
			Code: cause.ArchitectureMismatch, Subject: string(b.Finding.Group), Evidence: seen,
			Summary: fmt.Sprintf("EC2 refused to launch instances of %s because the AMI is not of the instance type's architecture", b.Finding.Group),
			Fix:     b.compare(),
		})
	case image.Known():
		b.found(false, roll.Cause{
			Code: cause.ArchitectureMismatch, Subject: "ami/" + config.Value.Image,
			Summary:  fmt.Sprintf("%s is %s and its AMI %s is said to be %s", b.Finding.Instance, config.Value.Architecture, config.Value.Image, image.Value.Architecture),
			Evidence: []roll.Evidence{{Source: "AMI", Field: "Architecture", Observed: image.Value.Architecture, Expected: config.Value.Architecture}},
			Fix:      b.compare(),
		})
	case image.State == evidence.Absent:
		b.s.NotChecked("the AMI does not exist any more, or is not shared", cause.ArchitectureMismatch)
	default:
		b.s.NotChecked(image.Gap(), cause.ArchitectureMismatch)
	}
}

// noArchitecture says that EC2's answer lacks the architecture, which it always has; "" if it has it, or
// if there is no answer.
func (b *start) noArchitecture() string {
	if config := b.Config(); !config.Known() || config.Value.Architecture != "" {
		return ""
	}
	return evidence.AnswerOf + "ec2:DescribeInstances lacks the architecture of " + string(b.Finding.Instance)
}

// machine is the instance's architecture as programs name it, "" if not known.
func (b *start) machine() string {
	switch a := b.Config().Value.Architecture; a {
	case "x86_64":
		return "amd64"
	case "arm64":
		return a
	}
	if log := b.Instance().Console; log.Known() {
		return log.Value.Arch
	}
	return ""
}

// foreignFetch is a program of another architecture that the user data fetches and runs;
// one outside of any branch goes first.
func (b *start) foreignFetch() (userdata.Fetch, bool) {
	own := b.machine()
	var out []userdata.Fetch
	for _, f := range b.data.Value.Fetches {
		if own != "" && f.Arch != own {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return userdata.Fetch{}, false
	}
	slices.SortStableFunc(out, func(a, c userdata.Fetch) int { return branch(a) - branch(c) })
	return out[0], !out[0].Conditional || b.ranIt(out[0])
}

func branch(f userdata.Fetch) int {
	if f.Conditional {
		return 1
	}
	return 0
}

// ranIt reports whether the console shows that the kernel refused that very file.
func (b *start) ranIt(f userdata.Fetch) bool {
	log := b.Instance().Console
	if !log.Known() || f.Name == "" {
		return false
	}
	found, ok := inLastBoot(log.Value, console.ExecFormatError)
	return ok && strings.HasSuffix(found.Detail, "/"+f.Name)
}

// ownPrograms are those of the AMI without which no node comes to be.
var ownPrograms = []string{"kubelet", "nodeadm", "containerd"}

// notExecuted judges the kernel's refusal to run a program. It is proof together with a
// program of the other architecture that the user data fetches, and of the AMI's own ones,
// unless the kubelet was started all the same.
func (b *start) notExecuted(f console.Found) {
	harmless := later(b.Instance().Console.Value, f.Line, started...)
	if fetch, ok := b.foreignFetch(); ok {
		b.given(!harmless, b.fetchCause(fetch, consoleEvidence(f, "programs for "+b.machine())))
		return
	}
	name := f.Detail[strings.LastIndexByte(f.Detail, '/')+1:]
	b.given(slices.Contains(ownPrograms, name) && !harmless, roll.Cause{
		Code: cause.ArchitectureMismatch, Unsettled: b.noArchitecture(),
		Summary:  fmt.Sprintf("the kernel of %s refused to run %s, which is made for another architecture or is no program", b.Finding.Instance, orSomething(f.Detail)),
		Evidence: consoleEvidence(f, "programs for the instance's architecture"),
		Fix:      b.showConsole() + "\n" + b.compare(),
	})
}

func orSomething(path string) string {
	if path == "" {
		return "a program"
	}
	return path
}

func (b *start) fetchCause(f userdata.Fetch, seen []roll.Evidence) roll.Cause {
	name := f.Name
	if name == "" {
		name = "a program"
	}
	words := "which it cannot run"
	if seen != nil {
		words = "and the kernel refuses to run it"
	}
	return roll.Cause{
		Code: cause.ArchitectureMismatch, Unsettled: b.noArchitecture(),
		Summary:  fmt.Sprintf("the user data of %s fetches %s for %s, and the instance is %s, %s", b.Finding.Instance, name, f.Arch, b.machine(), words),
		Evidence: append([]roll.Evidence{{Source: b.source, Field: f.Part, Observed: name + " for " + f.Arch, Expected: "a program for " + b.machine()}}, seen...),
		Fix:      b.change(fmt.Sprintf("fetch the program for %s, or choose it by $(uname -m)", b.machine())),
	}
}

// refusedLaunch looks for launches of the group that EC2 refused because of the
// architecture: "The architecture 'arm64' of the specified instance type does not match the
// architecture 'x86_64' of the specified AMI".
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func (b *start) refusedLaunch() ([]roll.Evidence, bool) {
	g := b.Group()
	for _, a := range g.Activities.Value {
		if g.Activities.Known() && a.Status == "Failed" && aboutArchitecture(a.Message+a.Description) {
			return []roll.Evidence{{Source: "scaling activities", Field: roll.Clock(a.At), Observed: a.Message, Expected: "a launch"}}, true
		}
	}
	for _, n := range g.NodeClaims.Value {
		c, ok := n.Condition("Launched")
		if g.NodeClaims.Known() && ok && c.Status != "True" && aboutArchitecture(c.Message) {
			return []roll.Evidence{{Source: "NodeClaim", Field: n.Name + " status.conditions[Launched]", Observed: c.Message, Expected: "True"}}, true
		}
	}
	return nil, false
}

func aboutArchitecture(message string) bool {
	return strings.Contains(message, "architecture") && strings.Contains(message, "does not match")
}

// compare is how a person sees the architectures.
func (b *start) compare() string {
	i := b.Config().Value
	return fmt.Sprintf("aws ec2 describe-images --region %[1]s --image-ids %[2]s --query 'Images[].Architecture'\naws ec2 describe-instance-types --region %[1]s --instance-types %[3]s --query 'InstanceTypes[].ProcessorInfo.SupportedArchitectures'", b.Region, i.Image, i.Type)
}
