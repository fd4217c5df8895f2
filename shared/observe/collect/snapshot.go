package collect

import (
	"cmp"
	"slices"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// fromSnapshot sets the facts that need no call: zones, groups' members and acts, and what earlier
// checks saw of the nodes.
func (l *look) fromSnapshot() {
	if !l.ev.Alone {
		l.ev.Zones = zones(l.in.Snapshot)
	}
	l.ev.Shifts = roll.Map(l.in.Snapshot.Shifts, func(s roll.Shift) string { return s.ZoneID })
	l.readMembers()
	l.ev.Proven = map[roll.FindingKey][]roll.Proof{}
	for _, f := range l.findings {
		if known, _ := l.in.State.Known(f); len(known.Proven) > 0 {
			l.ev.Proven[f.Key()] = known.Proven
		}
	}
	nodes := map[string]*roll.Node{}
	for _, f := range l.findings {
		nodes[f.Node] = new(roll.Node)
	}
	for i := range l.in.Snapshot.Nodes {
		if n := &l.in.Snapshot.Nodes[i]; nodes[n.Name] != nil {
			nodes[n.Name] = n
		}
	}
	for _, f := range l.findings {
		if f.Node != "" {
			remembered := l.remembered(f, *nodes[f.Node])
			l.node(f.Node, func(n *evidence.Node) { n.Remembered = remembered })
		}
	}
}

// zones counts the EC2 nodes of each zone, except those that are silent because their instances
// were stopped, or are gone: Nodes that nothing removed say nothing about their zone.
func zones(s *roll.Snapshot) []evidence.Zone {
	by := map[string]*evidence.Zone{}
	var names []string
	for _, m := range roll.Pair(s) {
		if m.Node == nil || m.Zone() == "" || !m.Node.Compute.Hosted() || m.ControlPlane() ||
			m.Node.Ready.Status != roll.ConditionTrue && (m.Off() || s.NotFound[m.Node.Instance]) {
			continue
		}
		z := by[m.Zone()]
		if z == nil {
			z = &evidence.Zone{Zone: m.Zone()}
			by[m.Zone()], names = z, append(names, m.Zone())
		}
		z.Nodes++
		if m.Node.Ready.Status == roll.ConditionUnknown {
			z.Silent = append(z.Silent, m.Node.Ready.Since)
		}
	}
	slices.Sort(names)
	var out []evidence.Zone
	for _, name := range names {
		slices.SortFunc(by[name].Silent, time.Time.Compare)
		out = append(out, *by[name])
	}
	return out
}

// remembered returns what an earlier check saw of the finding's node.
func (l *look) remembered(f roll.Finding, now roll.Node) evidence.Fact[evidence.Remembered] {
	if l.in.Remembered != nil {
		if r, ok := l.in.Remembered[f.Node]; ok {
			return evidence.Read(r)
		}
		return evidence.None[evidence.Remembered]()
	}
	if why := l.forgotten(); why != "" {
		return evidence.Failed[evidence.Remembered](why)
	}
	pressure, pressed := l.in.State.Pressures[f.Instance]
	flips := l.in.State.Flips[f.Instance]
	away := l.in.State.NotReady[f.Instance]
	told, group := away.Told, l.in.State.Groups[f.Group].Pressed
	if !f.Instance.IsInstance() || !pressed && len(flips) == 0 && told.IsZero() && len(group) == 0 {
		return evidence.None[evidence.Remembered]()
	}
	r := evidence.Remembered{At: lastSeen(l.in.State, now), ReadyFlips: slices.Clone(flips)}
	switch {
	case !told.IsZero():
		r.At = told
	case away.Status == roll.ConditionUnknown:
		// No check saw the node report before this silence. The pressure may be that of an earlier one.
		r.At = latest(pressure.Since, pressure.Until)
	}
	r.GroupPressures = roll.Map(group, func(p ledger.GroupPressure) evidence.Pressure { return evidence.Pressure(p) })
	switch {
	case pressed:
		r.Conditions = pressures(pressure)
	case !told.IsZero():
		// A pressure stays in the ledger while it lasts and for an hour after, so there was none.
		r.Conditions = noPressure()
	}
	if r.At.IsZero() {
		r.At = cmp.Or(latest(append(slices.Clone(flips), pressure.Since, pressure.Until)...), lastSeen(l.in.State, now))
	}
	return evidence.Read(r)
}

// lastSeen returns when a check can last have seen what the kubelet reports of its node: the
// control plane overwrites it once the node is silent.
func lastSeen(s ledger.State, n roll.Node) time.Time {
	if n.Ready.Status == roll.ConditionUnknown && n.Ready.Since.Before(s.Checked) {
		return n.Ready.Since
	}
	return s.Checked
}

// pressures returns the conditions in the ledger: True since they began, or False since they were
// seen gone.
func pressures(p ledger.Pressure) []evidence.Condition {
	status, since := roll.ConditionTrue, p.Since
	if !p.Until.IsZero() {
		status, since = roll.ConditionFalse, p.Until
	}
	return roll.Map(p.Types, func(kind string) evidence.Condition {
		return evidence.Condition{Type: kind, Status: string(status), Since: since}
	})
}

// noPressure returns the conditions of a node that has had no shortage for long.
func noPressure() []evidence.Condition {
	return roll.Map([]string{roll.DiskPressure, roll.MemoryPressure, roll.PIDPressure}, func(kind string) evidence.Condition {
		return evidence.Condition{Type: kind, Status: string(roll.ConditionFalse)}
	})
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}
