package redact

import "strings"

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
)

// pem looks for PEM blocks, whole or cut off at either end, on lines of their own or
// in a string with escaped line breaks.
func (s *scan) pem() {
	done := 0
	for at := 0; ; {
		i := strings.Index(s.text[at:], pemBegin)
		if i < 0 {
			break
		}
		from := at + i
		label, ok := pemLabel(s.text[from+len(pemBegin):])
		at = from + len(pemBegin)
		if !ok || public(label) {
			continue
		}
		to := s.pemBody(at + len(label))
		s.add(from, to, PrivateKey)
		at, done = to, to
	}
	for at := done; ; { // the end of a block that began before the text did
		i := strings.Index(s.text[at:], pemEnd)
		if i < 0 {
			return
		}
		end := at + i
		at = end + len(pemEnd)
		label, ok := pemLabel(s.text[at:])
		if !ok || public(label) {
			continue
		}
		line := s.line(end)
		first := line
		for first > 0 && s.starts[first-1] >= done && s.encodedLine(first-1) {
			first--
		}
		s.add(s.starts[first], at+len(label)+5, PrivateKey)
		done = at
	}
}

// pemLabel is the text between "BEGIN " and the dashes.
func pemLabel(rest string) (string, bool) {
	label, _, ok := strings.Cut(rest[:min(len(rest), 64)], "-----")
	return label, ok && !strings.ContainsAny(label, "\n\"'")
}

// public reports whether what a label names is no secret.
func public(label string) bool {
	return !strings.Contains(label, "PRIVATE") &&
		(hasAny(label, "CERTIFICATE", "PUBLIC KEY", "PARAMETERS", "CRL", "HOST KEY", "PKCS7", "CMS", "SIGNATURE", "SIGNED MESSAGE", "TRUSTED"))
}

// pemBody is where the block ends whose label ends at i: at its end line, or where
// lines no longer look like a block's.
func (s *scan) pemBody(i int) int {
	limit := len(s.text)
	if j := strings.Index(s.text[i:], pemBegin); j >= 0 {
		limit = i + j
	}
	if j := strings.Index(s.text[i:limit], pemEnd); j >= 0 {
		end := i + j + len(pemEnd)
		if label, ok := pemLabel(s.text[end:]); ok {
			return end + len(label) + 5
		}
		return s.lineEnd(end)
	}
	line := s.line(i)
	to := s.endOf(line)
	for line++; line < len(s.starts) && s.starts[line] < limit; line++ {
		from, end := s.content(line)
		if text := s.text[from:end]; from != end && !s.encodedLine(line) && !strings.HasPrefix(text, "Proc-Type:") &&
			!strings.HasPrefix(text, "DEK-Info:") && !strings.HasPrefix(text, "Comment:") {
			break
		}
		to = s.endOf(line)
	}
	return to
}

// encodedLine reports whether a line is nothing but base64, as long as an encoder
// makes it (the last one may be shorter).
func (s *scan) encodedLine(line int) bool {
	from, to := s.content(line)
	if to-from < 4 || to-from > 128 {
		return false
	}
	for i := from; i < to; i++ {
		if !isBase64(s.text[i]) && (s.text[i] != '=' || i < to-2) {
			return false
		}
	}
	return true
}
