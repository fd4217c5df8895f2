package browser

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/ledongthuc/pdf"
)

var chrome *Browser

// made is the folder of the pages that the commands write: day is the demo's, reasons that of an
// explanation.
var made, day, reasons string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
		defer cancel()
		if os.Getenv("ROLLCALL_NO_BROWSER") != "" {
			fmt.Fprintln(os.Stderr, "ROLLCALL_NO_BROWSER is set: the tests of pages in a browser are left out")
			return 0
		}
		if err := setUp(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer chrome.Close()
		defer func() { _ = os.RemoveAll(made) }()
		return m.Run()
	}())
}

// setUp starts the browser, and has the commands write their pages.
func setUp(ctx context.Context) error {
	path, err := Find(ctx, false)
	if err != nil {
		return err
	}
	if chrome, err = Start(ctx, path); err != nil {
		return err
	}
	if made, err = os.MkdirTemp("", "pages-*"); err != nil {
		return err
	}
	tool := filepath.Join(made, "rollcall")
	day, reasons = filepath.Join(made, "day.html"), filepath.Join(made, "explain.html")
	for _, args := range [][]string{
		{"go", "build", "-ldflags", "-s -w", "-o", tool, "./functions/local"},
		{tool, "demo", "--html", day},
		{tool, "explain", "--bundle", "tests/corpus/examples/controller-role-in-aws-auth", "--html", reasons},
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Stderr = root(), os.Stderr
		if err := cmd.Run(); err != nil && (args[1] != "explain" || cmd.ProcessState.ExitCode() != 2) { // it finds something
			return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}

// pages returns the pages that Rollcall makes. Those of checks are the golden files of
// shared/report, byte for byte what rollcall check --html writes.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"demo": day, "explain": reasons}
	files, err := filepath.Glob(filepath.Join(root(), "shared/report/testdata/page-*.golden.html"))
	if err != nil || len(files) < 4 {
		t.Fatalf("golden pages: %v %v", files, err)
	}
	for _, f := range files {
		out[strings.TrimSuffix(filepath.Base(f), ".golden.html")] = f
	}
	return out
}

func each(t *testing.T, v View, look func(t *testing.T, p *Page)) {
	t.Helper()
	for name, file := range pages(t) {
		t.Run(name, func(t *testing.T) {
			p, err := chrome.Open(file, v)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			look(t, p)
		})
	}
}

func ask[T any](t *testing.T, p *Page, question string) T {
	t.Helper()
	answer, err := Ask[T](p, question)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestNothingIsLoadedAndNothingComplains(t *testing.T) {
	each(t, View{Width: 1280, Height: 800}, func(t *testing.T, p *Page) {
		if err := p.Do(chromedp.Sleep(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if got := p.Complaints(); len(got) > 0 {
			t.Errorf("the browser complains: %q", got)
		}
		if got := p.Asked(); len(got) > 0 {
			t.Errorf("the page asked for %q", got)
		}
	})
}

func TestNoPageIsScrolledSideways(t *testing.T) {
	for _, width := range []int64{360, 768, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			each(t, View{Width: width, Height: 800}, func(t *testing.T, p *Page) {
				for _, when := range []string{"as it opens", "unfolded"} {
					for _, found := range ask[[]string](t, p, "overflow()") {
						t.Errorf("%s: %s", when, found)
					}
					ask[int](t, p, "unfold(), 0")
				}
			})
		})
	}
}

// All text has the contrast that WCAG 2.2 requires, 1.4.3, on its real background.
func TestEveryTextIsLegible(t *testing.T) {
	for _, dark := range []bool{false, true} {
		t.Run(map[bool]string{false: "light", true: "dark"}[dark], func(t *testing.T) {
			each(t, View{Width: 1280, Height: 60_000, Dark: dark}, func(t *testing.T, p *Page) {
				ask[int](t, p, "unfold(), 0")
				got := ask[struct {
					Seen  int
					Faint []string
				}](t, p, "texts(4.5)")
				if got.Seen < 15 {
					t.Errorf("only %d texts are seen", got.Seen)
				}
				for _, f := range got.Faint {
					t.Error(f)
				}
				for _, c := range ask[[]string](t, p, "covered()") {
					t.Errorf("two labels cover one another: %s", c)
				}
			})
		})
	}
}

// The dark and the light page differ: the page follows the reader's preference.
func TestAPageFollowsTheReader(t *testing.T) {
	var got []string
	for _, dark := range []bool{false, true} {
		p, err := chrome.Open(pages(t)["page-account"], View{Width: 800, Height: 600, Dark: dark})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ask[string](t, p, "getComputedStyle(document.body).backgroundColor"))
		p.Close()
	}
	if got[0] != "rgb(255, 255, 255)" || got[1] == got[0] {
		t.Errorf("light is %s, dark is %s", got[0], got[1])
	}
}

// Without scripts nothing is missing, and folded parts can be unfolded.
func TestAPageNeedsNoScript(t *testing.T) {
	each(t, View{Width: 1280, Height: 60_000, NoScript: true}, func(t *testing.T, p *Page) {
		if n := ask[int](t, p, "document.body.innerText.length"); n < 300 {
			t.Errorf("%d characters are seen", n)
		}
		if ask[bool](t, p, "[...document.querySelectorAll('#find')].some((e) => e.checkVisibility())") {
			t.Error("the search is shown, and cannot work")
		}
		const folded = "document.querySelectorAll('details:not([open])').length"
		before := ask[int](t, p, folded)
		if before == 0 {
			return
		}
		at := ask[struct{ X, Y float64 }](t, p, "(() => { const s = [...document.querySelectorAll('details:not([open]) > summary')].find((s) => s.checkVisibility()); s.scrollIntoView(); const b = s.getBoundingClientRect(); return {X: b.x + 8, Y: b.y + b.height / 2} })()")
		if err := p.Do(chromedp.MouseClickXY(at.X, at.Y)); err != nil {
			t.Fatal(err)
		}
		if after := ask[int](t, p, folded); after != before-1 {
			t.Errorf("%d parts were folded, and after a click %d", before, after)
		}
	})
}

func TestWhatHasTheFocusIsSeen(t *testing.T) {
	each(t, View{Width: 1280, Height: 800}, func(t *testing.T, p *Page) {
		met := 0
		for range 40 {
			if err := p.Do(chromedp.KeyEvent(kb.Tab)); err != nil {
				t.Fatal(err)
			}
			got := ask[struct {
				What, Style string
				Body        bool
				Width       float64
			}](t, p, "focus()")
			if got.Body {
				break
			}
			met++
			if got.Width < 2 || got.Style == "none" {
				t.Errorf("%s has the focus, and a border of %v (%s)", got.What, got.Width, got.Style)
			}
		}
		if met < 1 {
			t.Errorf("%d parts can be reached by the keyboard", met)
		}
	})
}

// axe-core finds nothing serious, in light and dark, with everything unfolded.
func TestNothingKeepsAPersonOut(t *testing.T) {
	source := axe(t)
	for _, dark := range []bool{false, true} {
		t.Run(map[bool]string{false: "light", true: "dark"}[dark], func(t *testing.T) {
			each(t, View{Width: 1280, Height: 800, Dark: dark}, func(t *testing.T, p *Page) {
				ask[int](t, p, "unfold(), 0")
				for _, v := range serious(t, p, source) {
					t.Errorf("%s (%s): %s, such as %.200s", v.ID, v.Impact, v.Help, v.Nodes[0].HTML)
				}
			})
		})
	}
}

// axe returns the source of axe-core. It comes from npm, which a machine with a browser of its own
// may lack.
func axe(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("axe-core comes from npm, which this machine lacks")
	}
	path, err := Axe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func serious(t *testing.T, p *Page, source string) (out []Violation) {
	t.Helper()
	all, err := p.Violations(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.Impact == "serious" || v.Impact == "critical" {
			out = append(out, v)
		}
	}
	return out
}

func TestAxeFindsWhatIsSerious(t *testing.T) {
	source := axe(t)
	file := filepath.Join(t.TempDir(), "wrong.html")
	if err := os.WriteFile(file, []byte(`<!doctype html><html lang="en"><title>wrong</title><h1>x</h1><img src="data:,"><p style="color:#bbb;background:#fff">faint</p>`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := chrome.Open(file, View{Width: 800, Height: 600})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	found := map[string]bool{}
	for _, v := range serious(t, p, source) {
		found[v.ID] = true
	}
	if !found["image-alt"] || !found["color-contrast"] {
		t.Errorf("axe-core finds only %v", found)
	}
}

// The search shows what has the words, unfolds it, and hides the rest; without words everything is
// as it was. The page's policy lets the script run.
func TestWhatIsSoughtIsFound(t *testing.T) {
	p, err := chrome.Open(day, View{Width: 1280, Height: 800})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	type state struct {
		Findings, Rows, Clusters, Open int
		Found                          string
	}
	seen := func(words, cluster string) state {
		return ask[state](t, p, fmt.Sprintf(`(() => {
			const words = document.getElementById('find-words'), cluster = document.getElementById('find-cluster');
			words.value = %q; cluster.value = [...cluster.options].find((o) => o.text === %q).value;
			words.dispatchEvent(new Event('input'));
			const n = (what) => [...document.querySelectorAll(what)].filter((e) => e.checkVisibility()).length;
			return {Findings: n('.finding'), Rows: n('.part tbody tr'), Clusters: n('.cluster'), Open: n('details[open].part'), Found: document.getElementById('find-found').textContent};
		})()`, words, cluster))
	}
	all := seen("", "all clusters")
	if all.Clusters != 4 || all.Findings < 10 || all.Found != "" {
		t.Fatalf("at first: %+v", all)
	}
	if got := seen("ControllerRoleMapped", "all clusters"); got.Findings != 1 || got.Clusters != 1 || !strings.Contains(got.Found, " of ") {
		t.Errorf("a cause: %+v", got)
	}
	if got := seen("SharedCause terminate", "all clusters"); got.Rows < 2 || got.Rows > 20 {
		t.Errorf("rows of folded lists: %+v", got)
	}
	if got := ask[int](t, p, "[...document.querySelectorAll('.overview tbody tr')].filter((e) => e.checkVisibility()).length"); got >= 4 {
		t.Errorf("the table of clusters has %d rows", got)
	}
	if got := seen("", "search"); got.Clusters != 1 || got.Findings >= all.Findings || got.Findings == 0 {
		t.Errorf("a cluster: %+v", got)
	}
	if got := seen("no such words", "all clusters"); got.Findings != 0 || got.Clusters != 0 || !strings.HasPrefix(got.Found, "0 of ") {
		t.Errorf("nothing: %+v", got)
	}
	if got := seen("", "all clusters"); got != all {
		t.Errorf("afterwards %+v, before %+v", got, all)
	}
	if got := append(p.Complaints(), p.Asked()...); len(got) > 0 {
		t.Errorf("the browser complains, or the page asks: %q", got)
	}
}

// On a phone every column is visible without scrolling sideways.
func TestNoColumnIsOffAPhonesScreen(t *testing.T) {
	each(t, View{Width: 390, Height: 800}, func(t *testing.T, p *Page) {
		for _, when := range []string{"as it opens", "unfolded"} {
			for _, found := range ask[[]string](t, p, "offScreen()") {
				t.Errorf("%s: %s", when, found)
			}
			ask[int](t, p, "unfold(), 0")
		}
	})
}

// What a page shows without a click is also printed. Folded parts are not.
func TestPrintedPagesHaveWhatIsSeen(t *testing.T) {
	each(t, View{Width: 1280, Height: 800}, func(t *testing.T, p *Page) {
		want := ask[[]string](t, p, "[...document.querySelectorAll('.finding h4 > span:not(.vh), .finding pre.fix, .answers dd, .cluster h2, td.text')].filter((e) => e.checkVisibility()).map((e) => (e.tagName === 'H2' ? e.lastChild : e).textContent.trim())")
		data, err := p.Print()
		if err != nil {
			t.Fatal(err)
		}
		printed := letters(textOf(t, data))
		missing := 0
		for _, w := range want {
			if !strings.Contains(printed, letters(w)) {
				if missing++; missing < 5 {
					t.Errorf("%.80q is not printed", w)
				}
			}
		}
		if missing > 0 {
			t.Errorf("%d of %d texts are not printed", missing, len(want))
		}
	})
}

func TestTheDemosDayPrintsOnTenPages(t *testing.T) {
	p, err := chrome.Open(day, View{Width: 1280, Height: 800})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	data, err := p.Print()
	if err != nil {
		t.Fatal(err)
	}
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.NumPage(); n < 2 || n > 10 {
		t.Errorf("%d pages", n)
	}
}

// textOf returns all text of a PDF.
func textOf(t *testing.T, data []byte) string {
	t.Helper()
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.GetPlainText()
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// ligatures maps ligature glyphs to their letters.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl")

// letters returns a text without the characters that line and page breaks add between its
// letters.
func letters(s string) string {
	s = ligatures.Replace(s)
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// For a screen reader, every picture, table, region and part has a name.
func TestEveryPartHasAName(t *testing.T) {
	named := map[string]bool{"image": true, "img": true, "figure": true, "table": true, "region": true, "link": true, "heading": true, "DisclosureTriangle": true, "columnheader": false, "RootWebArea": true}
	each(t, View{Width: 1280, Height: 800}, func(t *testing.T, p *Page) {
		ask[int](t, p, "unfold(), 0")
		nodes, err := p.Names()
		if err != nil {
			t.Fatal(err)
		}
		met := map[string]int{}
		for _, n := range nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			role := strings.Trim(string(n.Role.Value), `"`)
			if !named[role] {
				continue
			}
			met[role]++
			if n.Name == nil || strings.Trim(string(n.Name.Value), `" `) == "" {
				t.Errorf("%s without a name (node %d)", role, n.BackendDOMNodeID)
			}
		}
		if met["heading"] < 2 || met["RootWebArea"] != 1 {
			t.Errorf("the tree is too small: %v", met)
		}
	})
}

// The tests' checks find each fault they are for.
func TestWhatIsWrongIsFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wrong.html")
	if err := os.WriteFile(file, []byte(`<!doctype html><title>wrong</title>
<style>body{margin:0;background:#fff}.wide{width:2000px}.faint{color:#aaa}a:focus-visible{outline:none}</style>
<p class="wide">wide</p><table><tr><td><div class="wide">a wide cell</div></td></tr></table><p class="faint">faint</p><img src="/picture.png"><a href="#x">a link</a>
<svg width="200" height="20" role="img"><rect fill="#000" width="200" height="20"/><text y="14" fill="#222">dark</text></svg>
<div class="time"><svg width="100" height="20"><text y="14">one</text><text y="14" x="2">two</text></svg></div>
<script>console.error("no")</script>`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := chrome.Open(file, View{Width: 360, Height: 800})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := ask[[]string](t, p, "overflow()"); len(got) < 2 || !strings.Contains(strings.Join(got, "\n"), "wide") {
		t.Errorf("overflow: %q", got)
	}
	if got := ask[[]string](t, p, "offScreen()"); len(got) != 1 || !strings.Contains(got[0], "a wide cell") {
		t.Errorf("off screen: %q", got)
	}
	got := ask[struct{ Faint []string }](t, p, "texts(4.5)")
	if all := strings.Join(got.Faint, "\n"); len(got.Faint) != 2 || !strings.Contains(all, ": faint") || !strings.Contains(all, ": dark") {
		t.Errorf("faint: %q", got.Faint)
	}
	if got := ask[[]string](t, p, "covered()"); len(got) != 1 {
		t.Errorf("covered: %q", got)
	}
	if err := p.Do(chromedp.KeyEvent(kb.Tab)); err != nil {
		t.Fatal(err)
	}
	if got := ask[struct{ Style string }](t, p, "focus()"); got.Style != "none" {
		t.Errorf("focus: %q", got.Style)
	}
	if err := p.Do(chromedp.Sleep(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if len(p.Asked()) != 1 || len(p.Complaints()) == 0 {
		t.Errorf("asked for %q, complained of %q", p.Asked(), p.Complaints())
	}
}
