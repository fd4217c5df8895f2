// Package browser shows pages in a real headless browser and reports what a person would
// see. It opens files and does not depend on how they are made.
package browser

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// starting bounds the start of a browser, and of each page.
const starting = 60 * time.Second

// Find returns the path of a browser that browser.sh finds or installs. If pinned, it is
// the version of package.json, which shows a page the same everywhere.
func Find(ctx context.Context, pinned bool) (string, error) {
	if pinned {
		return install(ctx, "--pinned")
	}
	return install(ctx)
}

// Axe returns the path of axe-core, which browser.sh installs if it must.
func Axe(ctx context.Context) (string, error) { return install(ctx, "--axe") }

func install(ctx context.Context, flags ...string) (string, error) {
	_, here, _, _ := runtime.Caller(0)
	args := append([]string{filepath.Join(filepath.Dir(here), "browser.sh")}, flags...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", strings.TrimSpace(told.String()), err)
	}
	return strings.TrimSpace(out.String()), nil
}

// Browser is a running browser.
type Browser struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// Start starts the browser at the path. It has no sandbox, because it opens only our own
// pages.
func Start(ctx context.Context, path string) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("headless", "new"), chromedp.WSURLReadTimeout(starting),
		chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("disable-lcd-text", true),
	)
	if strings.HasPrefix(path, filepath.Join(root(), ".build")) {
		options = append(options, chromedp.Flag("headless", "shell")) // the only mode that this browser has
	}
	allocator, release := chromedp.NewExecAllocator(ctx, options...)
	browser, stop := chromedp.NewContext(allocator)
	b := &Browser{ctx: browser, cancel: func() { stop(); release() }}
	if err := chromedp.Do(browser); err != nil {
		b.cancel()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return b, nil
}

// root returns the folder of the project.
func root() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(here)))
}

// Close stops the browser.
func (b *Browser) Close() { b.cancel() }

// View is how a page is shown.
type View struct {
	Width, Height int64
	Scale         float64 // device pixels per page pixel; 0 means 1
	Dark          bool
	NoScript      bool
}

// Page is an open page.
type Page struct {
	ctx    context.Context
	cancel context.CancelFunc
	server *httptest.Server

	mu       sync.Mutex
	complain []string
	asked    []string
}

// Open opens the page of a file in a view, from a server on this machine.
func (b *Browser) Open(file string, v View) (*Page, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &Page{server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page.html" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(data)
	}))}
	tab, stop := chromedp.NewContext(b.ctx)
	if err := chromedp.Do(tab); err != nil {
		stop()
		p.server.Close()
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	bound, release := context.WithTimeout(tab, starting)
	p.ctx, p.cancel = bound, func() { release(); stop(); p.server.Close() }
	if err := chromedp.Listen(bound, p.listen); err != nil {
		p.Close()
		return nil, err
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	err = errors.Join(
		tell(p, network.Enable, network.EnableParams{}),
		tell(p, log.Enable, cdp.Empty{}),
		tell(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		tell(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript}),
		tell(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.Width, Height: v.Height, DeviceScaleFactor: max(v.Scale, 1), Mobile: v.Width < 600}),
	)
	if err == nil {
		err = p.Do(chromedp.Navigate(p.server.URL + "/page.html"))
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	return p, nil
}

// Close closes the page.
func (p *Page) Close() { p.cancel() }

func (p *Page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	case *log.EventEntryAdded:
		if !strings.HasSuffix(e.Entry.URL, "/favicon.ico") { // which the browser requests by itself
			p.complain = append(p.complain, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
		}
	case *cdpruntime.EventConsoleAPICalled:
		p.complain = append(p.complain, "console: "+string(e.Type))
	case *cdpruntime.EventExceptionThrown:
		p.complain = append(p.complain, e.ExceptionDetails.Text)
	}
}

// Complaints returns the browser's errors about the page.
func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.complain
}

// Asked returns the requested addresses, without the page's own.
func (p *Page) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, a := range p.asked {
		if a != p.server.URL+"/page.html" && !strings.HasSuffix(a, "/favicon.ico") {
			out = append(out, a)
		}
	}
	return out
}

//go:embed judge.js
var judge string

// call sends a command of the DevTools protocol and returns its answer.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) (R, error) {
	return chromedp.Run(p.ctx, func(ctx context.Context, t *chromedp.Target) (R, error) {
		return cdp.Call(ctx, t, command, params)
	})
}

// tell sends a command that has no answer.
func tell[P, R any](p *Page, command cdp.Command[P, R], params P) error {
	_, err := call(p, command, params)
	return err
}

// Ask evaluates an expression about the page with the functions of judge.js.
func Ask[T any](p *Page, question string) (T, error) {
	answer, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](judge+"\n;"+question))
	if err != nil {
		return answer, fmt.Errorf("%s: %w", question, err)
	}
	return answer, nil
}

// Violation is a rule of axe-core that a page breaks.
type Violation struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML string }
}

// Violations returns the rules of axe-core, whose source is given, that the page breaks.
func (p *Page) Violations(source string) ([]Violation, error) {
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[int](source+"\n;0")); err != nil {
		return nil, fmt.Errorf("load axe-core: %w", err)
	}
	return chromedp.Run(p.ctx, chromedp.Evaluate[[]Violation](`axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map((n) => ({HTML: n.html}))})))`, chromedp.EvalAwaitPromise))
}

// Do carries out actions on the page.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) error {
	return chromedp.Do(p.ctx, actions...)
}

// Picture returns a screenshot of the page, as PNG.
func (p *Page) Picture() ([]byte, error) { return chromedp.Run(p.ctx, chromedp.CaptureScreenshot()) }

// Print returns the printed page, as PDF.
func (p *Page) Print() ([]byte, error) {
	return chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
}

// Names returns the accessibility tree of the page, as a screen reader receives it.
func (p *Page) Names() ([]*accessibility.Node, error) {
	tree, err := call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	return tree.Nodes, err
}
