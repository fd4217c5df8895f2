package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// outside are the decisive causes that lie outside of the instance: each breaks it by
// itself, so it is enough if one of them is shared, whichever is told first. What only
// shows the trouble counts where nothing explains it.
func outside(causes []roll.Cause) (out []roll.Cause) {
	first := true
	for _, c := range causes {
		if c.Confidence != roll.Decisive {
			continue
		}
		if c.Subject != "" && (first || !c.Symptom) {
			out = append(out, c)
		}
		first = false
	}
	return out
}

// common is a cause in what it lies in: instances that have it have it in common.
type common struct{ code, subject string }

// stratum are findings of one kind in one group.
type stratum struct {
	group roll.Group
	kind  roll.Kind
}

// pair are the first two instances of a set: enough to know of each instance whether
// another one is in it.
type pair [2]roll.InstanceID

func (p *pair) add(id roll.InstanceID) {
	switch {
	case p[0] == "":
		p[0] = id
	case p[0] != id && p[1] == "":
		p[1] = id
	}
}

// but is one of the two that is another instance, "" if none is.
func (p pair) but(id roll.InstanceID) roll.InstanceID {
	if p[0] != id {
		return p[0]
	}
	return p[1]
}

// shares tells who has which cause in common with whom, and who may have: what could not be
// looked for in an instance counts as the cause of another one that it is tied to by its
// group, launch template version, instance profile or subnet.
type shares struct {
	ties      map[roll.FindingKey][]roll.Tie
	instances map[common]map[roll.InstanceID]bool // that have the cause for certain
	perhaps   map[common]map[roll.InstanceID]bool // of which it is only suggested, where another one has it
	proven    map[openCause]known                 // what a cause of that code is in an instance that has it
	open      map[openCause]pair                  // instances in which it could not be looked for
	unjudged  map[roll.Tie]pair                   // instances that could not be judged at all
}

// openCause is a cause by its code, for those who are tied by something.
type openCause struct {
	code string
	tie  roll.Tie
}

// known is a cause that an instance has, and one or two that have it.
type known struct {
	common
	pair
}

// sharesOf works it out for the findings. unjudged are the instances that may be sick and
// have no finding, because too much about them could not be read.
func sharesOf(findings []roll.Finding, why map[roll.FindingKey]roll.Diagnosis, instances map[roll.InstanceID]*roll.Instance, unjudged []*roll.Instance) shares {
	s := shares{
		ties: map[roll.FindingKey][]roll.Tie{}, instances: map[common]map[roll.InstanceID]bool{}, perhaps: map[common]map[roll.InstanceID]bool{},
		proven: map[openCause]known{}, open: map[openCause]pair{}, unjudged: map[roll.Tie]pair{},
	}
	codes, causes := map[string]bool{}, map[common]bool{} // outside of an instance, which one has for certain
	// Nothing is done about what is no instance.
	findings = slices.DeleteFunc(slices.Clone(findings), func(f roll.Finding) bool { return !f.Instance.IsInstance() })
	for _, f := range findings {
		s.ties[f.Key()] = roll.Ties(f.Group, instances[f.Instance])
		found := why[f.Key()].Causes
		for _, c := range found {
			if c.Confidence == roll.Decisive && c.Subject != "" {
				has(s.instances, common{c.Code, c.Subject}, f.Instance)
			}
		}
		for _, c := range outside(found) {
			codes[c.Code], causes[common{c.Code, c.Subject}] = true, true
			s.prove(f, common{c.Code, c.Subject})
		}
	}
	if len(codes) == 0 {
		return s
	}
	for _, f := range findings {
		if f.Stage.Past(roll.Watching) {
			s.leaveOpen(f, why[f.Key()], codes, causes)
		}
	}
	for _, i := range unjudged {
		for _, t := range roll.Ties(i.Group, i) {
			p := s.unjudged[t]
			p.add(i.ID)
			s.unjudged[t] = p
		}
	}
	return s
}

func has(in map[common]map[roll.InstanceID]bool, c common, id roll.InstanceID) {
	if in[c] == nil {
		in[c] = map[roll.InstanceID]bool{}
	}
	in[c][id] = true
}

// prove notes a cause outside of the instance that the instance has for certain. Of several
// with one code, that of the most urgent finding is told.
func (s shares) prove(f roll.Finding, c common) {
	for _, t := range s.ties[f.Key()] {
		key := openCause{c.code, t}
		k, ok := s.proven[key]
		if !ok {
			k.common = c
		}
		k.add(f.Instance)
		s.proven[key] = k
	}
}

