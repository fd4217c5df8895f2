package host

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// when is how a sign on the console lies to the finding's trouble.
type when uint8

const (
	nowhere when = iota // the console does not show it, or was not read
	past                // in a boot before the last, which came after it
	stale               // in output that EC2 took before the trouble began
	current             // in the last boot, and taken since
)

// sign finds a sign on the console, and how it lies to the finding's trouble. Of several
// the first of the last boot counts.
func (l *look) sign(s console.Sign) (console.Found, when) {
	log, ok := known(l.Instance().Console)
	f, found := log.First(s)
	if !ok || !found {
		return console.Found{}, nowhere
	}
	return f, l.lies(f)
}

// lies is how what the console shows lies to the finding's trouble.
func (l *look) lies(f console.Found) when {
	i := l.Instance()
	switch {
	case f.Boot != i.Console.Value.Boots:
		return past
	case !i.ConsoleAt.IsZero() && i.ConsoleAt.Before(l.trouble().Add(-slack)):
		return stale
	}
	return current
}

// trouble is since when the console would show it.
func (l *look) trouble() time.Time {
	switch l.Finding.Kind {
	case roll.Unknown:
		return l.quiet()
	case roll.Unregistered:
		if c := l.Config(); c.Known() {
			return c.Value.Launched
		}
	}
	return l.began()
}

func line(f console.Found, expected string) roll.Evidence {
	return roll.Evidence{Source: "console", Field: fmt.Sprintf("line %d", f.Line), Observed: f.Excerpt, Expected: expected}
}

// trace is a code that the console tells of.
type trace struct {
	code     cause.Code
	sign     console.Sign
	expected string
}

var traces = []trace{
	{cause.KernelPanic, console.KernelPanic, "no panic"},
	{cause.OutOfMemory, console.OutOfMemory, "no process killed for want of memory"},
	{cause.DiskFull, console.DiskFull, "space on the disk"},
}

// console asks what the console shows of the kernel and the disk. That it shows nothing
// proves nothing.
func (l *look) console() {
	for _, t := range traces {
		l.traced(t)
	}
}

func (l *look) traced(t trace) {
	fact := l.Instance().Console
	f, when := l.sign(t.sign)
	switch {
	case t.code == cause.DiskFull && l.saysFull():
		l.s.Found(l.diskOfNode())
	case when == current && (l.explains() || t.code == cause.DiskFull && l.runtimeDown(f)):
		l.s.Found(l.shown(t, f, roll.Decisive))
	case t.code == cause.KernelPanic && when != past && l.speaks():
		l.s.RuledOut(t.code) // its kernel runs
	case when == current, when == past, when == stale && t.code != cause.KernelPanic && l.justBefore():
		l.s.Found(l.shown(t, f, roll.Suggestive))
	case when == stale:
		l.s.NotChecked(fmt.Sprintf("EC2 took the console output of %s at %s, before this began", l.Finding.Instance, roll.Clock(l.Instance().ConsoleAt)), t.code)
	case !fact.Known():
		l.s.NotChecked(fact.Missing("console output of "+string(l.Finding.Instance)), t.code)
	case fact.Value.Lines == 0:
		l.s.NotChecked(fmt.Sprintf("EC2 has no console output of %s yet", l.Finding.Instance), t.code)
	default:
		l.s.NotChecked(fmt.Sprintf("the console of %s does not show it, which proves nothing", l.Finding.Instance), t.code)
	}
}

// explains reports whether such a sign in the last boot alone explains the finding. It
// does where nothing speaks any more: the node is silent, the instance never became one,
// or does not pass EC2's check of its system, which such things make it fail. A kubelet
// that reports outlived it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/TroubleshootingInstances.html
func (l *look) explains() bool {
	switch l.Finding.Kind {
	case roll.Unknown, roll.Unregistered:
		return true
	case roll.Impaired:
		status := l.Instance().Status
		return status.Known() && status.Value.Instance == impaired
	}
	return false
}

