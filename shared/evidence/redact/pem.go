package redact

import (
	"strings"

	"rollcall/shared/roll/pattern"
)

var (
	pemEdge = pattern.New(`-----(BEGIN|END) ([^-\n"']{0,48})-----`)
	pemHead = pattern.New(`^(?:Proc-Type|DEK-Info|Comment):`)
	// public matches the labels of blocks that are not secret.
	public = pattern.New(`CERTIFICATE|PUBLIC KEY|PARAMETERS|CRL|HOST KEY|PKCS7|CMS|SIGNATURE|SIGNED MESSAGE`)
)

// pem removes PEM blocks, complete or cut at either end, on lines of their own or in a string with
// escaped line breaks.
func (s *scan) pem() {
	begun := -1
	edges := pemEdge.FindAllStringSubmatchIndex(s.text, -1)
	for i, m := range edges {
		label := s.text[m[4]:m[5]]
		secret := strings.Contains(label, "PRIVATE") || !public.MatchString(label)
		switch {
		case s.text[m[2]:m[3]] == "BEGIN":
			begun = -1
			if !secret {
				break
			}
			begun = m[0]
			if i+1 == len(edges) || s.text[edges[i+1][2]:edges[i+1][3]] == "BEGIN" {
				s.add(m[0], s.encodedBelow(s.line(m[1])), PrivateKey)
			}
		case begun >= 0:
			s.add(begun, m[1], PrivateKey)
			begun = -1
		case secret: // the block began before the text did
			first := s.line(m[0])
			for first > 0 && s.encodedLine(first-1) {
				first--
			}
			s.add(s.starts[first], m[1], PrivateKey)
		}
	}
}

// encodedBelow returns the end of the lines after a given line that look like a block's.
func (s *scan) encodedBelow(line int) (end int) {
	end = s.endOf(line)
	for line++; line < len(s.starts); line++ {
		from, to := s.content(line)
		if from < to && !s.encodedLine(line) && !pemHead.MatchString(s.text[from:to]) {
			break
		}
		end = s.endOf(line)
	}
	return end
}

// encodedLine reports whether a line is only base64, of the length an encoder produces. The last
// line of a block may be shorter.
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
