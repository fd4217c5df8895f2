package hostlog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/redact"
)

// Log is what was found in the logs of a host.
type Log struct {
	// Console holds the signs, each with the section that has its line.
	Console console.Log
	// At is when the logs were printed, by the host's clock; zero if unknown.
	At time.Time
	// Disks are the file systems of the node's own directories, each once.
	Disks []Disk
}

// Disk is a file system.
type Disk struct {
	Mount string // where it is mounted
	// Size and Free are bytes, Inodes and FreeInodes numbers of files. Size or Inodes is 0 if unknown,
	// and Inodes if the file system has no limit of its own. Free is what root may write, as the kubelet
	// and its container runtime do: ext4 has blocks that only root may use.
	// https://man7.org/linux/man-pages/man8/mke2fs.8.html (-m reserved-blocks-percentage)
	Size, Free, Inodes, FreeInodes int64
	// Row and InodeRow are the lines of df, "" without one.
	Row, InodeRow string
}

const (
	// fullBelow is the free space below which a disk counts as full. A failed write leaves some.
	fullBelow = 16 << 20
	// fewInodes is the number of free inodes below which a disk counts as having none: unpacking an
	// image takes thousands, and those that it got are given back when it fails.
	fewInodes = 100
)

// Full reports whether the disk has no space left.
func (d Disk) Full() bool { return d.Size > 0 && d.Free < fullBelow }

// OutOfInodes reports whether the disk can hold no more files, whatever space it has left.
func (d Disk) OutOfInodes() bool { return d.Inodes > 0 && d.FreeInodes < fewInodes }

const (
	markBegin, markEnd = "==== rollcall: ", " ===="
	titleBegin         = "host logs of "
)

// sections are those of the script, in its order.
var sections = []string{"df", "df-i", "kernel", "cloud-init", "nodeadm", "containerd", "kubelet"}

// Read reads the output of the script. It never fails: ok is false if the text has no section, as on
// a system that the script does not know.
func Read(text string) (log Log, ok bool) {
	text = redact.Log(text)
	log.Console = console.Read(text)
	log.Console.Truncated = true // tails
	var from []string            // the section of each line
	section, next := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		name, begins := strings.CutPrefix(line, markBegin)
		if name, ends := strings.CutSuffix(name, markEnd); begins && ends {
			if at, titled := strings.CutPrefix(name, titleBegin); titled && next == 0 {
				log.At, _ = time.Parse(time.RFC3339, at)
			}
			// A log may contain such a line too: the sections come once, in their order.
			if n := slices.Index(sections, name); n >= next {
				section, next = name, n+1
			}
		} else if section == "df" || section == "df-i" {
			log.df(section, line)
		}
		from = append(from, section)
	}
	for i := range log.Console.Found {
		f := &log.Console.Found[i]
		if f.Line <= len(from) {
			f.From = from[f.Line-1]
		}
		f.At = log.year(f.At)
	}
	return log, next > 0
}

// year returns the date of a line in the year in which it was written. A line that seems younger than
// the logs was not written in UTC: its time is unknown.
func (l *Log) year(at time.Time) time.Time {
	if at.IsZero() || l.At.IsZero() {
		return time.Time{}
	}
	at = at.AddDate(l.At.Year(), 0, 0)
	if at.After(l.At.AddDate(0, 0, 2)) {
		at = at.AddDate(-1, 0, 0)
	}
	if at.After(l.At.Add(time.Minute)) {
		return time.Time{}
	}
	return at
}

// df reads a row of df -P or df -Pi: the device, the size, what is used, what is free, the share, and
// where it is mounted.
func (l *Log) df(section, line string) {
	f := strings.Fields(line)
	if len(f) != 6 || !strings.HasPrefix(f[5], "/") {
		return
	}
	var n [3]int64 // the size, what is used, and what is free
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
			return
		}
	}
	at := slices.IndexFunc(l.Disks, func(d Disk) bool { return d.Mount == f[5] })
	if at < 0 {
		at, l.Disks = len(l.Disks), append(l.Disks, Disk{Mount: f[5]})
	}
	row := redact.Excerpt(strings.Join(f, " "))
	if d := &l.Disks[at]; section == "df" {
		d.Size, d.Free, d.Row = n[0]<<10, max(n[2], n[0]-n[1])<<10, row
	} else {
		d.Inodes, d.FreeInodes, d.InodeRow = n[0], n[2], row
	}
}
