package collect

import (
	"cmp"
	"slices"

	"rollcall/shared/evidence"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// readMembers lists the instances of each group with findings, from the snapshot. Instances in no
// group have nothing in common.
func (l *look) readMembers() {
	found := map[roll.InstanceID]roll.Kind{}
	for _, f := range slices.Backward(l.in.Findings) {
		found[f.Instance] = f.Kind // the most urgent one counts
	}
	affected := map[roll.Group]bool{}
	for _, f := range l.findings {
		affected[f.Group] = true
	}
	for group := range affected {
		l.group(group, func(g *evidence.Group) { g.Acts, g.Proven = l.acts(group), l.in.State.Groups[group].Proven })
	}
	delete(affected, roll.GroupNone)
	members := map[roll.Group][]evidence.Member{}
	seen := map[evidence.Sound]int{} // where they are in the list
	for _, m := range roll.Pair(l.in.Snapshot) {
		if m.Instance == nil {
			continue
		}
		group := m.Group()
		compared := !l.ev.Alone && !m.Instance.Vouched // otherwise its profile is not known
		if !affected[group] && !compared {
			continue // most instances of a large cluster
		}
		member := memberOf(m, found)
		if affected[group] {
			members[group] = append(members[group], member)
		}
		if !compared || !member.Healthy {
			continue
		}
		like := evidence.Sound{Group: group, Profile: m.Instance.Profile, VPC: m.Instance.VPC, Windows: m.Instance.Preset == roll.PresetWindows}
		at, known := seen[like]
		if !known {
			at = len(l.ev.Sound)
			seen[like] = at
			like.Latest = member.Instance
			l.ev.Sound = append(l.ev.Sound, like)
		}
		if s := &l.ev.Sound[at]; member.Joined.After(s.Joined) {
			s.Latest, s.Joined = member.Instance, member.Joined
		}
	}
	for group, all := range members {
		l.group(group, func(g *evidence.Group) { g.Members = all })
	}
}

func memberOf(m roll.Member, found map[roll.InstanceID]roll.Kind) evidence.Member {
	kind, wrong := found[m.ID()]
	out := evidence.Member{Instance: m.ID(), Finding: kind, Launched: m.Instance.Launched}
	if m.Instance.Vouched && m.Node != nil {
		out.Launched = m.Node.Created // about as long ago
	}
	if m.Node != nil {
		out.Joined = m.Node.Created
		out.Healthy = !wrong && m.Node.Ready.Status == roll.ConditionTrue
	}
	return out
}

func (l *look) acts(group roll.Group) evidence.Fact[[]evidence.Act] {
	if why := l.forgotten(); why != "" {
		return evidence.Failed[[]evidence.Act](why)
	}
	out := []evidence.Act{}
	for _, a := range l.in.State.Actions {
		if a.Group == group {
			out = append(out, evidence.Act{Instance: a.Instance, Do: a.Do, Kind: a.Kind, At: a.At, Done: a.Outcome != nil && a.Outcome.Result == ledger.Done})
		}
	}
	return evidence.Read(out)
}

// forgotten returns why the ledger could not be read, "" if it could.
func (l *look) forgotten() string {
	for _, g := range l.in.Snapshot.Gaps {
		if g.Call == roll.CallLedger {
			return g.Detail
		}
	}
	return ""
}

// healthy returns the instances without findings for comparison, the latest of each group first: an
// instance that was launched long ago shows least about current launches.
func (l *look) healthy() []string {
	var ids []string
	for _, group := range l.groupsInOrder() {
		sound := slices.DeleteFunc(slices.Clone(l.groupOf(group).Members), func(m evidence.Member) bool { return !m.Healthy })
		slices.SortFunc(sound, func(a, b evidence.Member) int {
			return cmp.Or(b.Launched.Compare(a.Launched), cmp.Compare(a.Instance, b.Instance))
		})
		sound, _ = first(sound, l.most(healthySample))
		ids = append(ids, roll.Map(sound, func(m evidence.Member) string { return string(m.Instance) })...)
	}
	return ids
}

func (l *look) groupsInOrder() []roll.Group {
	return distinct(roll.Map(l.findings, func(f roll.Finding) roll.Group { return f.Group }))
}

func (l *look) complete(facts map[string]evidence.Fact[evidence.InstanceConfig]) {
	for _, group := range l.groupsInOrder() {
		l.group(group, func(g *evidence.Group) {
			for i := range g.Members {
				m := &g.Members[i]
				if c := facts[string(m.Instance)]; c.Known() {
					m.Described, m.VPC, m.Subnet, m.SecurityGroups, m.Public = true, c.Value.VPC, c.Value.Subnet, c.Value.SecurityGroups, c.Value.PublicIP != ""
					m.Profile, m.ClusterTags = c.Value.ProfileARN, c.Value.ClusterTags
					m.Image, m.LaunchTemplate, m.LaunchTemplateVersion = c.Value.Image, c.Value.LaunchTemplate, c.Value.LaunchTemplateVersion
				}
			}
		})
	}
}
