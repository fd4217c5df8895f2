package host_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// printed makes the host have printed its logs this long before the check.
func (w *world) printed(ago time.Duration, d hostlog.Disk, found ...console.Found) {
	w.instance.HostLogs = evidence.Read(hostlog.Log{At: now.Add(-ago), Disks: []hostlog.Disk{d}, Console: console.Log{Lines: 40, Found: found}})
}

// dated sets when the host's logs last show a sign.
func dated(f console.Found, at time.Time) console.Found {
	f.At = at
	return f
}

func TestWhatTheHostsLogsShow(t *testing.T) {
	empty := hostlog.Disk{Mount: "/", Size: 20 << 30, Free: 9 << 30, Inodes: 1 << 20, FreeInodes: 1 << 19, Row: "/dev/x 20 11 9 55% /", InodeRow: "/dev/x 2 1 1 50% /"}
	full, crowded := empty, empty
	full.Free, crowded.FreeInodes = 0, 0
	line := func(s console.Sign, from string) console.Found {
		return console.Found{Sign: s, Line: 7, From: from, Excerpt: "a line", Detail: "java"}
	}
	for _, tt := range []struct {
		name  string
		kind  roll.Kind
		spoil func(*world)
		code  cause.Code
		want  string // how it is told, "" if it is not checked
		says  string
	}{
		{"a full disk", roll.Unknown, func(w *world) { w.printed(time.Minute, full) }, cause.DiskFull, "decisive", "the disk at / is full"},
		{"no inodes", roll.Unknown, func(w *world) { w.printed(time.Minute, crowded) }, cause.DiskFull, "decisive", "can hold no more files"},
		{"a full disk that a node survives", roll.Flapping, func(w *world) { w.printed(time.Minute, full) }, cause.DiskFull, "suggestive", "the disk at / is full"},
		{"a full disk, before it began", roll.Unknown, func(w *world) { w.printed(6*time.Hour, full) }, cause.DiskFull, "", ""},
		{"space", roll.Unknown, func(w *world) { w.printed(time.Minute, empty) }, cause.DiskFull, "", "do not show it"},
		{"a pod's volume, and space", roll.Unknown, func(w *world) { w.printed(time.Minute, empty, line(console.DiskFull, "kubelet")) }, cause.DiskFull, "", "do not show it"},
		{"a line about a disk, without df", roll.Unknown, func(w *world) {
			w.printed(time.Minute, hostlog.Disk{}, line(console.DiskFull, "kubelet"))
			w.instance.HostLogs.Value.Disks = nil
		}, cause.DiskFull, "suggestive", "in the kubelet log"},
		{"memory that ran out", roll.Unknown, func(w *world) { w.printed(time.Minute, empty, line(console.OutOfMemory, "kernel")) }, cause.OutOfMemory, "decisive", "in the kernel log"},
		{"memory that ran out, and no console", roll.Unknown, func(w *world) {
			w.printed(time.Minute, empty, line(console.OutOfMemory, "kernel"))
			w.instance.Console = evidence.Failed[console.Log]("why")
		}, cause.OutOfMemory, "decisive", "in the kernel log"},
		{"memory that ran out, long before", roll.Unknown, func(w *world) { w.printed(6*time.Hour, empty, line(console.OutOfMemory, "kernel")) }, cause.OutOfMemory, "", "before this began"},
		{"memory that ran out, which the node outlived", roll.Unknown, func(w *world) {
			w.printed(time.Minute, empty, dated(line(console.OutOfMemory, "kernel"), silence.Add(-2*time.Hour-time.Minute)))
		}, cause.OutOfMemory, "suggestive", "before this began"},
		{"memory that ran out just before", roll.Unknown, func(w *world) {
			w.printed(time.Minute, empty, dated(line(console.OutOfMemory, "kernel"), silence.Add(-20*time.Minute)))
		}, cause.OutOfMemory, "decisive", "in the kernel log"},
		{"memory that ran out, and then silence", roll.Unknown, func(w *world) {
			w.printed(time.Minute, empty, dated(line(console.OutOfMemory, "kernel"), silence.Add(time.Minute)))
		}, cause.OutOfMemory, "decisive", "in the kernel log"},
		{"logs that are on their way", roll.Unknown, func(w *world) { w.instance.HostLogs = evidence.Skipped[hostlog.Log]("not read yet") }, cause.DiskFull, "", "proves nothing; the host's logs: not read yet"},
		{"no agent", roll.Unknown, func(w *world) { w.instance.HostLogs = evidence.None[hostlog.Log]() }, cause.DiskFull, "", "there is no SSM agent"},
		{"a console that could not be read, as without the logs", roll.Unknown, func(w *world) {
			w.instance.HostLogs = evidence.Skipped[hostlog.Log]("not read yet")
			w.instance.Console = evidence.Failed[console.Log]("why")
		}, cause.DiskFull, "", "why"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := of(tt.kind)
			tt.spoil(w)
			s := w.analyze()
			for _, c := range s.Causes() {
				if c.Code != tt.code {
					continue
				}
				if string(c.Confidence) != tt.want || !strings.Contains(c.Summary, tt.says) || c.Evidence[0].Source != "host logs" {
					t.Errorf("%s: %+v, want %q: %s", c.Code, c, tt.want, tt.says)
				}
				return
			}
			for _, n := range s.Open() {
				if n.Code == tt.code && tt.want == "" && strings.Contains(n.Reason, tt.says) {
					return
				}
			}
			t.Errorf("%s is neither found nor open as wanted: %+v, %+v", tt.code, s.Causes(), s.Open())
		})
	}
}

// The kubelet says that it has disk pressure; df tells whether of bytes or of files.
// The condition alone does not say whether bytes or inodes are short.
func TestDiskPressureByInodes(t *testing.T) {
	evicted := func(resource string) func(*world) {
		return func(w *world) {
			w.node.Pods.Value = []evidence.Pod{{Events: []evidence.Event{{Reason: "Evicted", Message: "The node was low on resource: " + resource + ". Threshold quantity: 5%"}}}}
		}
	}
	for name, tt := range map[string]struct {
		spoil  func(*world)
		inodes bool
	}{
		"df": {func(w *world) {
			w.printed(time.Minute, hostlog.Disk{Mount: "/", Size: 20 << 30, Free: 9 << 30, Inodes: 1 << 20, InodeRow: "/dev/x 2 2 0 100% /"})
		}, true},
		"the kubelet":           {event("EvictionThresholdMet", "Attempting to reclaim inodes", time.Minute), true},
		"an eviction":           {evicted("inodes"), true},
		"the kubelet, of bytes": {event("EvictionThresholdMet", "Attempting to reclaim ephemeral-storage", time.Minute), false},
		"an eviction, of bytes": {evicted("ephemeral-storage"), false},
	} {
		w := of(roll.ConditionFailed)
		w.finding.Condition = roll.DiskPressure
		condition(roll.DiskPressure, "True")(w)
		tt.spoil(w)
		c := w.analyze().Causes()[0]
		said := strings.Contains(c.Summary, "inodes") && strings.Contains(c.Fix, "df -i")
		expect.That(t, c.Code == cause.DiskPressurePreceded && said == tt.inodes, "%s: %+v", name, c)
		expect.That(t, name != "df" || c.Evidence[1].Field == "df -i", "%+v", c)
	}
}
