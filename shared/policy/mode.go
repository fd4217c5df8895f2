package policy

import (
	"fmt"
	"slices"

	"rollcall/shared/roll"
)

// Mode is how far Rollcall may go: "observe", "notify" or "remediate".
type Mode string

// The modes. Each allows what the one before it allows, and more.
const (
	// Observe: read, log, emit metrics and events.
	Observe Mode = "observe"
	// Notify: also tag instances and send notices.
	Notify Mode = "notify"
	// Remediate: also order actions.
	Remediate Mode = "remediate"
	// Ignore: a deployment does not even read the cluster; see [Document.Ignores]. Only a document can
	// say so. Everywhere else it counts as Observe.
	Ignore Mode = "ignore"
)

var (
	modes         = []Mode{Observe, Notify, Remediate}
	documentModes = append(slices.Clone(modes), Ignore)
)

// ParseMode parses a mode of a caller, or of the cluster tag rollcall:mode. Case and spaces matter.
// Anything else is an error, for which the safe fallback is Observe.
func ParseMode(s string) (Mode, error) {
	for _, m := range modes {
		if string(m) == s {
			return m, nil
		}
	}
	return "", fmt.Errorf("%s is not a mode: %s", quote(s), roll.OneOf(modes))
}

// rank orders the modes. An invalid mode ranks as Observe, so that a mistake never permits more.
func (m Mode) rank() int {
	switch m {
	case Notify:
		return 1
	case Remediate:
		return 2
	}
	return 0
}

// Allows reports whether this mode permits what the other mode does. An invalid mode counts as
// Observe on either side.
func (m Mode) Allows(other Mode) bool { return m.rank() >= other.rank() }

// Lower returns the more careful of two modes. An invalid mode counts as Observe, so the result is
// always a valid mode.
func Lower(a, b Mode) Mode { return modes[min(a.rank(), b.rank())] }
