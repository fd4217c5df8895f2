package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

// document returns the page of the day.
func (s *story) document(r, untended sim.Result) page.Document {
	saved := max(0, untended.Cost.SickHours-r.Cost.SickHours)
	d := page.Document{
		Title: hours(saved) + " of sick time saved in a day", Tag: "simulated",
		Subtitle: fmt.Sprintf("Instances were sick for %s; in mode observe, for %s. %d clusters, %d nodes, %d faults.", hours(r.Cost.SickHours), hours(untended.Cost.SickHours), len(s.day.Clusters), s.nodes(), len(s.day.Faults)),
		From:     s.day.Start, To: s.end(),
		Notes: []string{
			"The account and its clock are simulated; the functions that watch it are the deployed ones. Only the faults are staged.",
			"The policy is the default one with mode remediate.",
			"Rollcall does not know the faults: it reads the causes from the simulated APIs, user data and consoles.",
		},
		Notices: s.notices(),
		Tables:  []page.Table{s.comparison(r, untended), s.own(r.Usage)},
		Footer: []string{
			"Make this page: rollcall demo --html FILE",
			fmt.Sprintf("The same scenario makes the same page: seed %d, history %s.", s.day.Seed, r.Digest),
		},
	}
	d.Figures = s.figures(r, untended)
	for i := range d.Figures {
		d.Figures[i].Label = capital(d.Figures[i].Label)
	}
	for _, v := range r.Violations {
		d.Notes = append(d.Notes, fmt.Sprintf("A rule was broken: %s: %s", v.Rule, v.Detail))
	}
	d.Clusters = roll.Map(s.day.Clusters, s.cluster)
	d.Answers = s.answers(d.Clusters)
	return d
}

func (s *story) cluster(c sim.ClusterSpec) page.Cluster {
	lives := s.lives(c.Name)
	troubles := all(lives)
	out := page.Cluster{
		Name: c.Name, Mode: cmp.Or(c.Mode, s.day.Permitted), Tone: page.ToneGood,
		Timeline: s.timeline(c, lives), Held: s.withheld(c.Name), Acts: acts(lives),
	}
	if n := len(s.course[c.Name]); n > 0 {
		last := s.course[c.Name][n-1]
		out.Nodes, out.Ready = last.Nodes, last.Ready
		switch {
		case !last.Exists:
			out.Unread, out.Tone = "the cluster is gone from EKS; Rollcall only reports the instances that it left behind", page.ToneWarn
		case last.Ready < max(last.Nodes, last.Machines):
			out.Tone = page.ToneWarn
		}
	}
	out.Findings = roll.Map(troubles, s.finding)
	out.Summary = summary(troubles, out)
	out.Notes = s.episodes(c.Name, troubles)
	return out
}

// all returns the findings about instances, ordered by their first report.
func all(lives []*life) []*trouble {
	var out []*trouble
	for _, l := range lives {
		out = append(out, l.troubles...)
	}
	slices.SortStableFunc(out, func(a, b *trouble) int {
		return cmp.Or(a.told.Compare(b.told), cmp.Compare(a.group, b.group), cmp.Compare(a.instance, b.instance))
	})
	return out
}

func (s *story) finding(t *trouble) page.Finding {
	f := page.Finding{
		Instance: t.instance, Node: t.node, Group: t.group, Kind: t.kind, Stage: t.stage, Tone: page.ToneWarn,
		Since: t.since, Until: t.until, Causes: t.causes, Summary: t.outcome(), Next: s.mended(t),
	}
	if roll.Stage(t.stage) == roll.Overdue {
		f.Tone = page.ToneBad
	}
	if !t.until.IsZero() {
		f.For = minutes(t.until.Sub(t.since))
	}
	return f
}

