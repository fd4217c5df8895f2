package redact

import "strings"

func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }
func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isQuote(c byte) bool  { return c == '"' || c == '\'' || c == '`' }
func isName(c byte) bool   { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// asciiLower keeps the length, which strings.ToLower does not.
func asciiLower(s string) string {
	i := 0
	for i < len(s) && !isUpper(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		if isUpper(b[i]) {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

func hasAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// classes counts the kinds of characters in a text.
func classes(v string) (upper, lower, digit, other int) {
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case isUpper(c):
			upper++
		case isLower(c):
			lower++
		case isDigit(c):
			digit++
		default:
			other++
		}
	}
	return upper, lower, digit, other
}

// wordy reports whether a word is one of a language, or several in camel case:
// letters only, and no more capitals than words have.
func wordy(v string) bool {
	upper, lower, digit, other := classes(v)
	switch {
	case other > 0 || digit > 0:
		return false
	case upper == 0 || lower == 0:
		return true
	}
	return 4*upper <= upper+lower+2
}
