package console

import (
	"fmt"
	"strconv"
	"strings"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// unit is a systemd unit that matters to a node.
type unit struct {
	name string
	sign Sign // if it fails
	// descriptions are those in the unit files of the AMIs, of old and new versions.
	descriptions []string
}

var units = []unit{
	{"nodeadm-config.service", NodeadmFailed, []string{"EKS Nodeadm Config"}},
	{"nodeadm-run.service", NodeadmFailed, []string{"EKS Nodeadm Run"}},
	{bootHookUnit, NodeadmFailed, []string{"EKS Nodeadm Boot Hook"}},
	{"kubelet.service", KubeletFailed, []string{"Kubernetes Kubelet", "Kubelet"}},
	{"snap.kubelet-eks.daemon.service", KubeletFailed, []string{"Service for snap application kubelet-eks.daemon"}},
	{"containerd.service", ContainerdFailed, []string{"containerd container runtime"}},
	{"systemd-networkd-wait-online.service", NetworkFailed, []string{"Wait for Network to be Configured"}},
	{"generate-network-config.service", NetworkFailed, []string{"Generate network configuration"}},
	{"cloud-init-main.service", CloudInitFailed, []string{"Cloud-init: Single Process"}}, // runs all stages, from cloud-init 24.3 on
	{"cloud-init-local.service", CloudInitFailed, []string{
		"Cloud-init: Local Stage (pre-network)", "Initial cloud-init job (pre-networking)",
	}},
	{"cloud-init.service", CloudInitFailed, []string{"Initial cloud-init job (metadata service crawler)"}},
	{"cloud-init-network.service", CloudInitFailed, []string{"Cloud-init: Network Stage"}},
	{"cloud-config.service", CloudInitFailed, []string{
		"Cloud-init: Config Stage", "Apply the settings specified in cloud-config",
	}},
	{"cloud-final.service", CloudInitFailed, []string{"Cloud-init: Final Stage", "Execute cloud user/final scripts"}},
	{"migrator.service", BottlerocketFailed, []string{"Bottlerocket data store migrator"}},
	{"storewolf.service", BottlerocketFailed, []string{"Datastore creator"}},
	{"apiserver.service", BottlerocketFailed, []string{"Bottlerocket API server"}},
	{"early-boot-config.service", BottlerocketFailed, []string{"Bottlerocket userdata configuration system"}},
	{"sundog.service", BottlerocketFailed, []string{"User-specified setting generators"}},
	{"pluto.service", BottlerocketFailed, []string{"Generate additional settings for Kubernetes"}},
	{"settings-applier.service", BottlerocketFailed, []string{"Applies settings to create config files"}},
	{"bootstrap-commands.service", BottlerocketFailed, []string{"Bootstrap Commands"}},
}

// What systemd prints about units: "[FAILED] Failed to start ..." on the console itself
// (src/core/job.c, unit.c of https://github.com/systemd/systemd), or "systemd[1]: Failed to start
// ..." if its journal goes there.

// runs matches "[ ***  ] (1 of 2) A start job is running for Execute cloud user/final scripts (12min 3s
// / no limit)" and "Job cloud-final.service/start running (1h 2min 3s / no limit)".
var runs = pattern.New(`^\[[ *]+\] (?:\(\d+ of \d+\) )?(?:A start job is running for (.*?)|Job (\S+)/start running) \((?:(\d+)h )?(?:(\d+)min )?`)

// waits is the number of minutes for which a job runs if it is to be a sign.
const waits = 10

func jobRuns(s segment) (Sign, string) {
	m := runs.FindStringSubmatch(s.message)
	if m == nil || s.tag != "" {
		return "", ""
	}
	hours, _ := strconv.Atoi(m[3])
	minutes, _ := strconv.Atoi(m[4])
	minutes += 60 * hours
	u, ok := identify(m[1] + m[2])
	if !ok || minutes < waits {
		return "", ""
	}
	return JobRuns, fmt.Sprintf("%s: %d", u.name, minutes)
}

// gate matches what Bottlerocket starts one after the other before the kubelet. Each requires the
// one before, and units such as early-boot-config.service and those of the drivers. All of them need
// /var, the only place that can be written, on the data volume.
// https://github.com/bottlerocket-os/bottlerocket-core-kit, packages/release/*.target, activate-*.service
var gate = pattern.New(`^(?:Bottlerocket .*configuration complete|(?:Isolates|Activate) (?:preconfigured|configured|multi-user)\.target|Driver units|(?:Prepare )?Var Directory \(/var\))$`)

// dependencyFailed recognizes "[DEPEND] Dependency failed for kubelet.service - Kubernetes Kubelet.".
func dependencyFailed(printed string, u unit, known bool) (Sign, string) {
	if known {
		return DependencyFailed, u.name
	}
	if _, description, both := strings.Cut(printed, " - "); both {
		printed = description
	}
	if gate.MatchString(printed) {
		return DependencyFailed, printed
	}
	return "", ""
}

// identify returns the unit that systemd means. systemd prints the name, the description or both,
// and omits the middle if that is too long for the terminal.
func identify(printed string) (unit, bool) {
	if name, ok := strings.CutPrefix(printed, "bootstrap container "); ok {
		return unit{name: "bootstrap-containers@" + name + ".service", sign: BottlerocketFailed}, true
	}
	for _, u := range units {
		if after, ok := strings.CutPrefix(printed, u.name); ok && (after == "" || strings.HasPrefix(after, " - ")) {
			return u, true
		}
		for _, d := range u.descriptions {
			// The name before it may have been shortened by an ellipsis that was lost.
			before, ok := strings.CutSuffix(printed, d)
			if ok && (before == "" || len(d) >= fewest && strings.HasSuffix(before, " - ")) {
				return u, true
			}
		}
	}
	return shortenedUnit(printed)
}

// fewest is the minimum number of characters left of a shortened name.
const fewest = 12

// shortenedUnit returns the only unit that a name with an ellipsis can mean. The ellipsis may have
// been decoded as Latin-1.
func shortenedUnit(printed string) (unit, bool) {
	var head, tail string
	ok := false
	for _, ellipsis := range []string{"…", "â¦", "..."} {
		if head, tail, ok = strings.Cut(printed, ellipsis); ok {
			break
		}
	}
	if !ok || len(head)+len(tail) < fewest {
		return unit{}, false
	}
	var found []unit
	for _, u := range units {
		for _, d := range u.descriptions {
			if fits(d, head, tail) || fits(u.name+" - "+d, head, tail) {
				found = append(found, u)
				break
			}
		}
	}
	if len(found) != 1 {
		return unit{}, false
	}
	return found[0], true
}

func fits(full, head, tail string) bool {
	return len(full) >= len(head)+len(tail) && strings.HasPrefix(full, head) && strings.HasSuffix(full, tail)
}

// fromSystemd returns the text after a phrase, if systemd wrote it: with its mark in brackets,
// anywhere in a line, or in its journal.
func fromSystemd(s segment, mark, phrase string) (string, bool) {
	if s.tag == "systemd" {
		return strings.CutPrefix(s.message, phrase)
	}
	if s.tag != "" {
		return "", false
	}
	_, after, ok := strings.Cut(s.message, "["+mark+"] "+phrase)
	return after, ok
}

// systemd returns the rule about what systemd prints behind a mark and a phrase: means returns the sign
// by the text behind them and the unit that it names.
func systemd(mark, phrase string, means func(printed string, u unit, known bool) (Sign, string)) rule {
	return rule{needle: phrase, read: func(s segment) (Sign, string) {
		printed, ok := fromSystemd(s, mark, phrase)
		if !ok {
			return "", ""
		}
		printed = strings.TrimSpace(strings.TrimRight(printed, "."))
		u, known := identify(printed)
		return means(printed, u, known)
	}}
}

func failedToStart(printed string, u unit, known bool) (Sign, string) {
	switch {
	case known:
		return u.sign, u.name
	case printed == "":
		return "", ""
	}
	return UnitFailed, printed
}

func named(name string) (unit, bool) {
	return roll.Find(units, func(u unit) bool { return u.name == name })
}

// failedWithResult recognizes "kubelet.service: Failed with result 'exit-code'.", in the journal
// only.
func failedWithResult(s segment) (Sign, string) {
	name, _, _ := strings.Cut(s.message, ": ")
	if u, ok := named(name); ok && s.tag == "systemd" {
		return u.sign, name
	}
	return "", ""
}

// failedAtStep recognizes "nodeadm-config.service: Failed at step EXEC spawning /usr/bin/nodeadm:
// Permission denied", in the journal (https://github.com/awslabs/amazon-eks-ami/issues/2123).
func failedAtStep(s segment) (Sign, string) {
	name, step, _ := strings.Cut(s.message, ": ")
	if u, ok := named(name); ok && s.tag != "" {
		return u.sign, name + ": " + step
	}
	return "", ""
}

// brokenCycle matches "multi-user.target: Job nodeadm-run.service/start deleted to break ordering cycle starting
// with multi-user.target/start", in the journal, with the words of old and new versions.
var brokenCycle = pattern.New(`^(?:\S+: )?Job (\S+)/start (?:is )?deleted to break ordering cycle `)

// leftOut recognizes "[ SKIP ] Ordering cycle found, skipping nodeadm-run.service - EKS Nodeadm Run": of units that
// all wait for each other, systemd starts one not at all (src/core/transaction.c). Only the units that join are
// looked at: a boot does without others, such as the wait for the network.
//
//   - https://github.com/awslabs/amazon-eks-ami/issues/2269
//   - https://github.com/awslabs/amazon-eks-ami/issues/2703
func leftOut(s segment) (Sign, string) {
	printed, ok := fromSystemd(s, " SKIP ", "Ordering cycle found, skipping ")
	if m := brokenCycle.FindStringSubmatch(s.message); m != nil && s.tag == "systemd" {
		printed, ok = m[1], true
	}
	u, known := identify(strings.TrimSpace(printed))
	if !ok || !known || u.sign != NodeadmFailed && u.sign != CloudInitFailed {
		return "", ""
	}
	return u.sign, u.name + cycle
}

// started recognizes "[  OK  ] Started kubelet.service - Kubernetes Kubelet.".
func started(_ string, u unit, _ bool) (Sign, string) {
	if u.sign == KubeletFailed {
		return KubeletStarted, u.name
	}
	return "", ""
}

func multiUser(printed string, _ unit, _ bool) (Sign, string) {
	if strings.HasSuffix(printed, "Multi-User System") {
		return BootFinished, "multi-user.target"
	}
	return "", ""
}
