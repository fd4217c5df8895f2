package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"rollcall/shared/roll/pattern"
)

const (
	maxDepth   = 3         // base64 in base64
	maxDecoded = 512 << 10 // bytes of decoded text that are scanned
	minEncoded = 16
	minCut     = 64 // shorter text of no base64's length is a word
)

func isBase64(c byte) bool {
	return isAlnum(c) || c == '+' || c == '/' || c == '-' || c == '_'
}

// encoded checks base64: within a run, and across lines that contain nothing else.
func (s *scan) encoded() {
	for i := 0; i < len(s.text); {
		if !isBase64(s.text[i]) {
			i++
			continue
		}
		from := i
		for i < len(s.text) && isBase64(s.text[i]) {
			i++
		}
		to := i
		for i < len(s.text) && s.text[i] == '=' && i-to < 2 {
			i++
		}
		if i-from < minEncoded {
			continue
		}
		if s.at(from-1) == '\\' && strings.IndexByte("nrt", s.text[from]) >= 0 {
			from++
		}
		s.bareKey(from, to)
		s.prefixed(from, to)
		if i > to {
			to = i
		}
		last := s.wrapped(from, to)
		if last > to {
			to, i = last, last
		}
		if s.depth < maxDepth && s.hides(s.text[from:to]) {
			s.add(from, to, Encoded)
		}
	}
}

// wrapped returns the end of the base64 that fills the lines after from:to, or to if there is none.
func (s *scan) wrapped(from, to int) int {
	line := s.line(from)
	first, last := s.content(line)
	width := last - first
	if last != to || width < 40 {
		return to
	}
	// The first line may begin with the name that the text is assigned to.
	if first != from && to-from < 40 {
		return to
	}
	for line++; line < len(s.starts) && s.encodedLine(line); line++ {
		f, t := s.content(line)
		to = t
		if t-f < min(width, last-from) || s.text[t-1] == '=' {
			break
		}
	}
	return to
}

// bareKey checks a run that has the form of an AWS secret key: 40 characters.
func (s *scan) bareKey(from, to int) {
	if to-from != 40 || strings.IndexByte("_-./+~", s.at(from-1)) >= 0 || strings.IndexByte("_-./+~=", s.at(to)) >= 0 {
		return
	}
	v := s.text[from:to]
	upper, lower, digit, other := classes(v)
	if upper < 3 || lower < 3 || digit < 2 || other > 5 || strings.ContainsAny(v, "-_") {
		return
	}
	for part := range strings.SplitSeq(v, "/") {
		if len(part) >= 5 && wordy(part) {
			return
		}
	}
	if data, ok := decode(v); ok && textual(data) {
		return
	}
	s.add(from, to, AWSSecretKey)
}

// prefixed checks a run for a token that names its issuer, as most of today's do: ghp_..., sk-..., pscale_tkn_... The
// rest is longer than a generated part of any name of AWS or Kubernetes, and a mix of all kinds of characters.
func (s *scan) prefixed(from, to int) {
	v := s.text[from:to]
	cut := strings.LastIndexAny(v, "_-")
	if cut < 2 || cut > 24 || len(v)-cut <= 24 || !isLetter(v[0]) || strings.HasPrefix(asciiLower(v), "sha") {
		return
	}
	if upper, lower, digit, other := classes(v[cut+1:]); upper >= 3 && lower >= 3 && digit >= 3 && other == 0 {
		s.add(from, to, APIToken)
	}
}

// hides reports whether base64 decodes to something with a secret in it.
func (s *scan) hides(v string) bool {
	data, ok := decode(v)
	if !ok {
		return false
	}
	if privateDER(data) {
		return true
	}
	layers := 0
	for ; bytes.HasPrefix(data, []byte{0x1f, 0x8b, 8}); layers++ {
		zr, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return false
		}
		text, err := io.ReadAll(io.LimitReader(zr, int64(*s.budget)+1))
		if len(text) > *s.budget || layers == maxDepth { // its content is unknown
			return true
		}
		if err != nil && len(text) == 0 {
			return false
		}
		data = text
	}
	data = narrowed(data)
	if layers == 0 && !textual(data) && !latin(data) { // gzip may hold an archive with texts in it
		return false
	}
	if *s.budget -= len(data); *s.budget < 0 {
		return true
	}
	return layers == 0 && issued(string(data)) || len(find(string(data), s.depth+1, s.budget)) > 0
}

