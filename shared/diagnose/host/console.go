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

// when relates a sign on the console to the time of the finding's trouble.
type when uint8

const (
	nowhere when = iota // the console does not show it, or was not read
	past                // in a boot before the last, which came after it
	stale               // in output that EC2 took before the trouble began
	current             // in the last boot, in output taken since
)

// sign finds a sign on the console and returns when it was shown. The first one in the last
// boot takes precedence.
func (l *look) sign(s console.Sign) (console.Found, when) {
	f, found := l.Instance().Log().Value.First(s)
	if !found {
		return console.Found{}, nowhere
	}
	return f, l.lies(f)
}

// lies returns when a line was shown, relative to the finding's trouble.
func (l *look) lies(f console.Found) when {
	switch at := l.taken(f); {
	case f.Boot != l.Instance().Console.Value.Boots:
		return past
	case l.predates(at):
		return stale
	}
	return current
}

// taken returns when the text with the line was taken, zero if unknown.
func (l *look) taken(f console.Found) time.Time {
	if f.From != "" {
		return l.Instance().HostLogs.Value.At
	}
	return l.Instance().ConsoleAt
}

// predates reports whether a text that was taken at that time is older than the trouble.
func (l *look) predates(at time.Time) bool {
	return !at.IsZero() && at.Before(l.trouble().Add(-slack))
}

// outlived returns how long before the fault the console or the host's logs last showed the sign, if the
// machine must have continued after it; 0 otherwise, or if unknown. A panic is not outlived.
func (l *look) outlived(f console.Found) time.Duration {
	if f.Sign == console.KernelPanic {
		return 0
	}
	before := l.wentOn(f)
	if at := l.written(f); !at.IsZero() {
		before = max(before, l.trouble().Sub(at))
	}
	if before > recent {
		return before.Round(time.Minute)
	}
	return 0
}

// wentOn returns how long at least the machine ran between a line on its console and the trouble, by the
// timestamps of the lines since. What it wrote after the trouble began, up to when EC2 took the text, does not
// count. It is 0 if unknown. It needs no time of the boot, which is lost with the beginning of a long console.
func (l *look) wentOn(f console.Found) time.Duration {
	log, taken := l.Instance().Console.Value, l.Instance().ConsoleAt
	if f.From != "" || f.Latest == 0 || f.Boot != log.Boots {
		return 0
	}
	if taken.IsZero() {
		taken = l.At
	}
	return log.Up - f.Latest - max(0, taken.Sub(l.trouble()))
}

// written returns when a line with the sign was last written, zero if unknown. The lines of the host's
// logs have a date, those of the console the time since the boot. A machine that booted once did so at its
// launch, or at its last start.
func (l *look) written(f console.Found) time.Time {
	log, launched := l.Instance().Console.Value, l.Config().Value.Launched
	switch {
	case f.From != "":
		return f.At
	case f.Latest == 0, log.Boots != 1, log.Truncated, launched.IsZero():
		return time.Time{}
	}
	return launched.Add(f.Latest)
}

// trouble returns the time from which the console would show the trouble.
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

// trace is a code whose signs the console shows.
type trace struct {
	code     cause.Code
	sign     console.Sign
	expected string
	words    string
	detailed string // with the line's detail
}

var traces = []trace{
	{cause.KernelPanic, console.KernelPanic, "no panic", "the kernel panicked", "the kernel panicked: %s"},
	{cause.OutOfMemory, console.OutOfMemory, outOfMemory, "the instance ran out of memory, and the kernel killed a process", "the instance ran out of memory, and the kernel killed %s"},
	{cause.DiskFull, console.DiskFull, "space on the disk", "a disk is full", "a disk is full: %s could not write"},
}

// console checks what the console shows about the kernel and the disk. A console without signs
// proves nothing.
func (l *look) console() {
	for _, t := range traces {
		l.Note(t.code, l.traced(t))
	}
}

func (l *look) traced(t trace) cause.Verdict {
	i := l.Instance()
	fact := i.Log()
	f, when := l.sign(t.sign)
	ready, notReady := l.notReady()
	short, isFull := l.shortage()
	// The kubelet's log quotes what its pods' volumes lack. The node's own disks are in the output of df.
	sure := t.code != cause.DiskFull || f.From == ""
	if !sure && len(i.HostLogs.Value.Disks) > 0 {
		when = nowhere
	}
	if t.code == cause.OutOfMemory {
		if kills, killed := l.kills(); killed && when == current {
			return kills.Shows(cause.Line(f, t.expected))
		} else if killed {
			return kills
		}
	}
	switch {
	case t.code == cause.KernelPanic && l.Finding.Kind == roll.Flapping && when == past && l.rebooted():
		return l.shown(t, f).DecisiveIf(true)
	case t.code == cause.DiskFull && notReady && l.reports() && console.TellsFullDisk(ready.Message):
		return l.diskOfNode(ready)
	case t.code == cause.DiskFull && isFull:
		return l.full(short).DecisiveIf(l.explains() || notReady && runtimeDown(ready))
	case when == current && sure && l.outlived(f) == 0 && (l.explains() || t.code == cause.DiskFull && f.Detail == "containerd" && notReady && runtimeDown(ready)):
		return l.shown(t, f).DecisiveIf(true)
	case t.code == cause.KernelPanic && when != past && l.reports():
		return cause.RuledOut // its kernel runs
	case when == current, when == past, when == stale && t.code != cause.KernelPanic && l.justBefore(f):
		return l.shown(t, f)
	case when == stale && f.From != "":
		return cause.NotChecked(fmt.Sprintf("the host's logs of %s are of %s, before this began", l.id(), roll.Clock(l.taken(f))))
	case when == stale:
		return cause.NotChecked(fmt.Sprintf("EC2 took the console output of %s at %s, before this began", l.id(), roll.Clock(l.Instance().ConsoleAt)))
	case !fact.Known():
		return cause.Missing(fact, "console output of "+l.id())
	case fact.Value.Lines == 0:
		return cause.NotChecked(i.AndLogs(fmt.Sprintf("EC2 has no console output of %s yet", l.id())))
	case i.HostLogs.Known():
		return cause.NotChecked(fmt.Sprintf("%s it of %s, which proves nothing", i.Unshown(), l.id()))
	}
	return cause.NotChecked(i.AndLogs(fmt.Sprintf("the console of %s does not show it, which proves nothing", l.id())))
}

