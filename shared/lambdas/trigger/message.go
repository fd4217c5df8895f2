package trigger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rollcall/shared/roll/pattern"
)

// MaxBody is the maximum size of a message in bytes. The queues accept four times that
// (SQS: 1 MiB); Rollcall's messages are far smaller, and a state change has under 1 KB.
const MaxBody = 256 << 10

// Malformed is the error of every parser here. It lists everything that is wrong with a
// message. A retry cannot help.
type Malformed struct {
	What   string // such as "order"
	Faults []string
}

// Error lists the faults in one line, for a log.
func (m *Malformed) Error() string {
	return "malformed " + m.What + ": " + strings.Join(m.Faults, "; ")
}

var (
	accountForm = pattern.New(`^[0-9]{12}$`)
	regionForm  = pattern.New(`^[a-z][a-z0-9-]{1,30}[a-z0-9]$`)
)

// decode reads a message as JSON.
func decode(what string, body []byte, into any) error {
	malformed := func(format string, args ...any) error {
		return &Malformed{what, []string{fmt.Sprintf(format, args...)}}
	}
	if len(body) > MaxBody {
		return malformed("%d bytes, more than the %d that are read", len(body), MaxBody)
	}
	err := json.Unmarshal(body, into)
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return malformed("not JSON (at byte %d of %d)", syntax.Offset, len(body))
	case errors.As(err, &mismatch):
		return malformed("%s must not be %s", cmp.Or(mismatch.Field, "the message"), mismatch.Value)
	}
	return malformed("%+.80q", err)
}

// canonical rejects a message of Rollcall's own that differs from how Rollcall writes it:
// another field, a repeated field, another notation.
func canonical(what string, body, written []byte) error {
	if bytes.Equal(bytes.TrimSpace(body), written) {
		return nil
	}
	return &Malformed{what, []string{"not written as Rollcall writes it"}}
}

// faults collects the faults of one message. Quotes of the message are shortened and
// escaped, since anybody who can write to the queue may have written it, and logs show it.
type faults []string

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, field+": "+fmt.Sprintf(format, args...))
}

// form checks a required text against a pattern. words describes the pattern.
func (f *faults) form(field, s string, form *pattern.Pattern, words string) {
	if f.given(field, s) && !form.MatchString(s) {
		f.add(field, "%+.40q is not %s", s, words)
	}
}

// given reports whether a text is there, and adds a fault if it is not.
func (f *faults) given(field, s string) bool {
	if s == "" {
		f.add(field, "missing")
	}
	return s != ""
}

// moment adds a fault if a time is not set or cannot be encoded.
func (f *faults) moment(field string, t time.Time) {
	if year := t.UTC().Year(); t.IsZero() || year < 1 || year > 9999 {
		f.add(field, "missing, or not a time in RFC 3339")
	}
}

func (f *faults) err(what string) error {
	if len(*f) == 0 {
		return nil
	}
	return &Malformed{what, *f}
}