// runtimeDown reports that the node is not ready because its container runtime does not
// answer, and that the runtime is what could not write.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/runtime.go
func (l *look) runtimeDown(f console.Found) bool {
	told := l.notReady().Message
	return f.Detail == "containerd" && (strings.Contains(told, "container runtime is down") || strings.Contains(told, "PLEG is not healthy"))
}

// speaks reports that the kubelet itself says how the node is: it is not ready, or not
// initialized, and not silent.
func (l *look) speaks() bool {
	return l.Finding.Kind == roll.NotReady || l.Finding.Kind == roll.Uninitialized
}

// justBefore reports that EC2 took the output shortly before the trouble began: what was
// wrong then may have led to it.
func (l *look) justBefore() bool {
	return l.trouble().Sub(l.Instance().ConsoleAt) <= recent
}

// words are what is said of the codes.
func (t trace) words(f console.Found) string {
	switch t.code {
	case cause.KernelPanic:
		if f.Detail != "" {
			return "the kernel panicked: " + f.Detail
		}
		return "the kernel panicked"
	case cause.OutOfMemory:
		if f.Detail != "" {
			return "the machine ran out of memory, and the kernel killed " + f.Detail
		}
		return "the machine ran out of memory, and the kernel killed a process"
	}
	if f.Detail != "" {
		return "a disk is full: " + f.Detail + " could not write"
	}
	return "a disk is full"
}

func (l *look) shown(t trace, f console.Found, confidence roll.Confidence) roll.Cause {
	summary := fmt.Sprintf("on the console of %s %s", l.Finding.Instance, t.words(f))
	if f.Boot != l.Instance().Console.Value.Boots {
		summary += ", in a boot before the last"
	}
	return roll.Cause{
		Code: t.code, Confidence: confidence, Summary: summary,
		Evidence: []roll.Evidence{line(f, t.expected)}, Fix: l.after(t.code),
	}
}

// after is what helps after such a thing, to look first.
func (l *look) after(code cause.Code) string {
	switch code {
	case cause.KernelPanic:
		return paste.Lines(l.screen(), l.reboot(), l.replace())
	case cause.DiskFull:
		return paste.Lines(l.screen(), l.replace(), "# and give the group larger volumes, or limit the ephemeral-storage of its pods; a disk is full of files, too (df -i)")
	}
	if l.Finding.Node == "" {
		return paste.Lines(l.screen(), l.reboot(), "# and give the group instances with more memory, or start less at boot")
	}
	return paste.Lines(limits(l.Finding.Node)+"   # give those without limits some, or reserve more for the system (kubeReserved, systemReserved)", l.reboot())
}

// full are the C library's words for a full disk.
const full = "no space left on device"

// saysFull reports that the node itself says it is not ready for want of disk space.
func (l *look) saysFull() bool {
	r := l.notReady()
	return l.speaks() && strings.Contains(strings.ToLower(r.Message), full)
}

// notReady is the condition Ready of the node if it is False, else the zero value.
func (l *look) notReady() evidence.Condition {
	r, _ := l.Node().Object.Value.Condition("Ready")
	if r.Status != string(roll.ConditionFalse) {
		return evidence.Condition{}
	}
	return r
}

func (l *look) diskOfNode() roll.Cause {
	return roll.Cause{
		Code: cause.DiskFull, Confidence: roll.Decisive,
		Summary:  fmt.Sprintf("node %s says that it is not ready because a disk is full", l.Finding.Node),
		Evidence: []roll.Evidence{{Source: "node", Field: "status.conditions[Ready]", Observed: said(l.notReady()), Expected: "True"}},
		Fix:      paste.Lines(pods(l.Finding.Node)+"   # which of them fill the disk?", l.replace(), "# and give the group larger volumes, or limit the ephemeral-storage of its pods"),
	}
}