// explains reports whether a sign in the last boot alone explains the finding: the node is
// silent, the instance never became one, or EC2's instance check fails. A kubelet that reports
// has survived the sign.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/TroubleshootingInstances.html
func (l *look) explains() bool {
	switch l.Finding.Kind {
	case roll.Unknown, roll.Unregistered:
		return true
	case roll.Impaired:
		return l.Instance().Status.Value.Instance == impaired
	}
	return false
}

// justBefore reports whether the text with the line was taken shortly before the trouble began.
// What it shows may have led to the trouble.
func (l *look) justBefore(f console.Found) bool {
	return l.trouble().Sub(l.taken(f)) <= recent
}

func (l *look) shown(t trace, f console.Found) cause.Verdict {
	on := "on"
	if f.From != "" {
		on = "in"
	}
	v := cause.Suggestive().Says("%s the %s of %s %s", on, f.Where(), l.id(), t.says(f)).Shows(cause.Line(f, t.expected)).Fix(l.after(t.code))
	if f.Boot != l.Instance().Console.Value.Boots {
		v.Also(", in a boot before the last")
	} else if before := l.outlived(f); before > 0 {
		v.Also(fmt.Sprintf(", %s before this began", roll.Span(before)))
	}
	if image := l.Config().Value.Image; image != "" && l.fullAtBoot(t.code) {
		v.In("ami/" + image)
	}
	return v
}

// fullAtBoot reports whether the disk was full before there was a node: another instance of the image
// has no more space.
func (l *look) fullAtBoot(code cause.Code) bool {
	return code == cause.DiskFull && l.Finding.Kind == roll.Unregistered
}

// after returns the commands that help against the code; those that only read come first.
func (l *look) after(code cause.Code) string {
	switch {
	case code == cause.KernelPanic:
		return paste.Lines(l.screen(), l.reboot(), l.replaceAfter())
	case l.fullAtBoot(code):
		return paste.Lines(l.screen(), "# give the instances of the group a larger root volume than the snapshot of the AMI fills, or write less at boot; a disk is full of files, too (df -i)")
	case code == cause.DiskFull:
		return paste.Lines(l.screen(), l.replace(), "# and give the group larger volumes, or limit the ephemeral-storage of its pods; a disk is full of files, too (df -i)")
	case l.Finding.Node == "":
		return paste.Lines(l.screen(), l.reboot(), "# and give the group instances with more memory, or start less at boot")
	}
	return paste.Lines(limits(l.Finding.Node), l.reboot())
}

// notReady returns the node's Ready condition if it is False.
func (l *look) notReady() (evidence.Condition, bool) {
	r, _ := l.Node().Object.Value.Condition("Ready")
	return r, r.Status == string(roll.ConditionFalse)
}

func (l *look) diskOfNode(ready evidence.Condition) cause.Verdict {
	return cause.Decisive().Says("node %s says that it is not ready because a disk is full", l.Finding.Node).
		Shows(condition(ready, "Ready", "True")).
		Fix(paste.PodsOf(l.Finding.Node)+"   # which of them fill the disk?", l.replace(), "# and give the group larger volumes, or limit the ephemeral-storage of its pods")
}

const outOfMemory = "no process killed for lack of memory"

// says returns the text of one of the trace's lines.
func (t trace) says(f console.Found) string {
	if f.Detail == "" {
		return t.words
	}
	return fmt.Sprintf(t.detailed, f.Detail)
}

// runtimeDown reports whether the node is not ready because its container runtime does not
// answer.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/runtime.go
func runtimeDown(ready evidence.Condition) bool {
	return strings.Contains(ready.Message, "container runtime is down") || strings.Contains(ready.Message, "PLEG is not healthy")
}

// reports reports whether the kubelet itself says that the node is not ready, or not
// initialized.
func (l *look) reports() bool {
	return l.Finding.Kind == roll.NotReady || l.Finding.Kind == roll.Uninitialized
}
