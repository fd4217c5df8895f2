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

// unparseable checks whether the readers on the instance can read the user data. certain
// reports that they certainly cannot.
func (b *start) unparseable() (v cause.Verdict, certain bool) {
	faults, lacks := b.stumbles(), b.missing()
	if f, ok := b.settingsRefused(); ok && len(faults) == 0 {
		return b.given(true, b.inData().
			Says("Bottlerocket rejects the settings in the user data of %s (%s), and then has none of them", b.Finding.Instance, f.Detail).
			Shows(cause.Line(f, "settings that the API takes")).Fix(b.change("correct the setting that the console names"))), b.mate() == ""
	}
	if len(faults) == 0 && lacks == nil {
		return b.readable(), false
	}
	v, incomplete := b.unreadable(faults, lacks), false
	if f, ok := b.sign(console.NodeConfigInvalid, console.NodeConfigMissing); ok && lacks != nil && (incompleteness(f) || lacks.DropIns && f.Sign == console.NodeConfigMissing) && !later(b.log(), f.Line, started...) {
		incomplete = true
		v.Shows(cause.Line(f, "a whole NodeConfig"))
	}
	// A file on a custom AMI may complete a NodeConfig, unless nodeadm says that it is not complete. A bootstrap
	// container may make Bottlerocket's settings
	// (https://github.com/bottlerocket-os/bottlerocket/issues/1647).
	made := b.os.family == bottlerocket && b.data.Value.Opaque || slices.Contains(b.data.Value.Edits, userdata.ChangesNodeadm)
	sure := len(faults) > 0 && b.certain(faults) || lacks != nil && (incomplete || b.os.eks && !b.data.Value.Unread() && !made)
	return b.given(sure, v), sure && b.mate() == ""
}

// incompleteness reports whether nodeadm says that the NodeConfig, with all that completes it,
// lacks a field.
// https://github.com/awslabs/amazon-eks-ami, nodeadm/internal/api/validation.go
func incompleteness(f console.Found) bool {
	return strings.HasSuffix(f.Detail, "is missing in cluster configuration")
}

// readable rules the code out, unless a part was not followed or the reader is unknown.
func (b *start) readable() cause.Verdict {
	if b.os.family == "" {
		return cause.NotChecked(b.os.gap)
	}
	for _, f := range b.data.Value.Faults {
		switch {
		case f.Effect == userdata.Unread:
			return cause.NotChecked("not all of the user data could be followed: " + f.String())
		case f.Effect == userdata.Depends && b.concerns(f):
			return cause.NotChecked(fmt.Sprintf("%s, and whether it is read anyway depends on the version of %s", f, f.By))
		}
	}
	return cause.RuledOut
}

// settingsRefused returns the console line by which Bottlerocket's API, which knows all settings of
// its version, refused those of the user data.
// https://github.com/bottlerocket-os/bottlerocket/tree/develop/sources/api/early-boot-config
func (b *start) settingsRefused() (console.Found, bool) {
	f, ok := b.sign(console.BottlerocketFailed)
	refused := strings.HasPrefix(f.Detail, "early-boot-config: ") && strings.Contains(f.Detail, "PATCHing") && strings.Contains(f.Detail, "Status 4")
	return f, ok && refused && b.os.family == bottlerocket
}

// stumbles returns the faults at which a relevant reader stops.
func (b *start) stumbles() []userdata.Fault {
	var out []userdata.Fault
	for _, f := range b.data.Value.Faults {
		skipped := f.Effect == userdata.Skipped && f.By == userdata.CloudInit
		if b.concerns(f) && (f.Effect == userdata.Fails || skipped || b.noSuchVersion(f)) {
			out = append(out, f)
		}
	}
	return out
}

// concerns reports whether the fault is one of a relevant reader, and of no other code.
func (b *start) concerns(f userdata.Fault) bool {
	elsewhere := f.Format == userdata.Ignition || f.Format == userdata.TalosConfig // of systems without cloud-init
	matters := b.os.family == "" && f.By != userdata.Rollcall && !elsewhere || slices.Contains(b.os.of().readers, f.By)
	other := f.Reason == userdata.EncodedAgain || f.Reason == userdata.Misplaced || f.By == userdata.ByBootstrap || f.Reason == userdata.UnknownParam || f.Reason == userdata.UnclosedFlags
	return matters && !other && (!slices.Contains(userdata.PassedOver, f.Reason) || b.joinsIn(f.Part))
}

