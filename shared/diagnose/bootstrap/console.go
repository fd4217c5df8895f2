package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// later reports whether one of the signs follows the line in the last boot.
func later(log console.Log, line int, signs ...console.Sign) bool {
	_, ok := log.InLastBoot(func(f console.Found) bool { return f.Line > line && slices.Contains(signs, f.Sign) })
	return ok
}

// started are the signs that the kubelet was started after all.
var started = []console.Sign{console.NodeadmDone, console.KubeletStarted}

// noConsole says why the console shows nothing: it was not read, or is still empty, and the host's
// logs were not read.
func (b *start) noConsole() string {
	i := b.Instance()
	switch log := i.Log(); {
	case log.State == evidence.Absent:
		return i.AndLogs("EC2 has no console output of the instance")
	case !log.Known():
		return log.Gap()
	case log.Value.Lines == 0:
		return i.AndLogs("EC2 has no console output of the instance yet, which proves nothing")
	}
	return ""
}

// nodeadm checks the console for a failure of nodeadm, which runs once a boot and starts the
// kubelet (https://awslabs.github.io/amazon-eks-ami/nodeadm/).
func (b *start) nodeadm() cause.Verdict {
	if b.os.family != "" && b.os.family != al2023 {
		return cause.Verdict{}
	}
	if gap := b.noConsole(); gap != "" {
		return cause.NotChecked(gap)
	}
	if f, ok := b.nodeadmStopped(); ok {
		return b.nodeadmFailed(f)
	}
	if b.shows(console.KubeletRefused) { // by then nodeadm has configured and started it
		return cause.RuledOut
	}
	f, ok := b.sign(console.KubeletFailed, console.ContainerdFailed)
	hook, hooked := b.sign(console.NodeadmFailed)
	switch {
	case ok && (b.shows(console.NodeadmRan) || b.os.family == al2023):
		return cause.Suggestive().
			Says("the %s of %s shows that %s, which nodeadm starts, failed", f.Where(), b.Finding.Instance, f.Detail).
			Shows(cause.Line(f, "a unit that runs")).Fix(b.showConsole())
	case b.shows(console.NodeadmDone):
		return cause.RuledOut
	case hooked && !later(b.log(), hook.Line, started...):
		return cause.Suggestive().
			Says("the %s of %s shows that %s failed; what configures the node and starts its kubelet does not require it", hook.Where(), b.Finding.Instance, hook.Detail).
			Shows(cause.Line(hook, "a unit that ends without an error")).Fix(b.showConsole())
	}
	return cause.NotChecked(b.Instance().AndLogs(b.Instance().Unshown() + " how nodeadm ended, which proves nothing"))
}

// bootHook is the only unit of nodeadm that no other requires.
// https://github.com/awslabs/amazon-eks-ami, templates/al2023/runtime/rootfs/etc/systemd/system
const bootHook = "nodeadm-boot-hook.service"

// nodeadmStopped returns the sign by which nodeadm did not start the kubelet: it failed, or systemd did
// not run it.
func (b *start) nodeadmStopped() (console.Found, bool) {
	f, ok := b.log().InLastBoot(func(f console.Found) bool {
		return f.Sign == console.NodeConfigMissing || f.Sign == console.NodeConfigInvalid ||
			f.Sign == console.NodeadmFailed && !strings.HasPrefix(f.Detail, bootHook) ||
			f.Sign == console.DependencyFailed && strings.HasPrefix(f.Detail, "nodeadm-")
	})
	return f, ok && !later(b.log(), f.Line, started...)
}

// Signs by how much they say about the boot. A failing user data script or cloud-init module is
// not necessarily the one that joins the cluster.
var (
	bootStopped = []console.Sign{console.BootstrapFailed, console.EmergencyMode, console.KubeletRefused}
	bootMarred  = []console.Sign{console.BottlerocketFailed, console.DependencyFailed, console.JobRuns, console.CloudInitFailed, console.IncludeFailed, console.UserDataIgnored, console.UserScriptFailed, console.NetworkFailed, console.KubeletFailed, console.ContainerdFailed}
)