// outcome describes the result of a finding, in one sentence.
func (t *trouble) outcome() string {
	parts := []string{"told at " + hour(t.told)}
	for _, h := range t.held {
		parts = append(parts, fmt.Sprintf("held: %s (%s)", h.action, h.reason))
	}
	for _, a := range t.acts {
		word := a.action
		if !a.done {
			word += " ordered"
		}
		parts = append(parts, word+" at "+hour(a.at))
	}
	switch {
	case t.replaced() != "":
		parts = append(parts, fmt.Sprintf("terminated at %s by %s", hour(t.ended), t.by))
	case t.by != rollcall && !t.until.IsZero():
		parts = append(parts, "the instance recovered")
	}
	text := capital(strings.Join(parts, "; ")) + "."
	if t.why != "" && len(t.causes) == 0 {
		return capital(t.why) + ". " + text
	}
	return text
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// mended says which notice has the fix for a finding, "" if none has.
func (s *story) mended(t *trouble) string {
	for _, e := range s.events {
		about := e.Kind == sim.EventNotice && e.Group == t.group && e.Finding == t.kind && !e.At.Before(t.told)
		if about && strings.Contains(e.Text, "\nTo fix ") {
			return "the notice of " + e.At.Format("15:04:05") + " says what to do"
		}
	}
	return ""
}

// withheld returns the acts held in a cluster whose reasons did not pass by themselves.
func (s *story) withheld(cluster string) []page.Withheld {
	var out []page.Withheld
	for _, h := range s.lasting() {
		if h.cluster != cluster {
			continue
		}
		ids := slices.Collect(maps.Keys(h.instances))
		if len(ids) > 1 {
			ids = []string{fmt.Sprintf("%d instances", len(ids))}
		}
		out = append(out, page.Withheld{From: h.from, To: s.lifted(h), Instance: ids[0], Group: h.group, Kind: h.kind, Action: h.action, Reason: h.reason, Detail: h.detail})
	}
	return out
}

// lifted returns when the last instance was no longer held, or the end of the
// day if it was held to the end.
func (s *story) lifted(h *withheld) time.Time {
	last, open := h.from, maps.Clone(h.instances)
	for _, e := range s.events {
		if held, ok := open[e.Instance]; !ok || !e.At.After(held) {
			continue
		}
		over := e.Kind == sim.EventEnd || e.Finding == h.kind && (e.Kind == sim.EventOrder || e.Kind == sim.EventHeld || e.Kind == sim.EventFinding && e.Stage == "resolved")
		if over {
			last = e.At
			delete(open, e.Instance)
		}
	}
	if len(open) > 0 {
		return s.end()
	}
	return last
}

// The results of acts.
const (
	resultDone    = "done"
	resultOrdered = "ordered"
)

// acts returns the acts that Rollcall carried out or ordered on the instances.
func acts(lives []*life) []page.Act {
	var out []page.Act
	for _, t := range all(lives) {
		for _, a := range t.acts {
			act := page.Act{At: a.at, Instance: t.instance, Node: t.node, Group: t.group, Kind: t.kind, Action: a.action, Result: resultDone, Tone: page.ToneGood}
			if a.done {
				act.Detail = t.consequence(a, lives)
			} else {
				act.Result, act.Tone = resultOrdered, page.ToneHeld
			}
			out = append(out, act)
		}
	}
	slices.SortStableFunc(out, func(a, b page.Act) int { return a.At.Compare(b.At) })
	return out
}

func (t *trouble) consequence(a act, lives []*life) string {
	switch a.action {
	case "reboot":
		if e, ok := t.ready(a.at); ok {
			return "its node was Ready " + seconds(e.At.Sub(a.at)) + " later"
		}
		return "its node stayed as it was"
	case "terminate":
		for _, l := range lives {
			if l.group != t.group || !l.launched.After(a.at) {
				continue
			}
			text := fmt.Sprintf("its owner launched %s %s later", l.instance, seconds(l.launched.Sub(a.at)))
			if e, ok := l.ready(l.launched); ok {
				text += ", which was Ready after " + seconds(e.At.Sub(l.launched))
			}
			return text
		}
	case "cordon":
		return "no new pods come to the node"
	case drain:
		return fmt.Sprintf("%d %s evicted within their disruption budgets", a.evicted, roll.Plural(a.evicted, "pod was", "pods were"))
	}
	return ""
}

// notices returns all published notices, in the order of their arrival.
func (s *story) notices() []page.Notice {
	var out []page.Notice
	for _, e := range s.events {
		if e.Kind != sim.EventNotice {
			continue
		}
		n := page.Notice{At: e.At, Cluster: e.Cluster, Group: e.Group, Kind: e.Finding, Cause: e.Cause, Subject: brief(e.Subject), Text: e.Text, Tone: page.ToneWarn}
		switch {
		case e.Action == "resolved":
			n.Tone = page.ToneGood
		case strings.Contains(e.Subject, "paused"):
			n.Tone = page.ToneHeld
		case strings.HasSuffix(e.Action, "ed"): // an act was carried out
			n.Tone = ""
		case e.Action != "none":
			n.Tone = page.ToneBad
		}
		out = append(out, n)
	}
	return out
}

func hour(t time.Time) string { return t.UTC().Format("15:04") }

func minutes(d time.Duration) string {
	d = d.Round(time.Minute)
	if d < time.Hour {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }
