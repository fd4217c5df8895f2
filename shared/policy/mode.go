package policy

import "fmt"

// Mode is how far Rollcall may go: "observe", "notify" or "remediate".
type Mode string

// The modes, each allowing what the one before it allows and more.
const (
	// Observe: look, log, measure, emit events.
	Observe Mode = "observe"
	// Notify: also tag instances and send notices.
	Notify Mode = "notify"
	// Remediate: also order actions.
	Remediate Mode = "remediate"
)

var modes = []Mode{Observe, Notify, Remediate}

// ParseMode reads a mode as it is written in a policy or in the cluster tag
// rollcall:mode. Case and spaces count: what is not exactly a mode is an error,
// and the caller's safe answer to that is Observe.
func ParseMode(s string) (Mode, error) {
	for _, m := range modes {
		if string(m) == s {
			return m, nil
		}
	}
	return "", fmt.Errorf("%s is not a mode: %s", quote(s), oneOf(modes))
}

// rank orders the modes. What is not a mode ranks as Observe, so that a mistake
// never permits more than looking.
func (m Mode) rank() int {
	switch m {
	case Notify:
		return 1
	case Remediate:
		return 2
	}
	return 0
}

// Allows reports whether what belongs to the other mode may be done in this one.
// What is not a mode counts as Observe on either side.
func (m Mode) Allows(other Mode) bool { return m.rank() >= other.rank() }

// Lower is the more careful of two modes. What is not a mode counts as Observe,
// so the result is always one.
func Lower(a, b Mode) Mode { return modes[min(a.rank(), b.rank())] }
