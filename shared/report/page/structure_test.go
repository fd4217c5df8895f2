package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// parse parses a page as a browser does.
func parse(t testing.TB, page []byte) *html.Node {
	t.Helper()
	n, err := html.Parse(bytes.NewReader(page))
	must.Succeed(t, err)
	return n
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// words returns all text below a node.
func words(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// elements returns the elements below a node with one of the names.
func elements(n *html.Node, names ...string) []*html.Node {
	var out []*html.Node
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && (len(names) == 0 || slices.Contains(names, c.Data)) {
			out = append(out, c)
		}
	}
	return out
}

// every returns the documents that each structure test checks.
func every() map[string]Document {
	return map[string]Document{"day": day(), "look": glance(), "minimal": {Title: "Nothing to show"}, "filled": filled("text"), "hostile": filled(hostile[0])}
}

func eachPage(t *testing.T, check func(t *testing.T, page []byte, root *html.Node)) {
	t.Helper()
	for name, d := range every() {
		t.Run(name, func(t *testing.T) {
			page := render(t, d)
			check(t, page, parse(t, page))
		})
	}
}

func TestNothingIsLoadedAndNothingElseRuns(t *testing.T) {
	allowed := []string{
		"html", "head", "body", "meta", "title", "style", "header", "main", "footer", "section", "h1", "h2", "h3", "h4", "h5", "p", "a", "b", "i", "small", "span", "code", "pre",
		"ul", "li", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption",
		"label", "input", "select", "option", "script",
		"svg", "defs", "g", "path", "circle", "rect", "line", "text", "use", "desc",
	}
	eachPage(t, func(t *testing.T, _ []byte, root *html.Node) {
		for _, e := range elements(root) {
			expect.That(t, slices.Contains(allowed, e.Data), "<%s> is on the page", e.Data)
			for _, a := range e.Attr {
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "src", a.Key == "style", a.Key == "srcset", a.Key == "action":
					t.Errorf("<%s> has %s=%q", e.Data, a.Key, a.Val)
				case a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
					t.Errorf("<%s> leads to %q", e.Data, a.Val)
				}
			}
		}
	})
}

func TestThePagesOfSamplesNameNoResource(t *testing.T) {
	for _, d := range []Document{day(), glance(), {Title: "Nothing to show"}} {
		page := string(render(t, d))
		for _, s := range []string{"http:", "https:", "src=", "@import", "url(", "<script ", "javascript:", "ZgotmplZ", "NaN", "Inf"} {
			if i := strings.Index(page, s); i >= 0 {
				t.Errorf("%s: %q is on the page: %.80q", d.Title, s, page[max(0, i-40):])
			}
		}
	}
}

func TestThePolicyAllowsTheStyleSheetAndTheSearchAlone(t *testing.T) {
	eachPage(t, func(t *testing.T, _ []byte, root *html.Node) {
		styles := elements(root, "style")
		must.That(t, len(styles) == 1, "%d style sheets", len(styles))
		sum := sha256.Sum256([]byte(words(styles[0])))
		for _, s := range elements(root, "script") {
			if words(s) != search || len(elements(root, "script")) != 1 {
				t.Errorf("a script that is not the search: %.200s", words(s))
			}
		}
		mine := sha256.Sum256([]byte(search))
		want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(mine[:]) + "'; base-uri 'none'; form-action 'none'"
		for i, m := range elements(root, "meta") {
			if v, _ := attribute(m, "http-equiv"); v == "Content-Security-Policy" {
				got, _ := attribute(m, "content")
				expect.That(t, got == want, "policy %q, want %q", got, want)
				return
			} else if i > 4 {
				break
			}
		}
		t.Error("no policy")
	})
}

func TestLinksLeadSomewhereAndNamesAreUnique(t *testing.T) {
	eachPage(t, func(t *testing.T, _ []byte, root *html.Node) {
		ids := map[string]bool{}
		for _, e := range elements(root) {
			if id, ok := attribute(e, "id"); ok {
				expect.That(t, !ids[id], "id %q twice", id)
				ids[id] = true
			}
		}
		for _, e := range elements(root) {
			for _, name := range []string{"href", "aria-labelledby", "aria-describedby"} {
				if v, ok := attribute(e, name); ok && !ids[strings.TrimPrefix(v, "#")] {
					t.Errorf("<%s %s=%q> leads nowhere", e.Data, name, v)
				}
			}
		}
	})
}

func TestHeadingsAreInOrder(t *testing.T) {
	eachPage(t, func(t *testing.T, _ []byte, root *html.Node) {
		last := 0
		for _, h := range elements(root, "h1", "h2", "h3", "h4", "h5") {
			level := int(h.Data[1] - '0')
			if level > last+1 {
				t.Errorf("<%s> %q follows a heading of level %d", h.Data, words(h), last)
			}
			if level == 1 && last > 0 {
				t.Error("a second <h1>")
			}
			expect.That(t, strings.TrimSpace(words(h)) != "", "an empty <%s>", h.Data)
			last = level
		}
	})
}

func TestPartsSayWhatTheyAre(t *testing.T) {
	eachPage(t, func(t *testing.T, _ []byte, root *html.Node) {
		l, _ := attribute(elements(root, "html")[0], "lang")
		expect.That(t, l == "en", "lang %q", l)
		for _, landmark := range []string{"header", "main"} {
			n := len(elements(root, landmark))
			expect.That(t, n == 1, "%d <%s>", n, landmark)
		}
		for _, e := range elements(root, "table") {
			if c := elements(e, "caption"); len(c) != 1 || strings.TrimSpace(words(c[0])) == "" {
				t.Errorf("a table without a caption: %.60q", words(e))
			}
			for _, h := range elements(e, "th") {
				if s, _ := attribute(h, "scope"); s != "col" && s != "row" {
					t.Errorf("a <th> with scope %q: %q", s, words(h))
				}
			}
		}
		for _, e := range elements(root, "details") {
			if first := elements(e); len(first) == 0 || first[0].Data != "summary" {
				t.Errorf("folded without a summary: %.60q", words(e))
			}
		}
		for _, e := range elements(root, "svg") {
			if e.Parent.Namespace == "svg" {
				continue // a part of a chart
			}
			hidden, _ := attribute(e, "aria-hidden")
			role, _ := attribute(e, "role")
			named := len(elements(e, "title")) > 0 && len(elements(e, "desc")) == 1
			if hidden != "true" && (role != "img" || !named) {
				t.Errorf("a picture without words: %v", e.Attr)
			}
		}
		for _, e := range elements(root) {
			if c, _ := attribute(e, "class"); c == "scroll" {
				tab, _ := attribute(e, "tabindex")
				_, by := attribute(e, "aria-labelledby")
				_, label := attribute(e, "aria-label")
				if tab != "0" || !by && !label {
					t.Errorf("a box that scrolls and cannot be reached or has no name: %v", e.Attr)
				}
			}
		}
	})
}
