package page

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// hostile are texts with a meaning in HTML, SVG, CSS, an attribute or a URL.
var hostile = []string{
	`<script>alert(1)</script>`,
	`"><svg onload=alert(1)><x y="`,
	`' onmouseover='alert(1)' x='`,
	`</title></style></svg><img src=x onerror=alert(1)>`,
	`</textarea><!-- --><![CDATA[ ]]> <?php`,
	`javascript:alert(1)//#");}*{background:url(//e.example)}`,
	`{{.Title}} {{template "symbols"}} ${x} &lt;b&gt; &amp;amp;`,
	"`+alert(1)+` \\u003cscript\\u003e %3Cscript%3E",
}

// filled returns a document in which every field is set. Each text contains s and a distinct
// number. There are two of everything.
func filled(s string) Document {
	f := filler{text: s}
	var d Document
	f.fill(reflect.ValueOf(&d).Elem(), "")
	d.From, d.To = midnight, after(24*hour)
	for i := range d.Clusters {
		d.Clusters[i].Timeline.From, d.Clusters[i].Timeline.To = midnight, after(24*hour)
	}
	return d
}

type filler struct {
	text  string
	n     int
	texts []string
}

func (f *filler) fill(v reflect.Value, field string) {
	f.n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(after(time.Duration(f.n%1440) * time.Minute)))
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("%s %s %05d", f.text, field, f.n))
		f.texts = append(f.texts, v.String())
	case v.Kind() == reflect.Int:
		v.SetInt(int64(f.n))
	case v.Kind() == reflect.Int64:
		v.SetInt(int64(time.Duration(f.n) * time.Second))
	case v.Kind() == reflect.Bool:
		v.SetBool(f.n%2 == 0)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), field)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); !unsaid(field) {
				f.fill(v.Field(i), v.Type().Name()+"."+field.Name)
			}
		}
	default:
		panic("a field of kind " + v.Kind().String())
	}
}

// unsaid reports whether a field of a shared type is never shown.
func unsaid(f reflect.StructField) bool { return f.Tag.Get("json") == "-" }

// texts returns all strings of a document.
func texts(d Document) []string {
	var out []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[time.Time]():
		case v.Kind() == reflect.String:
			out = append(out, v.String())
		case v.Kind() == reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if !unsaid(v.Type().Field(i)) {
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(d))
	return out
}

// skeleton returns a page without its texts: elements, and the names of attributes.
func skeleton(root *html.Node) []string {
	var out []string
	for e := range root.Descendants() {
		switch e.Type {
		case html.ElementNode:
			names := make([]string, 0, len(e.Attr))
			for _, a := range e.Attr {
				names = append(names, a.Key)
			}
			out = append(out, e.Data+" "+strings.Join(names, " "))
		case html.CommentNode:
			out = append(out, "comment")
		}
	}
	return out
}

func TestWhateverATextSaysStaysText(t *testing.T) {
	for _, s := range hostile {
		t.Run(s, func(t *testing.T) {
			harmless := skeleton(parse(t, render(t, filled(strings.Repeat("x", len(s))))))
			root := parse(t, render(t, filled(s)))
			diff := cmp.Diff(harmless, skeleton(root))
			expect.That(t, diff == "", "the text changed the page (-harmless +hostile)\n%s", diff)
			for _, e := range elements(root) {
				for _, a := range e.Attr {
					if a.Key != "title" && strings.Contains(a.Val, "alert") {
						t.Errorf("<%s %s=%q>", e.Data, a.Key, a.Val)
					}
				}
			}
		})
	}
}

func TestEveryTextIsOnThePage(t *testing.T) {
	documents := every()
	for i, s := range hostile {
		documents[fmt.Sprintf("hostile %d", i)] = filled(s)
	}
	for name, d := range documents {
		t.Run(name, func(t *testing.T) {
			page := words(elements(parse(t, render(t, d)), "body")[0])
			for _, s := range texts(d) {
				expect.That(t, strings.Contains(page, strings.TrimRight(s, "\n")), "%q is not on the page", s)
			}
		})
	}
}

