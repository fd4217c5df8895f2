package page

import (
	"time"

	"rollcall/shared/roll"
)

// took formats a duration: 48s, 1m12s, 1h5m.
func took(d time.Duration) string {
	return roll.Span(d.Round(time.Second))
}

// plain returns the page as valid UTF-8 without misleading characters. Characters such as
// those of escape sequences, and marks that change the direction of text, are replaced.
func plain(page []byte) []byte {
	return []byte(roll.Visible(string(page)))
}
