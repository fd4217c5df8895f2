package userdata

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"
)

const maxParts = 64

// multipart reads a MIME document. One that is not multipart after all has a
// single body.
func (r *reader) multipart(text, part string, depth int) {
	if strings.HasPrefix(text, "From ") { // the line that mail boxes put first
		_, text, _ = strings.Cut(text, "\n")
	}
	body := bufio.NewReader(strings.NewReader(text))
	header, err := textproto.NewReader(body).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		r.problem(part, Multipart, Unparseable)
		return
	}
	mediaType, boundary := contentType(header)
	r.strictType(header, part)
	if !strings.HasPrefix(mediaType, "multipart/") {
		rest, _ := io.ReadAll(body)
		r.body(rest, header, mediaType, part, depth)
		return
	}
	if boundary == "" {
		r.problem(part, Multipart, Unparseable)
		return
	}
	parts := multipart.NewReader(body, boundary)
	for i := 1; ; i++ {
		if i > maxParts {
			r.problem(part, Multipart, TooComplex)
			return
		}
		p, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // only the bare one: a wrapped one says that a boundary is missing
			return
		}
		name := fmt.Sprintf("part %d", i)
		if part != whole {
			name = fmt.Sprintf("%s.%d", part, i)
		}
		if err != nil {
			r.problem(part, Multipart, Unparseable)
			return
		}
		// The last part of a document without a closing boundary is still there
		// to be read: cloud-init reads it.
		content, err := io.ReadAll(p)
		if err != nil {
			r.problem(name, Multipart, Truncated)
		}
		partType, inner := contentType(p.Header)
		r.strictType(p.Header, name)
		if strings.HasPrefix(partType, "multipart/") {
			content = fmt.Appendf(nil, "Content-Type: %s; boundary=%q\n\n%s", partType, inner, content)
			partType = ""
		}
		r.body(content, p.Header, partType, name, depth)
		if err != nil {
			return
		}
	}
}

func (r *reader) body(content []byte, header textproto.MIMEHeader, mediaType, part string, depth int) {
	if strings.EqualFold(strings.TrimSpace(header.Get("Content-Transfer-Encoding")), "base64") {
		decoded, ok := decodeBase64(string(content))
		if !ok {
			r.problem(part, Multipart, Undecodable)
			return
		}
		content = decoded
	}
	r.document(content, mediaType, part, depth+1)
}

// strictType tells of a header that is read here, and by cloud-init, but not by
// nodeadm, which gives the whole document up for it
// (nodeadm/internal/configprovider/mime.go).
func (r *reader) strictType(header textproto.MIMEHeader, part string) {
	value := header.Get("Content-Type")
	if _, _, err := mime.ParseMediaType(value); err != nil && value != "" {
		r.fault(Fault{Problem: Problem{part, Multipart, BadContentType}, By: ByNodeadm, Effect: Fails})
	}
}

// contentType is the media type, in lower case, and the boundary. cloud-init
// accepts an unquoted boundary with any character in it, mime does not.
func contentType(header textproto.MIMEHeader) (mediaType, boundary string) {
	value := header.Get("Content-Type")
	mediaType, params, err := mime.ParseMediaType(value)
	if err == nil {
		return mediaType, params["boundary"]
	}
	mediaType, _, _ = strings.Cut(value, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	if i := strings.Index(asciiLower(value), "boundary="); i >= 0 {
		boundary, _, _ = strings.Cut(value[i+len("boundary="):], ";")
		boundary = strings.Trim(boundary, "\" \t")
	}
	return mediaType, boundary
}