// cloudInit checks the console for a failure of what reads the user data: cloud-init, the
// scripts that it runs, or Bottlerocket's programs.
func (b *start) cloudInit() cause.Verdict {
	if gap := b.noConsole(); gap != "" {
		return cause.NotChecked(gap)
	}
	stopped, marred := b.bootFailures()
	f, finished := b.sign(console.BootFinished)
	switch {
	case stopped.Sign != "":
		return b.cloudInitFailed(stopped, true)
	case marred.Sign != "":
		return b.cloudInitFailed(marred, false)
	case finished && f.From == "" && f.Detail == "cloud-init", later(b.log(), 0, started...): // a tail may lack the failure before
		return cause.RuledOut
	}
	return cause.NotChecked(b.Instance().AndLogs(b.Instance().Unshown() + " how the boot ended, which proves nothing"))
}

// unstarted checks why the kubelet of a node that was never ready has not finished its start. It registers while it
// starts its container manager, and exits if that refuses the configuration: whatever else it refuses, it refuses
// before it registers.
//
//   - https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet.go (initializeRuntimeDependentModules)
//   - https://github.com/aws/karpenter-provider-aws/issues/4740
func (b *start) unstarted() cause.Verdict {
	if !b.Node().Object.Value.Unstarted() {
		return cause.Verdict{}
	}
	if gap := b.noConsole(); gap != "" {
		return cause.NotChecked(gap)
	}
	f, ok := b.log().InLastBoot(func(f console.Found) bool {
		return f.Sign == console.KubeletRefused && containerManager.MatchString(f.Detail)
	})
	if ok {
		return b.cloudInitFailed(f, true)
	}
	return cause.NotChecked(b.Instance().AndLogs(b.Instance().Unshown() + " why the kubelet has not finished its start, which proves nothing"))
}

// containerManager matches what the container manager refuses.
var containerManager = pattern.New(`^\[?invalid (?:kernel flag: |Node Allocatable configuration)`)

// bootFailures returns the first sign after which nothing can have joined, and the first one
// that leaves that open. A sign before the kubelet's start did not prevent it.
func (b *start) bootFailures() (stopped, marred console.Found) {
	for _, f := range b.log().Found {
		over := f.Sign != console.KubeletRefused && later(b.log(), f.Line, started...) || f.Sign == console.JobRuns && later(b.log(), f.Line, console.BootFinished)
		if f.Boot != b.log().Boots || over || b.os.family == bottlerocket && b.passed(f) {
			continue
		}
		switch {
		case slices.Contains(bootStopped, f.Sign), b.breaksOff(f):
			if stopped.Sign == "" {
				stopped = f
			}
		case slices.Contains(bootMarred, f.Sign) && !b.nodeadms(f):
			if marred.Sign == "" {
				marred = f
			}
		}
	}
	return stopped, marred
}

// passed reports whether the boot went on after the line to the target of which the kubelet is a part,
// with or without it.
func (b *start) passed(f console.Found) bool {
	if f.Sign == console.KubeletFailed || f.Sign == console.ContainerdFailed || f.Detail == "kubelet.service" || f.Detail == "containerd.service" {
		return false
	}
	return slices.ContainsFunc(b.log().Found, func(end console.Found) bool {
		return end.Boot == f.Boot && end.Line > f.Line && end.Sign == console.BootFinished && end.Detail == "multi-user.target"
	})
}

// bootContainer begins the units of Bottlerocket's bootstrap containers. The boot waits for them, and
// stops at the failure only of those that are essential.
// https://github.com/bottlerocket-os/bottlerocket/issues/1488
const bootContainer = "bootstrap-containers@"

// broke returns what failed before systemd gave up what required it: the last failure before the line.
func (b *start) broke(gate console.Found) (out console.Found) {
	failures := []console.Sign{console.UnitFailed, console.BottlerocketFailed, console.NetworkFailed, console.ContainerdFailed}
	for _, f := range b.log().Found {
		if f.Boot == gate.Boot && f.Line < gate.Line && slices.Contains(failures, f.Sign) {
			out = f
		}
	}
	return out
}

