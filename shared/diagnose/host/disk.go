package host

import (
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/roll"
)

// dfInodes names df's table of inodes.
const dfInodes = "df -i"

// shortage is a disk of the node's own directories that has no space left, or no inodes.
type shortage struct {
	words string
	row   roll.Evidence
}

// shortage returns what df shows on the host. ok is false if df was not read since the trouble began,
// or shows none, which proves nothing about the time before.
func (l *look) shortage() (s shortage, ok bool) {
	logs := l.Instance().HostLogs.Value
	if l.predates(logs.At) {
		return s, false
	}
	if i := slices.IndexFunc(logs.Disks, hostlog.Disk.Full); i >= 0 {
		d := logs.Disks[i]
		return shortage{"the disk at " + d.Mount + " is full", roll.Evidence{Source: "host logs", Field: "df", Observed: d.Row, Expected: "space on the disk"}}, true
	}
	if i := slices.IndexFunc(logs.Disks, hostlog.Disk.OutOfInodes); i >= 0 {
		d := logs.Disks[i]
		return shortage{"the disk at " + d.Mount + " can hold no more files, whatever space is free", roll.Evidence{Source: "host logs", Field: dfInodes, Observed: d.InodeRow, Expected: "free inodes"}}, true
	}
	return s, false
}

// full returns the verdict that df on the host shows a full disk.
func (l *look) full(s shortage) cause.Verdict {
	v := cause.Suggestive().Says("on %s %s", l.id(), s.words).Shows(s.row).Fix(l.after(cause.DiskFull))
	if image := l.Config().Value.Image; image != "" && l.fullAtBoot(cause.DiskFull) {
		v.In("ami/" + image)
	}
	return v
}