// joinsIn reports whether a part of the user data joins, or was meant to.
func (b *start) joinsIn(part string) bool {
	return slices.ContainsFunc(b.data.Value.Joins, func(j userdata.Join) bool { return within(j.Part, part) }) ||
		slices.ContainsFunc(b.data.Value.Traces, func(t userdata.Trace) bool { return t.Part == part })
}

// knownUntil is the last release of EKS's AMIs whose nodeadm was checked. Up to it, nodeadm
// knows NodeConfigs of node.eks.aws/v1alpha1 and of no other version.
// https://github.com/awslabs/amazon-eks-ami/tree/main/nodeadm/api
const knownUntil = "20260731"

var release = regexp.MustCompile(`-v(\d{8})$`)

// noSuchVersion reports whether the AMI's nodeadm does not know the NodeConfig's version, by
// the AMI's release or because nodeadm failed.
func (b *start) noSuchVersion(f userdata.Fault) bool {
	if f.Reason != userdata.WrongKind || f.Effect != userdata.Depends {
		return false
	}
	if b.shows(console.NodeadmFailed, console.NodeConfigMissing, console.NodeConfigInvalid) {
		return true
	}
	m := release.FindStringSubmatch(b.Image().Value.Name)
	return b.os.eks && m != nil && m[1] <= knownUntil
}

// certain reports whether the faults keep the instance from joining: nodeadm and Bottlerocket
// reject the whole for any of them, cloud-init only a part.
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
		// A shell runs what comes before the fault, so the call must come after it.
		return slices.ContainsFunc(faults, func(f userdata.Fault) bool {
			traced := slices.Contains(b.data.Value.Traces, userdata.Trace{Part: f.Part, Tool: userdata.BootstrapScript})
			return f.By == userdata.CloudInit && f.Reason != userdata.NotHandled && !slices.Contains(userdata.PassedOver, f.Reason) || traced
		})
	}
	return false
}

// maxEvidence is how many faults of a kind are shown.
const maxEvidence = 6

// place returns where a fault is.
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

// at returns a field of a part of user data. The whole needs no name besides its source.
func at(part, field string) string {
	if part == "user data" {
		return field
	}
	return part + ", " + field
}

// missing returns the NodeConfig, or the settings, in which a field that joining needs is
// missing, nil if there is none. EKS would have added what it adds.
// https://github.com/awslabs/amazon-eks-ami, nodeadm/internal/api/validation.go
func (b *start) missing() *userdata.Join {
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

// outside says where fields are missing that drop-in files may have.
func outside(j *userdata.Join) string {
	if j.DropIns {
		return " outside of /etc/eks/nodeadm.d"
	}
	return ""
}

func (b *start) unreadable(faults []userdata.Fault, lacks *userdata.Join) cause.Verdict {
	var seen []roll.Evidence
	row := func(field, observed, expected string) {
		seen = append(seen, roll.Evidence{Source: b.source, Field: field, Observed: observed, Expected: expected})
	}
	what, fix := "", ""
	if len(faults) > 0 {
		f := faults[0]
		fix, what = "correct "+f.Faulty(), fmt.Sprintf("%s, so %s stops", f, f.By)
		if f.Effect == userdata.Skipped {
			what = fmt.Sprintf("%s, so %s ignores it", f, f.By)
		}
	}
	for _, f := range faults {
		row(place(f), string(f.Reason), fmt.Sprintf("text that %s can read", f.By))
	}
	for _, t := range b.data.Value.Traces {
		row(t.Part, fmt.Sprintf("names %s, by which it was meant to join", t.Tool), "text that can be read")
	}
	if lacks != nil {
		missing := strings.Join(lacks.Missing, ", ")
		if what == "" {
			what = fmt.Sprintf("%s lacks %s, without which nothing joins", lacks.Part, missing)
			fix = fmt.Sprintf("add what is missing to %s: %s", lacks.Part, missing)
			if lacks.DropIns {
				what = fmt.Sprintf("it has no NodeConfig of its own with %s, and nodeadm stops before it reads the files in /etc/eks/nodeadm.d", missing)
				fix = "add a part of the type application/node.eks.aws, with a NodeConfig that has " + missing
			}
		}
		row(lacks.Part, "no "+strings.Join(lacks.Missing, ", no ")+outside(lacks), "all of them")
	}
	return b.inData().Says("the user data of %s cannot be read: %s", b.Finding.Instance, what).
		Shows(seen[:min(len(seen), maxEvidence)]...).Fix(b.change(fix))
}
