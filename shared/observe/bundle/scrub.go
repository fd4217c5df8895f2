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

// scrubbed returns user data without its secrets; gzip stays gzip. If the notes make it longer than
// EC2 would keep, although it was not, it is compressed with gzip, which cloud-init and
// Bottlerocket decompress: it must not look as if it had been too large. ok is false for gzip that
// cannot be decompressed, which cannot be searched for secrets.
func scrubbed(data []byte) (clean []byte, ok bool) {
	plain, zipped, ok := unzip(data)
	if !ok {
		return nil, false
	}
	text := redact.Text(string(plain))
	if zipped || len(text) > userdata.MaxRaw && len(data) <= userdata.MaxRaw {
		return zip([]byte(text)), true
	}
	return []byte(text), true
}

// maxUnzipped bounds the size after decompression, because a small gzip can expand to a very large
// text.
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

// encoded returns user data in base64, without its secrets. Text that is not base64 is redacted as
// it is.
func encoded(v string) string {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v), ""))
	if err != nil || len(data) == 0 || !utf8.Valid(data) && !bytes.HasPrefix(data, gzipMagic) {
		return redact.Text(v)
	}
	clean, ok := scrubbed(data)
	if !ok {
		clean = []byte("[redacted: gzip that could not be undone]")
	}
	return base64.StdEncoding.EncodeToString(clean)
}
