package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"rollcall/shared/evidence/redact"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll/pattern"
)

// withheld stands for user data that cannot be searched for secrets.
const withheld = "[redacted: data that could not be searched]"

// maxLayers bounds how often gzip is undone.
const maxLayers = 4

// scrubbed returns user data without its secrets, in its encoding: gzip stays gzip, and UTF-16
// stays UTF-16. If the notes make it longer than EC2 would keep, although it was not, it is
// compressed with gzip, which cloud-init and Bottlerocket decompress: it must not look as if it had
// been too large. ok is false for data that cannot be searched for secrets: gzip that cannot be
// decompressed, and what is no text.
func scrubbed(data []byte) (clean []byte, ok bool) {
	s := scrubber{room: maxUnzipped}
	if clean, ok = s.layer(data, maxLayers); !ok {
		return nil, false
	}
	if len(clean) > userdata.MaxRaw && len(data) <= userdata.MaxRaw && !bytes.HasPrefix(clean, gzipMagic) {
		return zip(clean), true
	}
	return clean, true
}

// scrubber bounds how much is decompressed in all.
type scrubber struct{ room int }

// layer is scrubbed for data in which gzip may be undone so often.
func (s *scrubber) layer(data []byte, left int) (clean []byte, ok bool) {
	if bytes.HasPrefix(data, gzipMagic) {
		inner, _, ok := unzip(data)
		return s.zipped(inner, ok, left)
	}
	if order, mark := wide(data); order != nil {
		text := redact.Text(string(fromUTF16(data[mark:], order)))
		return append(bytes.Clone(data[:mark]), toUTF16(text, order)...), true
	}
	data, parts, ok := s.parted(data, left)
	if !ok || bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	text, parts := s.decoded(string(data), parts, left)
	text = redact.Text(text)
	for i, part := range parts {
		text = strings.Replace(text, part.stand(i), string(part), 1)
	}
	return []byte(text), true
}

// zipped is layer for what was decompressed, and compresses it again.
func (s *scrubber) zipped(inner []byte, ok bool, left int) (clean []byte, done bool) {
	if s.room -= len(inner); !ok || left == 0 || s.room < 0 {
		return nil, false
	}
	clean, ok = s.layer(inner, left-1)
	return zip(clean), ok
}

// part is gzip in other data, such as in a part of a MIME document.
type part []byte

// stand returns what stands for the part in the text around it.
func (p part) stand(i int) string { return "\x1f" + strconv.Itoa(i) + "\x1f" }

// maxParts bounds how often gzip may be in other data, as cloud-init's user data has few parts.
const maxParts = 64

// parted takes gzip out of data, and returns it without its secrets.
func (s *scrubber) parted(data []byte, left int) (rest []byte, parts []part, ok bool) {
	for {
		at := bytes.Index(data, []byte{0x1f, 0x8b, 8}) // deflate, the only method
		if at < 0 {
			return append(rest, data...), parts, true
		}
		if len(parts) == maxParts {
			return nil, nil, false
		}
		inner, after, ok := unzipFirst(data[at:])
		p, ok := s.zipped(inner, ok, left)
		if !ok {
			return nil, nil, false
		}
		rest = append(append(rest, data[:at]...), part(p).stand(len(parts))...)
		parts, data = append(parts, p), after
	}
}

// base64Header matches the header of a part of a MIME document in base64, as Python's email package and AWS CDK write
// them, and the headers after it.
var base64Header = pattern.New(`(?im)^content-transfer-encoding:[ \t]*base64[ \t]*\r?\n(?:[^\r\n][^\n]*\n)*\r?\n`)

// decoded takes parts of a MIME document out of data that are base64 with secrets, and returns it without their
// secrets. Other parts stay, and those that cannot be searched: package redact removes what it finds in them.
func (s *scrubber) decoded(data string, parts []part, left int) (string, []part) {
	var rest strings.Builder
	for range maxParts {
		header := base64Header.FindStringIndex(data)
		if header == nil || left == 0 || len(parts) == maxParts {
			break
		}
		body, _, _ := strings.Cut(data[header[1]:], "\n--")
		rest.WriteString(data[:header[1]])
		data = data[header[1]:]
		inner, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), ""))
		if s.room -= len(inner); err != nil || s.room < 0 {
			continue
		}
		if clean, ok := s.layer(inner, left-1); ok && !bytes.Equal(clean, inner) {
			p := wrapped(clean)
			rest.WriteString(p.stand(len(parts)))
			parts, data = append(parts, p), data[len(body):]
		}
	}
	return rest.String() + data, parts
}

// wrapped returns base64 in lines of 76 characters (RFC 2045).
func wrapped(data []byte) part {
	lines := slices.Chunk(base64.StdEncoding.AppendEncode(nil, data), 76)
	return bytes.Join(slices.Collect(lines), []byte("\n"))
}

// unzipFirst decompresses the gzip that data begins with, and returns what follows it.
func unzipFirst(data []byte) (inner, after []byte, ok bool) {
	from := bytes.NewReader(data)
	r, err := gzip.NewReader(from)
	if err != nil {
		return nil, nil, false
	}
	r.Multistream(false)
	inner, err = io.ReadAll(io.LimitReader(r, maxUnzipped+1))
	return inner, data[len(data)-from.Len():], err == nil && len(inner) <= maxUnzipped
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

// wide returns the byte order of text in UTF-16 and the length of its mark, nil for other data. A
// mark alone proves nothing: most characters of a script are ASCII, so that most of its units have a
// zero.
func wide(data []byte) (order binary.ByteOrder, mark int) {
	if len(data) > 1 && (data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff) {
		mark = 2
	}
	var zeros [2]int
	for i, c := range data[mark:] {
		if c == 0 {
			zeros[i%2]++
		}
	}
	units := (len(data) - mark) / 2
	switch {
	case (len(data)-mark)%2 != 0 || units == 0:
	case zeros[0] == 0 && zeros[1] > units/2:
		return binary.LittleEndian, mark
	case zeros[1] == 0 && zeros[0] > units/2:
		return binary.BigEndian, mark
	}
	return nil, 0
}

func toUTF16(text string, order binary.ByteOrder) []byte {
	data, _ := binary.Append(nil, order, utf16.Encode([]rune(text)))
	return data
}

// encoded returns a field of user data without its secrets. It holds base64, in EC2NodeClasses also
// the text itself.
func encoded(v string) string {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v), ""))
	if err != nil || len(data) == 0 {
		return redact.Text(v)
	}
	clean, ok := scrubbed(data)
	switch {
	case !ok:
		clean = []byte(withheld)
	case bytes.Equal(clean, data):
		return redact.Text(v)
	}
	return base64.StdEncoding.EncodeToString(clean)
}

// plain returns the file's text in UTF-8 without a byte order mark. PowerShell 5 writes UTF-16 with
// > or Out-File, with or without a mark.
// https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_character_encoding
func plain(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return data[3:]
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return fromUTF16(data[2:], binary.BigEndian)
	case len(data) > 1 && data[0] != 0 && data[1] == 0:
		return fromUTF16(data, binary.LittleEndian)
	case len(data) > 1 && data[0] == 0 && data[1] != 0:
		return fromUTF16(data, binary.BigEndian)
	}
	return data
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	_, _ = binary.Decode(data, order, units) // they fit
	return []byte(string(utf16.Decode(units)))
}
