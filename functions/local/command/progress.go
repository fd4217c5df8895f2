package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// progress shows the current step on one line, to a person who waits.
type progress struct {
	mu    sync.Mutex
	w     io.Writer // nil shows nothing
	total int
	done  int
	shown int
	doing string // the latest step, shown or not
}

func newProgress(env Environment) *progress {
	p := &progress{total: 1}
	if env.Terminal {
		p.w = env.Stderr
	}
	return p
}

// say shows a step before the first cluster is checked.
func (p *progress) say(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = doing
	p.show(doing + " ...")
}

// tell shows the current step of a cluster.
func (p *progress) tell(cluster, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if doing == "done" {
		p.done++
	}
	p.doing = cluster + ": " + doing
	p.show(fmt.Sprintf("%d/%d clusters  %s: %s", p.done, p.total, cluster, doing))
}

// clear removes the line before the results are printed.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil && p.shown > 0 {
		p.show("")
		_, _ = fmt.Fprint(p.w, "\r")
	}
}

func (p *progress) show(s string) {
	if p.w == nil {
		return
	}
	if r := []rune(s); len(r) > 78 {
		s = string(r[:78])
	}
	_, _ = fmt.Fprintf(p.w, "\r%s%s", s, strings.Repeat(" ", max(0, p.shown-len(s))))
	p.shown = len(s)
}