// earlyStages are the stages of cloud-init that read the user data. An exception there ends the stage, before
// any script is written. Their units say less: they fail for every module of the stage that fails, such as
// bootcmd, and the later stages run all the same.
//
// - main_init and status_wrapper of https://github.com/canonical/cloud-init/blob/main/cloudinit/cmd/main.py
// - https://github.com/ansible-lockdown/AMAZON2023-CIS/issues/80
var earlyStages = []string{"stage init-local", "stage init"}

// readUnits are the units of cloud-init that read the user data or run its scripts.
// https://github.com/canonical/cloud-init/tree/main/systemd
var readUnits = []string{"cloud-init.service", "cloud-init-main.service", "cloud-init-network.service", "cloud-final.service"}

// byScript reports whether a script that cloud-init runs joins the instance. nodeadm and Bottlerocket's
// programs read the user data themselves.
func (b *start) byScript() bool { return b.os.family == al2 || b.os.family == ubuntu }

// breaksOff reports whether cloud-init ended before it ran what joins, or a script that ends with that
// call failed; or whether cloud-init ignored user data that only it would have read, and that no other part
// replaces: data of an unknown type, or an included file that a failed boothook should have written.
func (b *start) breaksOff(f console.Found) bool {
	switch f.Sign {
	case console.BottlerocketFailed:
		name, contained := strings.CutPrefix(f.Detail, bootContainer)
		return !contained || slices.Contains(b.data.Value.Essential, strings.TrimSuffix(name, ".service"))
	case console.JobRuns:
		return b.holdsUp(f)
	case console.DependencyFailed: // what waits for the network goes on without it
		return b.os.family == bottlerocket && !strings.HasPrefix(f.Detail, "systemd-networkd-")
	case console.CloudInitFailed:
		unit, leftOut := f.LeftOut()
		return b.byScript() && (slices.Contains(earlyStages, f.Detail) || leftOut && slices.Contains(readUnits, unit) ||
			f.Detail == console.NoDatasource && len(b.joins()) > 0 && !b.shows(started...))
	case console.IncludeFailed:
		d := b.data.Value
		_, hook := b.log().InLastBoot(console.Found.IsBoothook)
		return hook && len(d.Joins) == 0 && slices.Contains(d.Formats, userdata.Include) && b.byScript()
	case console.UserScriptFailed:
		d := b.data.Value
		return !f.IsBoothook() && len(d.Joins) == 1 && d.Joins[0].Last && !d.Joins[0].Conditional && b.byScript()
	case console.UserDataIgnored: // nodeadm, which someone may have put there, reads its part by itself
		return b.byScript() && (f.Detail == noType || b.nothingJoins()) && (!ofNodeadm(f) || b.withoutNodeadm())
	}
	return false
}

// noType is the type that cloud-init gives to user data of which it knows none: all of it, where any other
// type may be that of one part. cloudinit/handlers/__init__.py, NOT_MULTIPART_TYPE.
const noType = "text/x-not-multipart"

// nothingJoins reports whether the user data is known to join by nothing that the system reads.
func (b *start) nothingJoins() bool {
	d := b.data
	return d.Known() && !d.Value.Unread() && !d.Value.Opaque && len(b.joins()) == 0
}

// runningFor splits the detail of a job that systemd waits for.
func runningFor(f console.Found) (unit string, d time.Duration) {
	unit, minutes, _ := strings.Cut(f.Detail, ": ")
	n, _ := strconv.Atoi(minutes)
	return unit, time.Duration(n) * time.Minute
}

// holdsUp reports whether the kubelet waits for the job, which has run for nearly the whole life of
// the instance. On AL2023 nodeadm-run.service comes after all of cloud-init, on Bottlerocket
// configured.target after the bootstrap containers.
// https://github.com/awslabs/amazon-eks-ami/issues/2224
func (b *start) holdsUp(f console.Found) bool {
	unit, d := runningFor(f)
	waits := b.os.family == al2023 && strings.HasPrefix(unit, "cloud-") || b.os.family == bottlerocket && strings.HasPrefix(unit, bootContainer)
	launched := b.Config().Value.Launched
	return waits && !launched.IsZero() && b.At.Sub(launched)-d <= unseen
}