// leaveOpen notes which of the causes that some instance has for certain the finding's may
// have.
func (s shares) leaveOpen(f roll.Finding, why roll.Diagnosis, codes map[string]bool, causes map[common]bool) {
	for _, c := range why.Causes {
		lies := common{c.Code, c.Subject}
		if c.Confidence != roll.Decisive && causes[lies] && !s.instances[lies][f.Instance] {
			has(s.perhaps, lies, f.Instance)
		}
	}
	for code := range codes {
		for _, t := range s.ties[f.Key()] {
			if unlooked(why, code, t) {
				p := s.open[openCause{code, t}]
				p.add(f.Instance)
				s.open[openCause{code, t}] = p
			}
		}
	}
}

// unlooked reports that a cause could not be looked for in an instance. That of user data
// counts as not looked for where nothing else explains it, whatever its own copy shows: the
// version of its launch template has one for all.
func unlooked(why roll.Diagnosis, code string, t roll.Tie) bool {
	if slices.ContainsFunc(why.NotChecked, func(n roll.NotChecked) bool { return n.Code == code }) {
		return true
	}
	explained := slices.ContainsFunc(why.Causes, func(c roll.Cause) bool {
		return c.Confidence == roll.Decisive && !c.Symptom && !aboutUserData(c.Code)
	})
	return !explained && t.SharesUserData() && aboutUserData(code)
}

// aboutUserData reports the causes that lie in user data.
func aboutUserData(code string) bool {
	return strings.HasPrefix(code, "UserData")
}

// object tells whether others have a cause of the finding too, or may have it: a
// replacement would have it as well. So it is where it could not be looked for in this
// instance, or is only suggested, and another one has it.
func (s shares) object(f roll.Finding, why roll.Diagnosis) *Refusal {
	for _, c := range why.Causes {
		if c.Confidence == roll.Decisive {
			continue
		}
		if no := s.inCommon(f.Instance, common{c.Code, c.Subject}); no != nil {
			return no
		}
	}
	for _, c := range outside(why.Causes) {
		if no := s.inCommon(f.Instance, common{c.Code, c.Subject}); no != nil {
			return no
		}
		for _, t := range s.ties[f.Key()] {
			if id := s.open[openCause{c.Code, t}].but(f.Instance); id != "" {
				return refuse(SharedCause, "the cause %s (%s) could not be looked for in %s, which has the %s in common with %s: most likely it has it too, and a replacement would", c.Code, c.Subject, id, t, f.Instance)
			}
			if id := s.unjudged[t].but(f.Instance); id != "" {
				return refuse(SharedCause, "what is wrong with %s could not be read, and it has the %s in common with %s: most likely it has the cause %s (%s) too, and a replacement would", id, t, f.Instance, c.Code, c.Subject)
			}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.proven), func(a, b openCause) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.tie.String(), b.tie.String()))
	}) {
		k := s.proven[at]
		if slices.Contains(s.ties[f.Key()], at.tie) && k.but(f.Instance) != "" && unlooked(why, at.code, at.tie) {
			return refuse(SharedCause, "%s has the cause %s (%s), which was not looked for in %s; they have the %s in common: most likely it has it too, and a replacement would", k.but(f.Instance), k.code, k.subject, f.Instance, at.tie)
		}
	}
	return nil
}

// inCommon tells whether the instance has a cause, for certain or perhaps, that another one
// has for certain, or the other way round.
func (s shares) inCommon(id roll.InstanceID, c common) *Refusal {
	sure, perhaps := len(s.instances[c]), len(s.perhaps[c])
	if sure == 0 || sure+perhaps < 2 || !s.instances[c][id] && !s.perhaps[c][id] {
		return nil
	}
	have := "have"
	if perhaps > 0 {
		have = "have, or may have,"
	}
	return refuse(SharedCause, "%d instances %s the cause %s in common (%s): a replacement would have it too", sure+perhaps, have, c.code, c.subject)
}

// unjudged are the instances that may be sick and have no finding: those that could not be
// judged, and those whose finding is kept because it could not be looked at again.
func (p *planner) unjudged() (out []*roll.Instance) {
	ids := make(map[roll.InstanceID]bool, len(p.Assessment.Unjudged))
	for _, id := range p.Assessment.Unjudged {
		ids[id] = true
	}
	for key := range p.Assessment.Kept {
		if p.State.Findings[key].Stage.Past(roll.Watching) {
			ids[key.Instance] = true
		}
	}
	if len(ids) == 0 {
		return nil
	}
	for n := range p.Snapshot.Instances {
		i := &p.Snapshot.Instances[n]
		if _, found := p.instances[i.ID]; ids[i.ID] && !found {
			out = append(out, i)
		}
	}
	return out
}
