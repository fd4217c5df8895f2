package bootstrap

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// readers are those by whom a system learns which cluster to join. Shell scripts are run
// as far as they parse, so a fault of theirs proves nothing.
var readers = map[string][]userdata.Reader{
	al2:          {userdata.CloudInit, userdata.ByShell},
	ubuntu:       {userdata.CloudInit, userdata.ByShell},
	al2023:       {userdata.ByNodeadm},
	bottlerocket: {userdata.ByBottlerocket},
	windows:      {userdata.ByWindowsScript},
}

// unparseable asks whether those who read the user data on the instance can. It reports
// whether it is certain that they cannot.
func (b *start) unparseable() bool {
	faults := b.stumbles()
	lacks := b.lacks()
	if len(faults) == 0 && lacks == nil {
		b.readable()
		return false
	}
	// A NodeConfig may be completed by a file that an AMI of one's own holds.
	sure := len(faults) > 0 && b.certain(faults) || lacks != nil && b.os.family == al2023 && b.os.eks && !b.data.Value.Unread()
	b.given(sure, b.parseCause(faults, lacks))
	return sure && b.mate() == ""
}

// readable rules the code out, unless a part was not followed, or nobody knows what reads
// it.
func (b *start) readable() {
	if b.os.family == "" {
		b.s.NotChecked(b.os.gap, cause.UserDataUnparseable)
		return
	}
	for _, f := range b.data.Value.Faults {
		if f.Effect == userdata.Unread {
			b.s.NotChecked("not all of the user data could be followed: "+f.String(), cause.UserDataUnparseable)
			return
		}
	}
	b.s.RuledOut(cause.UserDataUnparseable)
}

// stumbles are the faults over which a reader that matters stops.
func (b *start) stumbles() []userdata.Fault {
	var out []userdata.Fault
	for _, f := range b.data.Value.Faults {
		matters := b.os.family == "" && f.By != userdata.Rollcall || slices.Contains(readers[b.os.family], f.By)
		about := f.Reason == userdata.EncodedAgain || f.Reason == userdata.Misplaced || f.By == userdata.ByBootstrap || f.Reason == userdata.UnknownParam
		skipped := f.Effect == userdata.Skipped && f.By == userdata.CloudInit
		if matters && !about && (f.Effect == userdata.Fails || skipped || b.noSuchVersion(f)) {
			out = append(out, f)
		}
	}
	return out
}

// knownUntil is the last release of EKS's AMIs whose nodeadm was looked at: up to it nodeadm
// knows NodeConfigs of node.eks.aws/v1alpha1 and of no other version.
// https://github.com/awslabs/amazon-eks-ami/tree/main/nodeadm/api
const knownUntil = "20260731"

var release = regexp.MustCompile(`-v(\d{8})$`)

// noSuchVersion reports a NodeConfig of a version that the AMI's nodeadm does not know: by the
// AMI's release, or because nodeadm failed.
func (b *start) noSuchVersion(f userdata.Fault) bool {
	if f.Reason != userdata.WrongKind || f.Effect != userdata.Depends {
		return false
	}
	if log := b.Instance().Console; log.Known() {
		if _, failed := inLastBoot(log.Value, console.NodeadmFailed, console.NodeConfigMissing, console.NodeConfigInvalid); failed {
			return true
		}
	}
	m := release.FindStringSubmatch(b.Image().Value.Name)
	return b.os.eks && m != nil && m[1] <= knownUntil
}

// certain reports whether the faults keep the instance from joining: nodeadm and
// Bottlerocket give the whole up for any of them, cloud-init only a part.
func (b *start) certain(faults []userdata.Fault) bool {
	switch b.os.family {
	case al2023:
		return !slices.ContainsFunc(b.joins(), func(j userdata.Join) bool { return j.Tool != userdata.Nodeadm })
	case bottlerocket:
		return true
	case al2, ubuntu:
		if len(b.joins()) > 0 || b.data.Value.Unread() {
			return false
		}
		// A shell runs what stands before the fault, so the call must stand behind it.
		return slices.ContainsFunc(faults, func(f userdata.Fault) bool {
			return f.By == userdata.CloudInit || f.By == userdata.ByShell && slices.Contains(b.data.Value.Traces, userdata.Trace{Part: f.Part, Tool: userdata.BootstrapScript})
		})
	}
	return false
}

// lacks is the NodeConfig, or the settings, without a field that joining needs; nil if all
// is there. EKS would have added it if it were to.
// https://github.com/awslabs/amazon-eks-ami, nodeadm/internal/api/validation.go
func (b *start) lacks() *userdata.Join {
	if b.os.family != al2023 && b.os.family != bottlerocket {
		return nil
	}
	var incomplete *userdata.Join
	for _, j := range b.joins() {
		if len(j.Missing) == 0 {
			return nil
		}
		incomplete = &j
	}
	return incomplete
}

func (b *start) parseCause(faults []userdata.Fault, lacks *userdata.Join) roll.Cause {
	var seen []roll.Evidence
	what, mend := "", ""
	for _, f := range faults {
		if what == "" {
			mend = "mend " + f.Faulty()
			what = fmt.Sprintf("%s, for which %s gives it up", f, f.By)
			if f.Effect == userdata.Skipped {
				what = fmt.Sprintf("%s, for which %s passes it over", f, f.By)
			}
		}
		seen = append(seen, roll.Evidence{Source: b.source, Field: place(f), Observed: string(f.Reason), Expected: fmt.Sprintf("text that %s can read", f.By)})
	}
	for _, t := range b.data.Value.Traces {
		seen = append(seen, roll.Evidence{Source: b.source, Field: t.Part, Observed: fmt.Sprintf("names %s, by which it was meant to join", t.Tool), Expected: "text that can be read"})
	}
	if lacks != nil {
		if what == "" {
			what = fmt.Sprintf("%s lacks %s, without which nothing joins", lacks.Part, strings.Join(lacks.Missing, ", "))
			mend = fmt.Sprintf("add to %s what it lacks: %s", lacks.Part, strings.Join(lacks.Missing, ", "))
		}
		seen = append(seen, roll.Evidence{Source: b.source, Field: lacks.Part, Observed: "no " + strings.Join(lacks.Missing, ", no "), Expected: "all of them"})
	}
	return roll.Cause{
		Code:     cause.UserDataUnparseable,
		Summary:  fmt.Sprintf("the user data of %s cannot be read: %s", b.Finding.Instance, what),
		Evidence: seen[:min(len(seen), maxEvidence)],
		Fix:      b.change(mend),
	}
}

// maxEvidence is how many faults of a kind are shown.
const maxEvidence = 6

// place is where a fault stands.
func place(f userdata.Fault) string {
	text := f.Part
	if f.Line > 0 {
		text += fmt.Sprintf(", line %d", f.Line)
	}
	if f.Field != "" {
		text += ", " + f.Field
	}
	return text
}

// at is a field of a part of user data; the whole need not be named beside its source.
func at(part, field string) string {
	if part == "user data" {
		return field
	}
	return part + ", " + field
}
