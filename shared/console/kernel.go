package console

import "strings"

// kernelRules are about messages of the kernel: they begin a message, so that a
// program that speaks of them is not taken for it.
var kernelRules = []rule{
	{needle: "ut of memory", read: outOfMemory},
	{needle: "Kernel panic - not syncing", read: panicked},
	{needle: "soft lockup - CPU#", read: softLockup},
	{needle: "INFO: rcu_", read: stalled},
	{needle: " blocked for more than ", read: hung},
	{needle: "EXT4-fs ", read: ext4},
	{needle: "XFS (", read: xfs},
	{needle: "NVRM: Xid (", read: xid},
}

// outOfMemory tells the machine's own want of memory from a control group's. Older
// kernels, such as 4.14, write "Kill process" there, newer ones "Killed process".
func outOfMemory(s segment) (Sign, string) {
	if !s.kernel() {
		return "", ""
	}
	sign := OutOfMemory
	rest, ok := strings.CutPrefix(s.message, "Out of memory")
	if !ok {
		sign = CgroupOutOfMemory
		if rest, ok = strings.CutPrefix(s.message, "Memory cgroup out of memory"); !ok {
			return "", ""
		}
	}
	rest = strings.TrimPrefix(rest, " (oom_kill_allocating_task)")
	rest, ok = strings.CutPrefix(rest, ": Kill")
	if !ok {
		return "", ""
	}
	rest = strings.TrimPrefix(rest, "ed")
	if rest, ok = strings.CutPrefix(rest, " process "); !ok {
		return "", ""
	}
	return sign, killed(rest)
}

// killed is the name in "1234 (name) total-vm:...", which can have parentheses itself.
func killed(rest string) string {
	_, rest, ok := strings.Cut(rest, " (")
	if !ok {
		return ""
	}
	for _, end := range []string{") total-vm", ") score"} {
		if name, _, ok := strings.Cut(rest, end); ok {
			return name
		}
	}
	name, _, ok := strings.Cut(rest, ")")
	if !ok { // the line is cut
		return ""
	}
	return name
}

func panicked(s segment) (Sign, string) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(s.message, "---[ end "), "Kernel panic - not syncing")
	if !ok || !s.kernel() {
		return "", ""
	}
	rest, _, _ = strings.Cut(strings.TrimPrefix(rest, ":"), "]---")
	return KernelPanic, strings.TrimSpace(rest)
}

func softLockup(s segment) (Sign, string) {
	m := strings.TrimPrefix(strings.TrimPrefix(s.message, "NMI "), "watchdog: ")
	if !s.kernel() || !strings.HasPrefix(m, "BUG: soft lockup - CPU#") {
		return "", ""
	}
	task, _ := between(m, "s! [", "]") // name:pid
	if i := strings.LastIndexByte(task, ':'); i >= 0 {
		task = task[:i]
	}
	return CPUStuck, task
}

func stalled(s segment) (Sign, string) {
	m := strings.TrimPrefix(s.message, "rcu: ")
	if !s.kernel() || !strings.HasPrefix(m, "INFO: rcu_") || !strings.Contains(m, "stall") {
		return "", ""
	}
	return CPUStuck, ""
}

func hung(s segment) (Sign, string) {
	rest, ok := strings.CutPrefix(s.message, "INFO: task ")
	if !ok || !s.kernel() {
		return "", ""
	}
	task, after, _ := strings.Cut(rest, " blocked for more than ")
	if i := strings.LastIndexByte(task, ':'); i >= 0 && strings.Contains(after, "seconds") {
		return TaskHung, task[:i]
	}
	return "", ""
}

func ext4(s segment) (Sign, string) {
	if !s.kernel() {
		return "", ""
	}
	if rest, ok := strings.CutPrefix(s.message, "EXT4-fs error (device "); ok {
		device, _, _ := strings.Cut(rest, ")")
		return FilesystemFailed, device
	}
	rest, ok := strings.CutPrefix(s.message, "EXT4-fs (")
	if device, after, _ := strings.Cut(rest, "): "); ok && strings.HasPrefix(after, "Remounting filesystem read-only") {
		return FilesystemFailed, device
	}
	return "", ""
}

func xfs(s segment) (Sign, string) {
	rest, ok := strings.CutPrefix(s.message, "XFS (")
	device, after, cut := strings.Cut(rest, "): ")
	if !ok || !cut || !s.kernel() {
		return "", ""
	}
	for _, m := range []string{
		"Corruption ", "Metadata corruption detected", "Metadata CRC error detected", "Filesystem has been shut down",
		"log I/O error", "Log I/O Error Detected", "Internal error",
	} {
		if strings.HasPrefix(after, m) {
			return FilesystemFailed, device
		}
	}
	return "", ""
}

// xid is the number in "NVRM: Xid (PCI:0000:10:1c): 79, pid=...".
func xid(s segment) (Sign, string) {
	rest, ok := strings.CutPrefix(s.message, "NVRM: Xid (")
	_, rest, closed := strings.Cut(rest, "): ")
	number, _, _ := strings.Cut(rest, ",")
	if !ok || !closed || !s.kernel() || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", ""
	}
	return Xid, number
}