// unseen is the maximum part of the instance's life in which the job may not have run.
const unseen = 15 * time.Minute

// nodeadms reports whether NodeadmFailed covers it: where nodeadm starts the kubelet.
func (b *start) nodeadms(f console.Found) bool {
	return b.os.family == al2023 && (f.Sign == console.KubeletFailed || f.Sign == console.ContainerdFailed || f.Sign == console.DependencyFailed)
}

// log returns the instance's console and its host's logs, as far as they were read.
func (b *start) log() console.Log { return b.Instance().Log().Value }

// sign returns the first line of the last boot that shows one of the signs.
func (b *start) sign(signs ...console.Sign) (console.Found, bool) {
	return b.log().InLastBoot(func(f console.Found) bool { return slices.Contains(signs, f.Sign) })
}

// shows reports whether the last boot shows one of the signs.
func (b *start) shows(signs ...console.Sign) bool {
	_, ok := b.sign(signs...)
	return ok
}

func (b *start) nodeadmFailed(f console.Found) cause.Verdict {
	const expected = "nodeadm ends without an error"
	why := []console.Sign{console.NodeConfigMissing, console.NodeConfigInvalid, console.NodeadmFailed, console.AccessDenied, console.APIRetries, console.IMDSFailed}
	seen := []roll.Evidence{cause.Line(f, expected)}
	for _, g := range b.log().Found {
		if g.Boot == b.log().Boots && g.Line != f.Line && slices.Contains(why, g.Sign) && len(seen) < maxEvidence {
			seen = append(seen, cause.Line(g, expected))
		}
	}
	what := cmp.Or(f.Detail, "its console line shows no more")
	if b.shows(console.NodeConfigMissing) {
		what = "it found no NodeConfig that it can read"
	}
	v := cause.Suggestive()
	if _, ok := b.log().InLastBoot(func(g console.Found) bool { return g.Sign == console.NodeadmFailed && notRun(g) }); ok {
		v = b.inImage()
	}
	if unit, ok := f.LeftOut(); ok {
		return b.leftOut(unit).Shows(seen...)
	}
	return v.DecisiveIf(true).
		Says("nodeadm failed on %s, so its kubelet was not started: %s", b.Finding.Instance, what).
		Shows(seen...).Fix(b.showConsole())
}

// leftOut says that systemd did not start a unit of nodeadm. The units that wait for each other are the AMI's. Of
// several that would break the cycle systemd may take another in the next boot, so another instance may join where
// one did.
// https://github.com/awslabs/amazon-eks-ami/issues/2703
func (b *start) leftOut(unit string) cause.Verdict {
	v := cause.Suggestive()
	if !b.sameImageWorks() {
		v = b.inImage()
	}
	return v.DecisiveIf(true).
		Says("systemd did not start %s on %s, so its kubelet was not started: units of the AMI wait for each other in a cycle, and it left that one out", unit, b.Finding.Instance).
		Fix(b.showConsole(), "systemd-analyze verify default.target   # on an instance of the AMI: shows the cycle")
}

// notRun reports whether systemd could not run the program, which a hardened AMI may forbid.
// https://github.com/awslabs/amazon-eks-ami/issues/2123
func notRun(f console.Found) bool { return strings.Contains(f.Detail, "Failed at step EXEC") }

// bootFailed says what failed, by the sign that shows it.
var bootFailed = map[console.Sign]string{
	console.BootstrapFailed:    "what bootstraps the node failed",
	console.BottlerocketFailed: "a program that makes settings of the user data failed",
	console.DependencyFailed:   "the boot stopped before the kubelet",
	console.JobRuns:            "a part of the boot does not end",
	console.KubeletRefused:     "the kubelet exits because of its flags, its configuration or that of its container runtime",
	console.EmergencyMode:      "the boot stopped in emergency mode",
	console.CloudInitFailed:    "cloud-init failed",
	console.IncludeFailed:      "cloud-init could not read what the user data includes",
	console.UserDataIgnored:    "cloud-init ignored user data whose type it does not know",
	console.UserScriptFailed:   "a script of the user data failed",
	console.NetworkFailed:      "the network was not configured in time",
	console.KubeletFailed:      "the kubelet's unit failed",
	console.ContainerdFailed:   "containerd's unit failed",
}

