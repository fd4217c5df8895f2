package bootstrap

import (
	"fmt"
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// inLastBoot is the first line of the last boot that shows one of the signs.
func inLastBoot(log console.Log, signs ...console.Sign) (console.Found, bool) {
	for _, f := range log.Found {
		if f.Boot == log.Boots && slices.Contains(signs, f.Sign) {
			return f, true
		}
	}
	return console.Found{}, false
}

// later reports whether one of the signs stands after the line, in the last boot.
func later(log console.Log, line int, signs ...console.Sign) bool {
	return slices.ContainsFunc(log.Found, func(f console.Found) bool {
		return f.Boot == log.Boots && f.Line > line && slices.Contains(signs, f.Sign)
	})
}

func consoleEvidence(f console.Found, expected string) []roll.Evidence {
	return []roll.Evidence{{Source: "console", Field: fmt.Sprintf("line %d", f.Line), Observed: f.Excerpt, Expected: expected}}
}

// started are the signs that the kubelet was started after all.
var started = []console.Sign{console.NodeadmDone, console.KubeletStarted}

// noConsole tells of the codes that the console was not read or has nothing in it yet, and
// reports whether that is so.
func (b *start) noConsole(codes ...cause.Code) bool {
	log := b.Instance().Console
	switch {
	case !log.Known() && log.Settled():
		b.s.NotChecked("EC2 has no console output of the instance", codes...)
	case !log.Known():
		b.s.NotChecked(log.Gap(), codes...)
	case log.Value.Lines == 0:
		b.s.NotChecked("EC2 has no console output of the instance yet, which proves nothing", codes...)
	default:
		return false
	}
	return true
}

// nodeadm asks the console whether nodeadm failed. It is run once a boot, and starts the
// kubelet (https://awslabs.github.io/amazon-eks-ami/nodeadm/).
func (b *start) nodeadm() {
	if b.os.family != "" && b.os.family != al2023 || b.noConsole(cause.NodeadmFailed) {
		return
	}
	log := b.Instance().Console.Value
	if f, ok := inLastBoot(log, console.NodeadmFailed, console.NodeConfigMissing, console.NodeConfigInvalid); ok && !later(log, f.Line, started...) {
		b.found(true, b.nodeadmCause(log, f))
		return
	}
	_, done := inLastBoot(log, console.NodeadmDone)
	_, ran := inLastBoot(log, console.NodeadmRan)
	f, ok := inLastBoot(log, console.KubeletFailed, console.ContainerdFailed)
	switch {
	case ok && (ran || b.os.family == al2023):
		b.found(false, roll.Cause{
			Code:     cause.NodeadmFailed,
			Summary:  fmt.Sprintf("the console of %s shows that %s, which nodeadm starts, failed", b.Finding.Instance, f.Detail),
			Evidence: consoleEvidence(f, "a unit that runs"), Fix: b.showConsole(),
		})
	case done:
		b.s.RuledOut(cause.NodeadmFailed)
	default:
		b.s.NotChecked("the console does not show how nodeadm ended, which proves nothing", cause.NodeadmFailed)
	}
}

func (b *start) nodeadmCause(log console.Log, f console.Found) roll.Cause {
	seen := consoleEvidence(f, "nodeadm ends without an error")
	what := f.Detail
	for _, g := range log.Found {
		if g.Boot != log.Boots || g.Line == f.Line {
			continue
		}
		switch g.Sign {
		case console.NodeConfigMissing, console.NodeConfigInvalid, console.NodeadmFailed, console.AccessDenied, console.APIRetries, console.IMDSFailed:
			if len(seen) < maxEvidence {
				seen = append(seen, consoleEvidence(g, "nodeadm ends without an error")...)
			}
		}
	}
	if _, ok := inLastBoot(log, console.NodeConfigMissing); ok {
		what = "it found no NodeConfig that it can read"
	}
	if what == "" {
		what = "its console line tells no more"
	}
	return roll.Cause{
		Code:     cause.NodeadmFailed,
		Summary:  fmt.Sprintf("nodeadm failed on %s, so its kubelet was not started: %s", b.Finding.Instance, what),
		Evidence: seen, Fix: b.showConsole(),
	}
}

// Signs by how much they say of the boot. A script of the user data that fails, or a
// module of cloud-init, need not be what joins the cluster.
var (
	bootStopped = []console.Sign{console.BootstrapFailed, console.BottlerocketFailed, console.EmergencyMode}
	bootMarred  = []console.Sign{console.CloudInitFailed, console.UserDataIgnored, console.UserScriptFailed, console.NetworkFailed, console.KubeletFailed, console.ContainerdFailed}
)

// cloudInit asks the console whether what reads the user data failed: cloud-init, the
// scripts that it runs, or Bottlerocket's programs.
func (b *start) cloudInit() {
	if b.noConsole(cause.CloudInitFailed) {
		return
	}
	log := b.Instance().Console.Value
	stopped, marred := b.bootFailures(log)
	switch {
	case stopped.Sign != "":
		b.found(true, b.cloudInitCause(stopped))
	case marred.Sign != "":
		b.found(false, b.cloudInitCause(marred))
	default:
		f, finished := inLastBoot(log, console.BootFinished)
		if finished && f.Detail == "cloud-init" || later(log, 0, started...) {
			b.s.RuledOut(cause.CloudInitFailed)
			return
		}
		b.s.NotChecked("the console does not show how the boot ended, which proves nothing", cause.CloudInitFailed)
	}
}

// bootFailures are the first sign for which nothing can have joined, and the first one of
// which that is not certain. What comes before the kubelet's start did not prevent it.
func (b *start) bootFailures(log console.Log) (stopped, marred console.Found) {
	for _, f := range log.Found {
		if f.Boot != log.Boots || later(log, f.Line, started...) {
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

// earlyUnits are the stages of cloud-init that read the user data. The final one also
// fails for any script in it.
var earlyUnits = []string{"cloud-init-local.service", "cloud-init.service", "cloud-init-network.service", "traceback"}

// breaksOff reports whether cloud-init itself gave up, or passed over user data that only
// it would have read.
func (b *start) breaksOff(f console.Found) bool {
	switch f.Sign {
	case console.CloudInitFailed:
		return slices.Contains(earlyUnits, f.Detail)
	case console.UserDataIgnored:
		return b.os.family == al2 || b.os.family == ubuntu
	}
	return false
}

// nodeadms reports whether another code tells it: where nodeadm starts the kubelet.
func (b *start) nodeadms(f console.Found) bool {
	return b.os.family == al2023 && (f.Sign == console.KubeletFailed || f.Sign == console.ContainerdFailed)
}

func (b *start) cloudInitCause(f console.Found) roll.Cause {
	detail := ""
	if f.Detail != "" {
		detail = " (" + f.Detail + ")"
	}
	words := map[console.Sign]string{
		console.BootstrapFailed:    "what bootstraps the node failed" + detail,
		console.BottlerocketFailed: "a program that makes settings of the user data failed" + detail,
		console.EmergencyMode:      "the boot stopped in emergency mode",
		console.CloudInitFailed:    "cloud-init failed" + detail,
		console.UserDataIgnored:    "cloud-init does not know what the user data is and passed it over" + detail,
		console.UserScriptFailed:   "a script of the user data failed" + detail,
		console.NetworkFailed:      "the network was not configured in time" + detail,
		console.KubeletFailed:      "the kubelet's unit failed" + detail,
		console.ContainerdFailed:   "containerd's unit failed" + detail,
	}[f.Sign]
	return roll.Cause{
		Code:     cause.CloudInitFailed,
		Summary:  fmt.Sprintf("the console of %s shows that %s", b.Finding.Instance, words),
		Evidence: consoleEvidence(f, "a boot without that error"), Fix: b.showConsole(),
	}
}
