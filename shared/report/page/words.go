package page

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"rollcall/shared/roll"
)

// took formats a duration: 48s, 1m12s, 1h5m.
func took(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// plain returns the page as valid UTF-8 without misleading characters. Characters such as
// those of escape sequences, and marks that change the direction of text, are replaced.
func plain(page []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if roll.Misleads(r) {
			return utf8.RuneError
		}
		return r
	}, page)
}
