// Package page renders one HTML page that stands by itself: a day in the life of an
// account with its clusters, or one look at them.
//
// A Document is what the page says: answers, figures, clusters, notices, tables. A cluster has
// findings with their causes, what was held back, acts, groups with registration times,
// zones, and a Timeline. Findings with one cause are shown as one problem with its fix.
// Details are folded, and what is folded is not printed. A timeline has the cluster's ready nodes as Samples, a Lane for
// each instance, and Bands, stretches in which something held for the whole cluster. On a
// lane, a Span is a stretch in which the instance was in one State, and a Mark a moment
// in which something happened. A Tone says how much a thing deserves attention; it is
// always shown as a shape and a word too. Every part of a document may be left out.
//
// The page needs no network, no script and no font but the reader's: charts are SVG in
// the page, folding is the browser's own. Its policy forbids the rest, so that whatever
// a tag or a message of an account says stays text. The same document gives the same
// bytes: no clock is read, and times are shown in UTC.
package page

import (
	"bytes"
	"fmt"
)

// Render returns the page of a document as HTML in UTF-8. It fails only if the template
// does not fit the document, which no value of a document can cause.
func Render(d Document) ([]byte, error) {
	var b bytes.Buffer
	if err := pages.Execute(&b, compose(d)); err != nil {
		return nil, fmt.Errorf("render the page %q: %w", d.Title, err)
	}
	return plain(b.Bytes()), nil
}