func TestWhatMisleadsIsReplaced(t *testing.T) {
	for _, s := range []string{"\x1b[2J", "\x00", "\r", "\u0085", "\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\xff", "\x7f"} {
		page := string(render(t, filled("a"+s+"b")))
		expect.That(t, strings.Contains(page, "a\ufffd") && !strings.Contains(page, "a"+s), "%q is on the page", s)
	}
	for _, s := range []string{"Grüße", "日本語", "👩\u200d💻", "a\tb", "a\nb", "…"} {
		expect.That(t, strings.Contains(string(render(t, filled(s))), s), "%q is not on the page", s)
	}
}

func TestTheSameDocumentGivesTheSameBytes(t *testing.T) {
	for name, d := range every() {
		first := render(t, d)
		for range 5 {
			must.That(t, slices.Equal(first, render(t, d)), "%s is not the same twice", name)
		}
	}
}

// Unexpected values are drawn in some way, without failure.
func TestOddValues(t *testing.T) {
	day := func(change func(c *Cluster)) Document {
		d := day()
		change(&d.Clusters[0])
		return d
	}
	for name, d := range map[string]Document{
		"empty":              {},
		"no period":          day(func(c *Cluster) { c.Timeline.From = time.Time{} }),
		"no length":          day(func(c *Cluster) { c.Timeline.To = c.Timeline.From }),
		"backwards":          day(func(c *Cluster) { c.Timeline.To = c.Timeline.From.Add(-hour) }),
		"an instant":         day(func(c *Cluster) { c.Timeline.To = c.Timeline.From.Add(1) }),
		"a minute":           day(func(c *Cluster) { c.Timeline.To = c.Timeline.From.Add(minute) }),
		"a month":            day(func(c *Cluster) { c.Timeline.To = c.Timeline.From.Add(31 * 24 * hour) }),
		"centuries":          day(func(c *Cluster) { c.Timeline.To = c.Timeline.From.AddDate(900, 0, 0) }),
		"an empty timeline":  day(func(c *Cluster) { c.Timeline = &Timeline{From: c.Timeline.From, To: c.Timeline.To} }),
		"no times":           day(func(c *Cluster) { c.Timeline.Lanes = []Lane{{Spans: []Span{{}}, Marks: []Mark{{}}}} }),
		"spans backwards":    day(func(c *Cluster) { s := &c.Timeline.Lanes[0].Spans[0]; s.From, s.To = s.To, s.From }),
		"samples backwards":  day(func(c *Cluster) { slices.Reverse(c.Timeline.Ready) }),
		"nothing known":      day(func(c *Cluster) { c.Timeline.Ready = []Sample{{At: midnight, Unknown: true}} }),
		"negative counts":    day(func(c *Cluster) { c.Nodes, c.Ready = -1, -2; c.Groups[0].Registration.Buckets[1].Count = -4 }),
		"more ready than is": day(func(c *Cluster) { c.Nodes, c.Ready = 1, 2; c.Timeline.Ready[0].Ready = 99 }),
		"one bucket":         day(func(c *Cluster) { c.Groups[0].Registration.Buckets = []Bucket{{}} }),
		"equal buckets":      day(func(c *Cluster) { c.Groups[0].Registration.Buckets = []Bucket{{minute, 1}, {minute, 2}} }),
		"short rows":         {Tables: []Table{{Rows: [][]string{nil, {"a"}, {"a", "b"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			page := string(render(t, d))
			for _, s := range []string{"NaN", "Inf", `width="-`, `height="-`, "%!"} {
				if i := strings.Index(page, s); i >= 0 {
					t.Errorf("%s is on the page: %.80q", s, page[max(0, i-40):])
				}
			}
		})
	}
}
