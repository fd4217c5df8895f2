package page

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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
		if misleads(r) {
			return utf8.RuneError
		}
		return r
	}, page)
}

// misleads reports a control character, or one without a width that changes what is
// read: see https://trojansource.codes for those of direction.
func misleads(r rune) bool {
	switch {
	case r == '\n', r == '\t', ' ' <= r && r <= '~':
		return false
	case unicode.IsControl(r):
		return true
	}
	return unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\u2060' || r == '\ufeff'
}
