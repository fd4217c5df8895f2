package report

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/roll"
)

// letter is the text of a notice for a person, in reading order, because on a phone the first
// lines must suffice: what is wrong and why, the command against it, since when, what follows.
// Everything else is in the explanation. Mail and chat lay the letter out differently.
type letter struct {
	headline string
	why      []why
	run      *Recipe  // the command against it, after the one that points kubectl at the cluster
	facts    []fact   // where, since when, and what is new
	next     []string // what Rollcall does or will do, and when
	stop     *Recipe  // how to prevent that
	rest     *Recipe  // where everything else is
	members  []string // names of instances
	more     int      // members that are left out
	link     []fact   // the page of the console, if there is one
	sequel   []fact   // which notice of its incident it is
}

// fact is a line of a letter's head or of its details.
type fact struct{ name, value string }

type why struct {
	code, summary string
	share         string // how many instances have it, "" if all do
}

// says returns the cause's code, as it is shown, followed by its summary.
func (w why) says(code, summary string) string {
	if w.code == "" {
		return summary // no cause is known
	}
	return code + roll.Behind(", ", w.share) + ": " + summary
}

// Recipe is a list of shell commands, to be run in order.
type Recipe struct {
	Title    string   `json:"title"` // what they are for, such as "To investigate"
	Commands []string `json:"lines"`
}

// bounded returns the letter without misleading characters, such as a line break in the
// message of a node's condition, and without sentences so long that they hide the others.
func (l letter) bounded() letter {
	line := func(s string) string { return clip(shown(s), sentenceBytes) }
	l.headline, l.next, l.members = line(l.headline), roll.Map(l.next, line), roll.Map(l.members, line)
	of := func(f fact) fact { return fact{f.name, line(f.value)} }
	l.facts, l.sequel = roll.Map(l.facts, of), roll.Map(l.sequel, of)
	l.why = roll.Map(l.why, func(w why) why { return why{w.code, line(w.summary), w.share} })
	if l.run != nil {
		l.run = &Recipe{l.run.Title, lines(roll.Visible(strings.Join(l.run.Commands, "\n")))}
	}
	return l
}

// text lays out the letter as plain text for any font. It uses no columns, which would not
// align on a phone.
func (l letter) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", l.headline)
	for _, w := range l.why {
		fmt.Fprintf(&b, "%s\n", w.says(w.code, w.summary))
	}
	l.run.write(&b)
	b.WriteString("\n")
	writeFacts(&b, l.facts)
	for _, s := range l.next {
		fmt.Fprintf(&b, "Next: %s\n", s)
	}
	l.stop.write(&b)
	l.rest.write(&b)
	b.WriteString("\n")
	writeFacts(&b, l.link)
	if names := l.names(); names != "" {
		fmt.Fprintf(&b, "Instances: %s\n", names)
	}
	writeFacts(&b, l.sequel)
	return b.String()
}

// names lists the instances, and counts those that are left out.
func (l letter) names() string {
	s := strings.Join(l.members, ", ")
	if l.more > 0 {
		s += fmt.Sprintf(" and %d more", l.more)
	}
	return s
}

func writeFacts(b *strings.Builder, facts []fact) {
	for _, f := range facts {
		fmt.Fprintf(b, "%s: %s\n", f.name, f.value)
	}
}

// against sets the one command of the letter: the first recipe that has any. Before a command
// of kubectl comes the one that points it at the cluster: a reader with many clusters might
// change another one. A fix that is too long for a notice is left to the explanation.
func (l *letter) against(id roll.ClusterID, recipes ...Recipe) {
	for _, r := range recipes {
		if len(r.Commands) == 0 || len(strings.Join(r.Commands, "\n")) > fixBytes {
			continue
		}
		r.Commands = pointed(id, r.Commands)
		l.run = &r
		return
	}
}

// pointed returns the commands, after the one that points kubectl at the cluster if they use it.
func pointed(id roll.ClusterID, commands []string) []string {
	if !slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(strings.TrimPrefix(c, "# "), "kubectl ") }) {
		return commands
	}
	return append([]string{paste.Format("aws eks update-kubeconfig --region %s --name %s", id.Region, id.Name)}, commands...)
}

func (r *Recipe) write(b *strings.Builder) {
	if r == nil {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", r.Title)
	for _, c := range r.Commands {
		fmt.Fprintf(b, "  %s\n", c)
	}
}

func lines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }

// NoticeLinks are pages of the AWS console. A link is "" if the object is not in AWS, or in a
// partition whose console is unknown.
type NoticeLinks struct {
	Instance string `json:"instance,omitempty"` // the first instance of the notice
	Group    string `json:"group,omitempty"`    // the Auto Scaling group, or the node group
	Cluster  string `json:"cluster,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// linksTo returns the pages of an instance, its group and cluster, and the evidence.
func linksTo(id roll.ClusterID, instance roll.InstanceID, g roll.Group, evidence string) NoticeLinks {
	base := roll.Console(id.Region)
	if base == "" {
		return NoticeLinks{}
	}
	region := "region=" + id.Region
	l := NoticeLinks{Cluster: roll.ClusterPage(id.Region, id.Name)}
	if instance.IsInstance() {
		l.Instance = roll.InstancePage(id.Region, instance)
	}
	switch kind, name, _ := strings.Cut(string(g), "/"); kind {
	case "asg":
		l.Group = base + "/ec2/home?" + region + "#AutoScalingGroupDetails:id=" + url.PathEscape(name) + ";view=activity"
	case "nodegroup":
		l.Group = base + "/eks/clusters/" + url.PathEscape(id.Name) + "/nodegroups/" + url.PathEscape(name) + "?" + region
	}
	l.Evidence = evidencePage(id.Region, evidence)
	return l
}

// first returns the page that a letter links to, nil if there is none.
func (l NoticeLinks) first() []fact {
	for _, k := range []fact{{"Evidence", l.Evidence}, {"Instance", l.Instance}, {"Group", l.Group}, {"Cluster", l.Cluster}} {
		if k.value != "" {
			return []fact{k}
		}
	}
	return nil
}
