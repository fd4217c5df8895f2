package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

// lanesShown is the maximum number of lanes per cluster.
const lanesShown = 40

// markOver is the end of a fault of a cluster or an instance; it is drawn as a dot.
const markOver page.MarkKind = "over"

// stateOrphaned is an instance whose cluster is gone; it is drawn as a thin line.
const stateOrphaned page.State = "orphaned"

// timeline returns the events in a cluster as a drawing.
func (s *story) timeline(c sim.ClusterSpec, lives []*life) *page.Timeline {
	t := &page.Timeline{From: s.day.Start, To: s.end(), Ready: s.samples(c.Name), Marks: s.clusterMarks(c.Name), Bands: s.bands(c.Name)}
	ill := slices.DeleteFunc(slices.Clone(lives), func(l *life) bool { return !l.ill() })
	alone, crowds := crowded(ill)
	left := len(alone) - lanesShown + len(crowds)
	if left > 0 { // keep those with the highest weight
		slices.SortStableFunc(alone, func(a, b *life) int { return cmp.Compare(b.weight(), a.weight()) })
		alone = alone[:max(0, len(alone)-left)]
	}
	single := func(l *life) page.Lane {
		return page.Lane{Label: l.instance, Sub: l.group, Spans: s.spans(l), Marks: l.marks()}
	}
	t.Lanes = append(roll.Map(alone, single), roll.Map(crowds, s.together)...)
	order := map[string]int{}
	for i, g := range c.Groups {
		order[groupName(g)] = i
	}
	slices.SortStableFunc(t.Lanes, func(a, b page.Lane) int {
		return cmp.Or(cmp.Compare(order[a.Sub], order[b.Sub]), first(a).Compare(first(b)))
	})
	t.Caption = fmt.Sprintf("%d %s had trouble. Instances that were healthy all the time, or that owners launched and terminated as usual, are not drawn.", len(ill), roll.Plural(len(ill), "instance", "instances"))
	if len(crowds) > 0 {
		t.Caption += " Nodes of a group that were only cut off with their zone share a lane."
	}
	if left > 0 {
		t.Caption += fmt.Sprintf(" %d more are left out.", left)
	}
	return t
}

func (s *story) end() time.Time { return s.day.Start.Add(s.day.Storm + s.day.Calm + s.day.Healed) }

// groupName returns Rollcall's name for a group of the scenario.
func groupName(g sim.GroupSpec) string {
	switch roll.Owner(g.Owner) {
	case roll.OwnerKarpenter:
		return string(roll.NodePoolGroup(g.Name))
	case roll.OwnerManagedNodeGroup:
		return string(roll.NodeGroupGroup(g.Name))
	case roll.OwnerAutoScalingGroup:
		return string(roll.AutoScalingGroup(g.Name))
	}
	return g.Name
}

// first returns the time of the earliest mark of a lane.
func first(l page.Lane) time.Time {
	var at time.Time
	for _, m := range l.Marks {
		at = roll.Earlier(at, m.At)
	}
	return at
}

// weight returns how much the history has about an instance.
func (l *life) weight() int {
	w := 0
	for _, t := range l.troubles {
		w += 1 + 2*len(t.held) + 4*len(t.acts)
	}
	return w
}

// crowded separates instances that only lost their zone from the others. Two or more of one
// group form a crowd.
func crowded(lives []*life) (alone []*life, crowds [][]*life) {
	members := map[string][]*life{}
	for _, l := range lives {
		if l.onlyZone() {
			members[l.group] = append(members[l.group], l)
		}
	}
	for _, l := range lives {
		crowd := members[l.group]
		switch {
		case !l.onlyZone() || len(crowd) == 1:
			alone = append(alone, l)
		case crowd[0] == l:
			crowds = append(crowds, crowd)
		}
	}
	return alone, crowds
}

// onlyZone reports whether the instance's only trouble was that its zone was cut off.
func (l *life) onlyZone() bool {
	for _, t := range l.troubles {
		if t.code() != string(plan.ZoneOutage) || len(t.acts) > 0 {
			return false
		}
	}
	return len(l.troubles) == 1 && !slices.ContainsFunc(l.events, func(e sim.Event) bool { return e.Kind == sim.EventAilment })
}

// samples returns the numbers of ready nodes of a cluster. Machines that are not nodes
// count as not ready.
func (s *story) samples(cluster string) []page.Sample {
	var out []page.Sample
	for i, c := range s.course[cluster] {
		n := page.Sample{At: s.times[i], Unknown: true}
		if c.Exists {
			n = page.Sample{At: n.At, Ready: c.Ready, Total: max(c.Nodes, c.Machines)}
		}
		if i == 0 {
			n.At = s.day.Start
		}
		out = append(out, n)
	}
	return slices.CompactFunc(out, func(a, b page.Sample) bool { return a.Ready == b.Ready && a.Total == b.Total && a.Unknown == b.Unknown })
}

func (s *story) bands(cluster string) []page.Band {
	var out []page.Band
	for _, f := range s.day.Faults {
		if f.Cluster != "" && f.Cluster != cluster {
			continue
		}
		label := ""
		switch f.Kind {
		case sim.FaultZone:
			label = f.Zone + " cut off"
		case sim.FaultShift:
			label = "shifted away from " + f.Zone
		case sim.FaultThrottle:
			label = "EC2 throttles"
		case sim.FaultAPIDown, sim.FaultAPIErrors:
			label = "API server down"
		case sim.FaultDeleted:
			label = "cluster deleted"
		default:
			if f.Cluster != "" {
				continue
			}
			label = f.Says
		}
		b := page.Band{From: s.day.Start.Add(f.At), Label: label}
		if f.For > 0 {
			b.To = b.From.Add(f.For)
		}
		out = append(out, b)
	}
	return out
}

// clusterMarks returns the marks of a cluster as a whole: its faults, and notices about
// more than one instance.
func (s *story) clusterMarks(cluster string) []page.Mark {
	var out []page.Mark
	for _, e := range s.events {
		switch {
		case e.Kind == sim.EventFault && e.Stage == "healed":
			out = append(out, page.Mark{At: e.At, Kind: markOver, Label: e.Detail})
		case e.Kind == sim.EventFault && (e.Cluster == "" || e.Cluster == cluster):
			m := page.Mark{At: e.At, Kind: page.MarkFault, Label: e.Text}
			if e.Stage == "over" {
				m.Kind = markOver
			}
			out = append(out, m)
		case e.Kind == sim.EventNotice && e.Cluster == cluster && e.Instance == "":
			m := page.Mark{At: e.At, Kind: page.MarkNotice, Label: brief(e.Subject)}
			if e.Action == "resolved" {
				m.Kind = page.MarkResolved
			}
			out = append(out, m)
		}
	}
	return out
}

// brief returns the subject of a notice without its prefix and the part before the first
// colon, which its position makes clear.
func brief(subject string) string {
	if _, rest, ok := strings.Cut(subject, ": "); ok {
		return rest
	}
	return subject
}

// together returns one lane for a crowd. It shows the member that was cut off the longest,
// of those that existed first.
func (s *story) together(crowd []*life) page.Lane {
	last := slices.MinFunc(crowd, func(a, b *life) int {
		return cmp.Or(a.launched.Compare(b.launched), b.troubles[0].until.Compare(a.troubles[0].until))
	})
	lane := page.Lane{Label: fmt.Sprintf("%d nodes of the zone", len(crowd)), Sub: last.group, Spans: s.spans(last)}
	names := roll.Map(crowd, func(l *life) string { return l.instance })
	for i, sp := range lane.Spans {
		if sp.State == page.StateUnknown || sp.State == page.StateNotReady {
			lane.Spans[i].Title = strings.Join(names, ", ")
		}
	}
	for _, m := range last.marks() {
		if m.Kind == page.MarkFinding || m.Kind == page.MarkHeld || m.Kind == page.MarkResolved {
			m.Label = fmt.Sprintf("%d of them: %s", len(crowd), m.Label)
			lane.Marks = append(lane.Marks, m)
		}
	}
	return lane
}

func (l *life) marks() []page.Mark {
	var out []page.Mark
	held := map[string]bool{}
	for _, e := range l.events {
		m := page.Mark{At: e.At}
		switch e.Kind {
		case sim.EventLaunch:
			m.Kind, m.Label = page.MarkLaunch, e.Detail
		case sim.EventAilment:
			m.Kind, m.Label = page.MarkFault, e.Detail
			if e.Detail == wellAgain {
				m.Kind = markOver
			}
		case sim.EventFinding:
			m.Kind, m.Label = page.MarkFinding, e.Finding+" "+e.Stage
			if e.Stage == "resolved" {
				m.Kind, m.Label = page.MarkResolved, e.Finding
			}
			if e.Cause != "" {
				m.Label += ": " + e.Cause
			}
		case sim.EventNotice:
			m.Kind, m.Label = page.MarkNotice, brief(e.Subject)
		case sim.EventHeld:
			m.Kind, m.Label = page.MarkHeld, e.Action+": "+e.Reason
			if passing(e.Reason) || held[m.Label] {
				continue
			}
			held[m.Label] = true
		case sim.EventOrder:
			m.Kind, m.Label = page.MarkOrder, e.Action
		case sim.EventAct:
			m.Kind, m.Label = page.MarkAct, past(e.Action)
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

func (s *story) spans(l *life) []page.Span {
	var out []page.Span
	turn := func(at time.Time, state page.State, title string) {
		if n := len(out); n > 0 {
			if out[n-1].State == state {
				return
			}
			out[n-1].To = at
		}
		out = append(out, page.Span{From: at, State: state, Title: title})
	}
	if l.launched.IsZero() {
		turn(s.day.Start, page.StateReady, "")
	}
	for _, e := range l.events {
		if !l.ended.IsZero() && e.At.After(l.ended) {
			break
		}
		switch {
		case e.Kind == sim.EventFinding && roll.Kind(e.Finding) == roll.Orphaned && e.Stage != "resolved":
			turn(l.orphaned(), stateOrphaned, "nothing owns it")
		case e.Kind == sim.EventLaunch:
			turn(e.At, page.StateLaunching, e.Detail)
		case e.Kind == sim.EventState:
			state, title := l.state(e)
			turn(e.At, state, title)
		case e.Kind == sim.EventFinding && roll.Kind(e.Finding) == roll.Unregistered && e.Stage != "resolved":
			turn(e.At, page.StateMissing, "no node carries its id")
		case e.Kind == sim.EventFinding && roll.Kind(e.Finding) == roll.Uninitialized && e.Stage == "resolved":
			turn(e.At, page.StateReady, "")
		case e.Kind == sim.EventOrder && e.Action == drain:
			turn(e.At, page.StateDraining, "")
		}
	}
	if n := len(out); n > 0 && !l.ended.IsZero() {
		out[n-1].To = l.ended
		out[n-1].Title = strings.TrimPrefix(out[n-1].Title+"; terminated by "+l.by, "; ")
	}
	return out
}

// state returns the state of a node after an event.
func (l *life) state(e sim.Event) (page.State, string) {
	switch e.Stage {
	case sim.StateNotReady:
		return page.StateNotReady, e.Node
	case sim.StateUnknown:
		return page.StateUnknown, e.Node
	case sim.StateReady:
		for _, t := range l.troubles {
			if roll.Kind(t.kind) == roll.Uninitialized && !e.At.Before(t.since) && (t.until.IsZero() || e.At.Before(t.until)) {
				return page.StateInitializing, "Ready, and not initialized"
			}
		}
		return page.StateReady, e.Node
	}
	return page.StateInitializing, e.Node
}