func (b *start) cloudInitFailed(f console.Found, sure bool) cause.Verdict {
	if f.Sign == console.DependencyFailed {
		return b.bootGated(f, sure)
	}
	if f.Sign == console.JobRuns {
		unit, d := runningFor(f)
		return b.inData().DecisiveIf(sure).
			Says("the %s of %s shows that %s does not end, which runs what the user data brought: it ran for %s, and the kubelet is started after it at the earliest", f.Where(), b.Finding.Instance, unit, roll.Span(d)).
			Shows(cause.Line(f, "a script or container that ends")).Fix(b.showConsole())
	}
	detail := ""
	if f.Detail != "" && f.Sign != console.EmergencyMode {
		detail = " (" + f.Detail + ")"
	}
	v := cause.Suggestive()
	if f.Sign == console.KubeletRefused && b.mate() == "" { // its flags, labels, swap and runtime come from the user data, the AMI or the group
		v = b.inData().Everywhere()
	}
	lacksFIPS := b.lacksFIPS(f)
	if lacksFIPS {
		v = b.inData().Everywhere()
	}
	v.DecisiveIf(sure).
		Says("the %s of %s shows that %s%s", f.Where(), b.Finding.Instance, bootFailed[f.Sign], detail).
		Shows(cause.Line(f, "a boot without that error")).Fix(b.showConsole())
	if lacksFIPS {
		v.Also(". Its AMI is a FIPS variant of Bottlerocket, which calls EC2 at a FIPS endpoint, and "+b.Region+" has none").
			Saw("AMI", "Name", b.Image().Value.Name, "a variant without FIPS, or settings.aws.config that turns FIPS endpoints off").
			Fix(`printf '[default]\nuse_fips_endpoint=false' | base64   # the value of config below [settings.aws] in the user data; or use a variant without FIPS`)
	}
	return v
}

// lacksFIPS reports whether EC2 did not answer Bottlerocket because the instance calls FIPS endpoints, which
// only regions in the US and in Canada have.
//
//   - https://bottlerocket.dev/en/os/latest/api/settings/aws/
//   - https://github.com/bottlerocket-os/bottlerocket/issues/4363
func (b *start) lacksFIPS(f console.Found) bool {
	return strings.HasPrefix(f.Detail, "pluto: Timed out retrieving private DNS name from EC2") && b.CallsFIPS() && b.mate() == "" &&
		b.Region != "" && !strings.HasPrefix(b.Region, "us-") && !strings.HasPrefix(b.Region, "ca-")
}

// bootGated returns the verdict that systemd did not start what leads to the kubelet, with what
// failed before. A driver that does not fit the machine is the AMI's: others of the same type fail
// too.
func (b *start) bootGated(f console.Found, sure bool) cause.Verdict {
	failed, driver := b.broke(f), console.Found{}
	why, v := "", cause.Suggestive()
	if d, refused := b.sign(console.DriverRefused); refused {
		driver, why = d, fmt.Sprintf(", and NVIDIA's driver says %q: the AMI does not fit the instance type", d.Detail)
	}
	if driver.Sign != "" || strings.Contains(failed.Detail, "NVIDIA") {
		v = b.inImage()
	}
	v.DecisiveIf(sure).Shows(cause.Line(f, "a boot without that error")).Fix(b.showConsole())
	if failed.Sign == "" {
		return v.Says("the %s of %s shows that %s: something failed that %q requires%s", f.Where(), b.Finding.Instance, bootFailed[f.Sign], f.Detail, why)
	}
	v.Says("the %s of %s shows that %s: %q failed%s", f.Where(), b.Finding.Instance, bootFailed[f.Sign], failed.Detail, why).Shows(cause.Line(failed, "a unit that starts"))
	if driver.Sign != "" {
		v.Shows(cause.Line(driver, "a GPU that the driver knows"))
	}
	return v
}
