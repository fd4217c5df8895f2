package page

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"rollcall/shared/roll"
)

// took renders how long something took: 48s, 1m12s, 1h5m.
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

// plain makes the bytes of a page valid UTF-8 in which every character is seen where it
// stands. What a terminal or a reader's eye would be misled by, such as escape
// sequences and marks that turn the direction of text, is replaced.
func plain(page []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if roll.Misleads(r) {
			return utf8.RuneError
		}
		return r
	}, page)
}
