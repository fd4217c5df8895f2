package redact

import (
	"strings"

	"rollcall/shared/roll/pattern"
)

// prefix matches what a system log, the journal, or the kernel's console puts before each line of a
// program's output: date and host or the time since boot, and the program.
var prefix = pattern.New(`^(?:\w{3} [ \d]\d \d\d:\d\d:\d\d \S{1,253} |\[ {0,11}\d{1,10}\.\d{6}\] )?(?:[^\s\[\]:]{1,60}\[\d{1,10}\]: |kernel: )?`)

// Log is Text for a log, without what a terminal does not show: colours split a name from its value. It
// also finds secrets of several lines, each of which has a prefix of its own: a tail may begin in the
// middle of a key, and a program may print a file.
func Log(s string) string {
	lines := strings.Split(Printable(s), "\n")
	prefixes := make([]string, len(lines))
	for i, line := range lines {
		if m := prefix.FindStringIndex(line); m != nil {
			prefixes[i], lines[i] = line[:m[1]], line[m[1]:]
		}
	}
	clean := Text(strings.Join(lines, "\n"))
	for i, line := range strings.Split(clean, "\n") { // lines keep their numbers
		lines[i] = prefixes[i] + line
	}
	return Text(strings.Join(lines, "\n"))
}
