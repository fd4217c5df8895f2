package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/roll"
)

// letter is the text of a notice for a person, in reading order, because on a phone the first
// lines must suffice. Mail and chat lay it out differently.
type letter struct {
	headline string
	facts    []fact // where, since when, and what is new
	details  []fact // further facts; they come last
	why      []why
	does     []string // what Rollcall does or will do, and when
	stop     []recipe // how to prevent that
	acts     bool     // an act is ordered or will follow, so stop comes first
	point    *recipe  // commands to run before a fix that uses kubectl
	members  []member
	more     int // members that are left out
	links    []link
	look     []recipe // how to investigate
}

// fact is a line of a letter's head or of its details.
type fact struct{ name, value string }

// why is a cause in a letter.
type why struct {
	code, summary string
	share         string // how many instances have it, "" if all do
	fix           string // commands to paste, line by line
}

// says returns the cause's code, as it is shown, followed by its summary.
func (w why) says(code, summary string) string {
	if w.code == "" {
		return summary // no cause is known
	}
	return code + orNothing(", ", w.share) + ": " + summary
}

// recipe is a list of commands to copy.
type recipe struct {
	title    string
	commands []string
}

// member is an instance, with the lines about it.
type member struct {
	line  string
	below []string
}

// link is a named URL.
type link struct{ name, url string }

// bounded returns the letter without misleading characters, such as a line break in the
// message of a node's condition, and without sentences so long that they hide the others.
func (l letter) bounded() letter {
	line := func(s string) string { return clip(shown(s), lineBytes) }
	each := func(list []string) []string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = line(s)
		}
		return out
	}
	l.headline, l.does = line(l.headline), each(l.does)
	l.facts, l.details, l.why, l.members = slices.Clone(l.facts), slices.Clone(l.details), slices.Clone(l.why), slices.Clone(l.members)
	for _, facts := range [][]fact{l.facts, l.details} {
		for i := range facts {
			facts[i].value = line(facts[i].value)
		}
	}
	for i := range l.why {
		w := &l.why[i]
		w.summary = clip(shown(w.summary), causeLength(i))
		if len(w.fix) > fixBytes {
			w.summary, w.fix = w.summary+" (rollcall explain shows what to paste against it)", ""
		}
		w.fix = visible(w.fix)
	}
	for i := range l.members {
		l.members[i] = member{line(l.members[i].line), each(l.members[i].below)}
	}
	return l
}

// text lays out the letter as plain text for any font. It uses no columns, which would not
// align on a phone. If the text is too long, only the list of instances is cut.
func (l letter) text() string {
	for {
		s := l.plain()
		if quoted(s) <= textBytes || len(l.members) <= 1 {
			return s
		}
		keep := len(l.members) / 2
		l.more += len(l.members) - keep
		l.members = l.members[:keep]
	}
}

func (l letter) plain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", l.headline)
	writeFacts(&b, l.facts)
	why := func() {
		if len(l.why) > 0 {
			b.WriteString("\nWhy:\n")
		}
		for _, w := range l.why {
			fmt.Fprintf(&b, "  %s\n", w.says(w.code, w.summary))
		}
		writeRecipes(&b, l.fixes())
	}
	does := func() {
		if len(l.does) > 0 {
			b.WriteString("\nWhat Rollcall does:\n")
		}
		for _, d := range l.does {
			fmt.Fprintf(&b, "  %s\n", d)
		}
		writeRecipes(&b, l.stop)
	}
	if l.acts {
		does()
		why()
	} else {
		why()
		does()
	}
	writeRecipes(&b, l.look)
	if len(l.members) > 0 {
		b.WriteString("\nInstances:\n")
	}
	for _, m := range l.members {
		fmt.Fprintf(&b, "  %s\n", m.line)
		for _, s := range m.below {
			fmt.Fprintf(&b, "    %s\n", s)
		}
	}
	if l.more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", l.more)
	}
	if len(l.links) > 0 {
		b.WriteString("\nTo see it:\n")
	}
	for _, k := range l.links {
		fmt.Fprintf(&b, "  %s: %s\n", k.name, k.url)
	}
	if len(l.details) > 0 {
		b.WriteString("\n")
	}
	writeFacts(&b, l.details)
	return b.String()
}

func writeFacts(b *strings.Builder, facts []fact) {
	for _, f := range facts {
		fmt.Fprintf(b, "%s: %s\n", f.name, f.value)
	}
}

func writeRecipes(b *strings.Builder, recipes []recipe) {
	for _, r := range recipes {
		r.write(b)
	}
}

// fixes returns the fixes of the causes.
func (l letter) fixes() (out []recipe) {
	if l.point != nil {
		out = append(out, *l.point)
	}
	for _, w := range l.why {
		if w.fix != "" {
			out = append(out, recipe{"To fix " + w.code, lines(w.fix)})
		}
	}
	return out
}

// context adds the command that points kubectl at the cluster before commands that use it.
// Otherwise a reader with many clusters might change another one.
func (l *letter) context(id roll.ClusterID) {
	uses := func(commands []string) bool {
		return slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, "kubectl ") })
	}
	point := recipe{"To point kubectl at this cluster", []string{paste.Format("aws eks update-kubeconfig --region %s --name %s", id.Region, id.Name)}}
	if slices.ContainsFunc(l.fixes(), func(r recipe) bool { return uses(r.commands) }) {
		l.point = &point
	} else if i := slices.IndexFunc(l.look, func(r recipe) bool { return uses(r.commands) }); i >= 0 {
		l.look = slices.Insert(l.look, i, point)
	}
}

func (r recipe) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", headed(r.title))
	for _, c := range r.commands {
		fmt.Fprintf(b, "  %s\n", c)
	}
}

// headed returns a title with its punctuation.
func headed(title string) string {
	if strings.HasSuffix(title, "?") {
		return title
	}
	return title + ":"
}

// lines splits a text into lines.
func lines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
