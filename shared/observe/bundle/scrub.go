package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"

	"rollcall/shared/evidence/redact"
	"rollcall/shared/evidence/userdata"
)

// scrubber takes secrets out of what is written. It remembers texts: most recur, in tags
// and labels above all.
type scrubber struct {
	seen map[[2]string]string
}

func newScrubber() *scrubber { return &scrubber{seen: map[[2]string]string{}} }

// text is a text without its secrets.
func (s *scrubber) text(v string) string {
	clean, ok := s.seen[[2]string{"", v}]
	if !ok {
		clean, _ = redact.Text(v)
		s.seen[[2]string{"", v}] = clean
	}
	return clean
}

// named is a value without its secrets that has a name which people chose, such as a
// tag's. Under a name that announces a secret nothing of the value is kept.
func (s *scrubber) named(name, v string) string {
	key := [2]string{name + ":", v}
	clean, ok := s.seen[key]
	if ok {
		return clean
	}
	clean = s.text(v)
	_, alone := redact.Text(v)
	if _, hits := redact.Text(name + ": " + v); len(hits) > len(alone) {
		clean = "[redacted: " + string(hits[0].Kind) + "]"
	}
	s.seen[key] = clean
	return clean
}

// userData is user data without its secrets; gzip stays gzip. Where the notes make it
// longer than EC2 would keep, though it was not, it becomes gzip, which cloud-init and
// Bottlerocket undo: it must not look as if it had been too large. ok is false for gzip
// that cannot be undone, in which nobody can look for secrets.
func (s *scrubber) userData(data []byte) (clean []byte, ok bool) {
	plain, zipped, ok := unzip(data)
	if !ok {
		return nil, false
	}
	text, _ := redact.Text(string(plain))
	if zipped || len(text) > userdata.MaxRaw && len(data) <= userdata.MaxRaw {
		return zip([]byte(text)), true
	}
	return []byte(text), true
}

// maxUnzipped bounds what gzip is undone to, for it is cheap to make much of little.
const maxUnzipped = 4 << 20

func unzip(data []byte) (plain []byte, zipped, ok bool) {
	if !bytes.HasPrefix(data, gzipMagic) {
		return data, false, true
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, true, false
	}
	plain, err = io.ReadAll(io.LimitReader(r, maxUnzipped+1))
	return plain, true, err == nil && len(plain) <= maxUnzipped
}

func zip(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// encoded is user data in base64, without its secrets. What is no base64 is redacted as
// the text that it is.
func (s *scrubber) encoded(v string) string {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v), ""))
	if err != nil || len(data) == 0 || !utf8.Valid(data) && !bytes.HasPrefix(data, gzipMagic) {
		return s.text(v)
	}
	clean, ok := s.userData(data)
	if !ok {
		clean = []byte("[redacted: gzip that could not be undone]")
	}
	return base64.StdEncoding.EncodeToString(clean)
}
