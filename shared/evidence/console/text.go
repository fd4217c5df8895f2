package console

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll/pattern"
)

// segment is one message in a line.
type segment struct {
	raw     string // with its timestamp
	text    string // without it
	tag     string // the program, as "systemd" in "systemd[1]: ..."; "" if none is named
	message string // text without date, host and tag
	trace   bool   // a shell shows a command that it runs
}

// kernel reports whether the kernel may have written the segment.
func (s segment) kernel() bool { return s.tag == "" || s.tag == "kernel" }

// stamp matches the kernel's timestamp, with the task or processor that may follow: "[   13.226001]
// ", "[   13.226001][    T1] ".
var stamp = pattern.New(`\[ {0,11}\d{1,10}\.\d{6}\](?:\[[^\]]{0,11}\])? ?`)

// uptime returns the timestamp with which a message begins, 0 if it has none.
func uptime(message string) time.Duration {
	m := stamp.FindStringIndex(message)
	if m == nil || m[0] != 0 {
		return 0
	}
	seconds, _, _ := strings.Cut(strings.TrimLeft(message[1:m[1]], " "), "]")
	d, _ := time.ParseDuration(seconds + "s")
	return d
}

// dated returns the date with which a line of a system log begins, in the year 0; zero if it has none.
func dated(line string) time.Time {
	at, _ := time.Parse(time.Stamp, line[:min(len(line), len(time.Stamp))])
	return at
}

// segments splits a line into separately written messages: at carriage returns, and where the
// kernel or logger wrote into the middle of a line, which its timestamp or header shows.
func segments(line string) []segment {
	var out []segment
	add := func(part string) {
		if strings.TrimSpace(part) != "" {
			out = append(out, newSegment(part))
		}
	}
	for part := range strings.SplitSeq(line, "\r") {
		from := 0
		starts := stamp.FindAllStringIndex(part, -1)
		if strings.Contains(part, "<") {
			starts = append(starts, header.FindAllStringIndex(part, -1)...)
			slices.SortFunc(starts, func(a, b []int) int { return a[0] - b[0] })
		}
		for _, m := range starts {
			// After a program's tag, the timestamp is part of that program's text: it prints an
			// older log. A header in the trace of a command is a word of it.
			if strings.HasSuffix(part[:m[0]], "]: ") || part[m[0]] == '<' && newSegment(part[from:m[0]]).trace {
				continue
			}
			add(part[from:m[0]])
			from = m[0]
		}
		add(part[from:])
	}
	return out
}

func newSegment(raw string) segment {
	s := segment{raw: raw, text: raw}
	if m := stamp.FindStringIndex(raw); m != nil && m[0] == 0 {
		s.text = raw[m[1]:]
	}
	s.text = strings.TrimRight(s.text, " \t")
	s.message = s.text
	if m := tagged.FindStringSubmatch(s.text); m != nil {
		s.tag, s.message = strings.Trim(m[1]+m[2], "()"), s.text[len(m[0]):]
	}
	if m := logged.FindStringSubmatch(s.message); m != nil {
		s.tag, s.message = m[1], s.message[len(m[0]):]
	}
	s.trace = traced(s.message)
	return s
}

// tagged matches the writer of a message: "systemd[1]: ...", "kernel: ...", also after the date and
// host of a system log.
var tagged = pattern.New(`^(?:\w{3} .. ..:..:.. \S+ )?(?:(kernel)|([^\s\[]{0,60})\[\d*\]): `)

// header begins what logger -s prints: "<13>Feb  8 20:21:18 user-data: ...". Karpenter's user data for
// Amazon Linux 2, and many scripts, send all their output and their trace to the console through it.
//
//   - https://github.com/util-linux/util-linux/blob/master/misc-utils/logger.c (syslog_local_header)
//   - https://github.com/aws/karpenter-provider-aws/blob/main/pkg/providers/amifamily/bootstrap/eksbootstrap.go
//   - https://github.com/aws/karpenter-provider-aws/issues/5593
var (
	header = pattern.New(`<\d{1,3}>` + date)
	logged = pattern.New(`^<\d{1,3}>` + date + `([^\s\[:]{1,60})(?:\[\d*\])?: `)
)

const date = `\w{3} [ \d]\d \d\d:\d\d:\d\d `

// traced reports whether a message is the trace of a shell: "+ command", "++ command".
func traced(message string) bool {
	rest := strings.TrimLeft(message, "+")
	return len(rest) < len(message) && strings.HasPrefix(rest, " ")
}
