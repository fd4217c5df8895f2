package trigger

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxBody is how large a message may be, in bytes. The queues take four times that
// (SQS: 1 MiB); no message of Rollcall's comes near it, and a state change has
// under 1 KB.
const MaxBody = 256 << 10

// Malformed is the error of every parser here: all that is wrong with a message.
// To try again cannot help.
type Malformed struct {
	What   string // such as "order"
	Faults []Fault
	More   int // faults that are not listed
}

// Fault is one thing that is wrong.
type Fault struct {
	Field   string // such as detail.instance-id; "" when it is the message as a whole
	Problem string
}

// Error lists the faults in one line, for a log.
func (m *Malformed) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "malformed %s: ", m.What)
	for i, f := range m.Faults {
		if i > 0 {
			b.WriteString("; ")
		}
		if f.Field != "" {
			b.WriteString(f.Field + ": ")
		}
		b.WriteString(f.Problem)
	}
	if m.More > 0 {
		fmt.Fprintf(&b, "; and %d more", m.More)
	}
	return b.String()
}

// A message may come from anybody who can write to the queue, and its faults end up
// in logs and in front of people.
const (
	maxFaults = 20
	maxQuoted = 80 // characters of the input, all quotes of an error together
	maxQuote  = 40 // of one quote, so that one value does not use up all
)

// faults collects what is wrong with one message.
type faults struct {
	what   string
	list   []Fault
	more   int
	quoted int
}

func (f *faults) add(field, format string, args ...any) {
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, Fault{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// quote makes a part of the input fit for a line of a message: odd characters are
// escaped, long text is cut, and when enough was quoted nothing more is.
func (f *faults) quote(s string) string {
	room := min(maxQuote, maxQuoted-f.quoted)
	n := 0
	for i := range s {
		if n == room {
			return strconv.QuoteToASCII(s[:i]) + "..."
		}
		n++
		f.quoted++
	}
	return strconv.QuoteToASCII(s)
}

func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Malformed{What: f.what, Faults: f.list, More: f.more}
}
