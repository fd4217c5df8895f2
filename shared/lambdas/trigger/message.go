package trigger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// MaxBody is how large a message may be, in bytes. The queues take four times that
// (SQS: 1 MiB); no message of Rollcall's comes near it, and a state change has
// under 1 KB.
const MaxBody = 256 << 10

// Malformed is the error of every parser here: all that is wrong with a message.
// To try again cannot help.
type Malformed struct {
	What   string // such as "order"
	Faults []string
}

// Error lists the faults in one line, for a log.
func (m *Malformed) Error() string {
	return "malformed " + m.What + ": " + strings.Join(m.Faults, "; ")
}

var (
	accountForm = regexp.MustCompile(`^[0-9]{12}$`)
	regionForm  = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}[a-z0-9]$`)
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

// canonical reports a message of Rollcall's own that is not written as Rollcall writes it: with
// another field, one that is given twice, or another notation.
func canonical(what string, body, written []byte) error {
	if bytes.Equal(bytes.TrimSpace(body), written) {
		return nil
	}
	return &Malformed{what, []string{"not written as Rollcall writes it"}}
}

// faults collects what is wrong with one message. What it quotes of the message is cut and
// escaped: anybody who can write to the queue may have written it, and it ends up in logs.
type faults []string

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, field+": "+fmt.Sprintf(format, args...))
}

// form checks a text that must be there and have a form, which is described in words.
func (f *faults) form(field, s string, form *regexp.Regexp, words string) {
	if f.given(field, s) && !form.MatchString(s) {
		f.add(field, "%+.40q is not %s", s, words)
	}
}

// given checks that a text is there.
func (f *faults) given(field, s string) bool {
	if s == "" {
		f.add(field, "missing")
	}
	return s != ""
}

// moment checks that a time was set, and can be written.
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
