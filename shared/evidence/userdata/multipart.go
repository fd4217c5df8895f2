package userdata

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"

	"rollcall/shared/roll/pattern"
)

const maxParts = 64

// multipart reads a MIME document. A document that is not multipart has a single body.
func (r *reader) multipart(text, part string, depth int) {
	if strings.HasPrefix(text, "From ") { // the line that mail boxes put first
		_, text, _ = strings.Cut(text, "\n")
	}
	text = r.separated(text, part)
	body := bufio.NewReader(strings.NewReader(text))
	header, err := textproto.NewReader(body).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		r.problem(part, Multipart, Unparseable)
		return
	}
	mediaType, boundary := r.contentType(header, part)
	switch {
	case !strings.HasPrefix(mediaType, "multipart/"):
		rest, _ := io.ReadAll(body)
		r.body(rest, header, mediaType, part, depth)
	case boundary == "":
		r.problem(part, Multipart, Unparseable)
	default:
		r.parts(multipart.NewReader(body, boundary), part, depth)
	}
}

// headerLine matches a line that Python's parser, and so cloud-init, takes for one of a header.
// https://github.com/python/cpython/blob/3.9/Lib/email/feedparser.py
var headerLine = pattern.New(`^(?:From |[!-9;-~]*:|[\t ])`)

// separated adds the empty lines that are missing between headers and bodies. cloud-init does
// without: to it, a body begins with the first line that is not one of a header. nodeadm rejects
// such a document.
func (r *reader) separated(text, part string) string {
	boundary := ""
	if m := givenBoundary.FindStringSubmatch(text); m != nil {
		boundary = "--" + m[1] + m[2]
	}
	var out strings.Builder
	header, line := true, 0
	for l := range strings.Lines(text) {
		line++
		switch bare := strings.TrimRight(l, "\r\n"); {
		case boundary != "" && bare == boundary:
			if header && line > 1 {
				r.fault(Fault{Part: part, Format: Multipart, Reason: Unparseable, Line: line, By: ByNodeadm, Effect: Fails})
				out.WriteByte('\n')
			}
			header = true
		case !header:
		case bare == "":
			header = false
		case !headerLine.MatchString(bare):
			header = false
			r.fault(Fault{Part: part, Format: Multipart, Reason: Unparseable, Line: line, By: ByNodeadm, Effect: Fails})
			out.WriteByte('\n')
		}
		out.WriteString(l)
	}
	return out.String()
}

// givenBoundary matches the boundary that the header of a document gives, with or without quotes.
var givenBoundary = pattern.New(`(?im)\A(?:[^\n]+\n)*?content-type:[^\n]*(?:\n[ \t][^\n]*)*?boundary=(?:"([^"\n]*)"|([^\s;"]+))`)

func (r *reader) parts(parts *multipart.Reader, part string, depth int) {
	for i := 1; ; i++ {
		if i > maxParts {
			r.problem(part, Multipart, TooComplex)
			return
		}
		p, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // only the bare one: a wrapped one says that a boundary is missing
			return
		}
		if err != nil {
			r.problem(part, Multipart, Unparseable)
			return
		}
		name := fmt.Sprintf("part %d", i)
		if part != whole {
			name = fmt.Sprintf("%s.%d", part, i)
		}
		// cloud-init reads the last part of a document even without a closing boundary.
		content, err := io.ReadAll(p)
		if err != nil {
			r.problem(name, Multipart, Truncated)
		}
		mediaType, boundary := r.contentType(p.Header, name)
		if strings.HasPrefix(mediaType, "multipart/") {
			content = fmt.Appendf(nil, "Content-Type: %s; boundary=%q\n\n%s", mediaType, boundary, content)
			mediaType = ""
		}
		r.body(content, p.Header, mediaType, name, depth)
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
	_, disposition, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	_, params, _ := mime.ParseMediaType(header.Get("Content-Type"))
	r.fileNames[part] = cleanName(cmp.Or(disposition["filename"], params["name"])) // as Python's get_filename
	r.mergeTypes[part] = cmp.Or(header.Get("Merge-Type"), header.Get("X-Merge-Type"))
	r.document(content, mediaType, part, depth+1)
}

var unquotedBoundary = pattern.New(`(?i)boundary=([^;]*)`)

// contentType returns the media type, in lower case, and the boundary. cloud-init accepts an
// unquoted boundary with any character in it. nodeadm's parser does not, and rejects the whole
// document (nodeadm/internal/configprovider/mime.go).
func (r *reader) contentType(header textproto.MIMEHeader, part string) (mediaType, boundary string) {
	value := header.Get("Content-Type")
	mediaType, params, err := mime.ParseMediaType(value)
	if err == nil {
		return mediaType, params["boundary"]
	}
	if value != "" {
		r.fault(Fault{Part: part, Format: Multipart, Reason: BadContentType, By: ByNodeadm, Effect: Fails})
	}
	mediaType, _, _ = strings.Cut(value, ";")
	if m := unquotedBoundary.FindStringSubmatch(value); m != nil {
		boundary = strings.Trim(m[1], "\" \t")
	}
	return strings.ToLower(strings.TrimSpace(mediaType)), boundary
}