// pairOf matches a user and a password, as in a header of basic authentication and in Docker's auth.
// https://www.rfc-editor.org/rfc/rfc7617
var pairOf = pattern.New(`^[\w.@-]{1,64}:([!-9;-~]{4,})$`)

// issued reports whether a text is the inside of a credential in base64: a user with a password, or JSON without white
// space and with a generated value, as in ECR's authorization token. Certificates and public keys look generated too.
func issued(text string) bool {
	if m := pairOf.FindStringSubmatch(text); m != nil {
		return !number.MatchString(m[1]) && !strings.HasPrefix(m[1], "//")
	}
	if !strings.HasPrefix(text, `{"`) || strings.ContainsAny(text, " \t\r\n") {
		return false
	}
	for v := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= utf8.RuneSelf || !isBase64(byte(r)) }) {
		if len(v) >= 32 && opaque(strings.ReplaceAll(v, "/", "-")) && !publicData.MatchString(v) {
			return true
		}
	}
	return false
}

// publicData matches how base64 of a certificate in PEM or DER, or of a public key of SSH, begins.
var publicData = pattern.New(`^(?:LS0tLS1CRUdJTi|MII|AAAA)`)

// decode decodes base64 of either alphabet, with or without padding.
func decode(v string) ([]byte, bool) {
	if strings.ContainsAny(v, " \t\r\n") {
		v = strings.Join(strings.Fields(v), "")
	}
	v = strings.TrimRight(v, "=")
	if len(v)%4 == 1 {
		if len(v) < minCut {
			return nil, false
		}
		v = v[:len(v)-1]
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(v, "-_") {
		encoding = base64.RawURLEncoding
	}
	// Most text that resembles base64 is a word or a path, as its beginning shows.
	if len(v) > 64 {
		if head, err := encoding.DecodeString(v[:16]); err != nil || !textual(narrowed(head)) && head[0] != 0x1f && head[0] != 0x30 && utf8.Valid(head) {
			return nil, false
		}
	}
	data, err := encoding.DecodeString(v)
	return data, err == nil
}

// narrowed decodes UTF-16 with or without a byte order mark, in which PowerShell encodes commands and
// writes files. Characters beyond Latin-1 become question marks.
func narrowed(data []byte) []byte {
	if len(data) < 8 {
		return data
	}
	low := 0 // where a unit has its low byte
	switch {
	case data[0] == 0xff && data[1] == 0xfe:
		data = data[2:]
	case data[0] == 0xfe && data[1] == 0xff:
		data, low = data[2:], 1
	case data[0] != 0 && data[1] == 0 && data[3] == 0:
	case data[0] == 0 && data[1] != 0 && data[2] == 0:
		low = 1
	default:
		return data
	}
	out := make([]byte, 0, len(data)/2)
	for i := 0; i+1 < len(data); i += 2 {
		if data[i+1-low] == 0 {
			out = append(out, data[i+low])
		} else {
			out = append(out, '?')
		}
	}
	return out
}

// latin reports whether data is text in Latin-1 or the like, in which most characters are ASCII. Of
// random data half the bytes are not.
func latin(data []byte) bool {
	high := 0
	for _, c := range data {
		if c >= utf8.RuneSelf {
			high++
		}
	}
	return 4*high <= len(data) && !controls(data)
}

// controls reports whether data has control characters, which text lacks.
func controls(data []byte) bool {
	return slices.ContainsFunc(data, func(c byte) bool { return c < ' ' && !isSpace(c) && c != 0x1b || c == 0x7f })
}

// textual reports whether data is text in UTF-8.
func textual(data []byte) bool {
	if controls(data) {
		return false
	}
	// A truncated text may end in the middle of a character.
	for n := 0; n < 4 && len(data) > 0; n++ {
		if utf8.Valid(data) {
			return true
		}
		data = data[:len(data)-1]
	}
	return len(data) == 0
}

// privateDER reports whether data begins like a private key in DER: a sequence of version 0 or 1,
// followed by what PKCS #1, PKCS #8 or SEC 1 require.
func privateDER(data []byte) bool {
	if len(data) < 32 || data[0] != 0x30 {
		return false
	}
	n := 2 // of the tag and the length
	if data[1] >= 0x80 {
		n += int(data[1] & 0x7f)
	}
	return n <= 6 && data[n] == 2 && data[n+1] == 1 && data[n+2] <= 1 && (data[n+3] == 2 || data[n+3] == 0x30 || data[n+3] == 4)
}
