// Package page renders one standalone HTML page: a day of an account with its clusters,
// or one check of them.
//
// A Document is the content of the page; every part of it is optional. Findings with the same
// first cause are shown as one problem with its fix. Details are folded, and folded details are
// not printed. A Tone, the level of attention, is always shown as a shape and a word too.
//
// The page needs no network, no script and no web font: charts are inline SVG, and folding
// is native to the browser. Its Content-Security-Policy forbids everything else, so that
// text from tags and messages of an account stays text. The same document gives the same
// bytes: no clock is read, and times are shown in UTC.
package page

import (
	"bytes"
	"fmt"

	"rollcall/shared/roll"
)

// Render returns the page of a document as HTML in UTF-8. It fails only if the template
// does not match the type Document, which no value of a document can cause.
func Render(d Document) ([]byte, error) {
	var b bytes.Buffer
	if err := parsed().Execute(&b, compose(d)); err != nil {
		return nil, fmt.Errorf("render the page %q: %w", d.Title, err)
	}
	return []byte(roll.Visible(b.String())), nil // no text can move a terminal's cursor or turn the direction of what follows
}
