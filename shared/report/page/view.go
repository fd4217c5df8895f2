package page

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

//go:embed page.html.tmpl
var markup string

//go:embed page.css
var rules string

//go:embed page.js
var search string

// parsed returns the template. It is no variable: the functions render no page, and without one the
// linker leaves out html/template, and with that all methods that a template could call, half of their
// code.
func parsed() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"clock":     roll.Clock,
		"took":      took,
		"toneClass": toneClass,
		"share":     share,
		"column":    Table.column,
		"lines":     func(s string) string { return strings.TrimRight(s, "\n") },
		"sum":       func(shown, more int) int { return shown + max(0, more) },
		"left":      left,
	}).Parse(markup))
}

// head returns the Content-Security-Policy of the page and its style sheet. Nothing is loaded, and
// no other script runs and no other style applies than the page's own.
func head() template.HTML {
	sheet := declarations() + sizes() + rules
	return template.HTML(fmt.Sprintf(
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'">`+"\n<style>%s</style>",
		fingerprint(sheet), fingerprint(search), sheet))
}

func fingerprint(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func sizes() string {
	var b strings.Builder
	for _, r := range []struct {
		class  string
		height int
	}{{"axis", heightAxis}, {"band", heightBand}, {"ready", heightReady}, {"head", heightHead}, {"lane", heightLane}} {
		fmt.Fprintf(&b, ".labels .%s{height:%dpx}", r.class, r.height)
	}
	fmt.Fprintf(&b, "\n.chart{--narrowest:%dpx}\n", narrowest)
	return b.String()
}

// view is a document, laid out.
type view struct {
	Document
	Head     template.HTML
	Script   template.HTML // "" where there is nothing to find
	Period   string
	Clusters []clusterView
	Sparks   bool              // at least one cluster has a Spark
	Links    map[string]string // the ids of clusters, by name
}

// clusterView is a cluster, laid out.
type clusterView struct {
	Cluster
	ID       string
	Chart    *chart
	Problems []problem
	Watching []problem
	Times    []*distribution
	Spark    string // SVG path of the ready nodes, for the overview
	Rest     string
	// HeldWhen and ActsWhen: the tables show times, which a single check does not need.
	HeldWhen, ActsWhen bool
}

func compose(d Document) view {
	v := view{Document: d, Head: head(), Period: period(d.From, d.To), Links: map[string]string{}}
	for i, c := range d.Clusters {
		v.Clusters = append(v.Clusters, arrange(fmt.Sprintf("c%d", i+1), c))
		v.Clusters[i].Rest = d.Rest
		v.Links[c.Name] = v.Clusters[i].ID
	}
	if len(d.Clusters) > 0 {
		v.Script = template.HTML("<script>" + search + "</script>\n") // the page is whole without it
	}
	v.Sparks = slices.ContainsFunc(v.Clusters, func(c clusterView) bool { return c.Spark != "" })
	return v
}

func arrange(id string, c Cluster) clusterView {
	v := clusterView{Cluster: c, ID: id}
	v.HeldWhen = slices.ContainsFunc(c.Held, func(w Withheld) bool { return !w.From.IsZero() || !w.To.IsZero() })
	v.ActsWhen = slices.ContainsFunc(c.Acts, func(a Act) bool { return !a.At.IsZero() })
	v.Problems, v.Watching = problems(id, c.Findings), problems(id+"w", c.Watching)
	links := map[string]string{}
	for _, p := range slices.Concat(v.Problems, v.Watching) {
		for _, m := range p.Members {
			if _, ok := links[m.Instance]; !ok {
				links[m.Instance] = m.ID
			}
		}
	}
	if c.Timeline != nil {
		v.Chart = lay(id+"-t", c.Name, *c.Timeline, links)
		if v.Chart != nil {
			k, _ := trace(axis{c.Timeline.From, c.Timeline.To}, c.Timeline.Ready, 120, 20)
			v.Spark = k.Ready
		}
	}
	for i, g := range c.Groups {
		if d := distribute(fmt.Sprintf("%s-g%d", id, i+1), g); d != nil {
			v.Times = append(v.Times, d)
		}
	}
	return v
}

func period(from, to time.Time) string {
	switch {
	case to.IsZero() && from.IsZero():
		return ""
	case from.IsZero():
		return "at " + roll.Clock(to)
	case to.IsZero():
		return "from " + roll.Clock(from)
	}
	return fmt.Sprintf("%s to %s (%s)", roll.Clock(from), roll.Clock(to), took(to.Sub(from)))
}

var toneClasses = map[Tone]string{ToneGood: "good", ToneWarn: "warn", ToneBad: "bad", ToneHeld: "held"}

// toneClass returns the CSS class of a tone, "" for none.
func toneClass(t Tone) string {
	if t == "" {
		return ""
	}
	return cmp.Or(toneClasses[t], "other")
}

// left says how many entries a list leaves out and where they are, "" if it is complete.
func left(more int, rest string) string {
	if more <= 0 {
		return ""
	}
	return fmt.Sprintf("and %d more", more) + roll.Behind(": ", rest)
}

func share(part, whole int) string {
	if whole <= 0 {
		return "0"
	}
	return number(min(100, max(0, 100*float64(part)/float64(whole))))
}
