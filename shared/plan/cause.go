package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// outside returns the proven causes outside the instance. Each one breaks the instance by itself,
// so one shared cause is enough. A symptom counts only if nothing explains it.
func outside(causes []roll.Cause) (out []roll.Cause) {
	first := true
	for _, c := range causes {
		if !c.Proven() {
			continue
		}
		if c.Subject != "" && (first || !c.Symptom) {
			out = append(out, c)
		}
		first = false
	}
	return out
}

// common is a cause and its subject. Instances with the same code and subject share the cause.
type common struct{ code, subject string }

// stratum identifies the findings of one kind in one group.
type stratum struct {
	group roll.Group
	kind  roll.Kind
}

// pair holds the first two instances of a set. That is enough to find an instance in the set other
// than a given one.
type pair [2]roll.InstanceID

func (p *pair) add(id roll.InstanceID) {
	switch {
	case p[0] == "":
		p[0] = id
	case p[0] != id && p[1] == "":
		p[1] = id
	}
}

// but returns an instance of the pair other than the given one, "" if there is none.
func (p pair) but(id roll.InstanceID) roll.InstanceID {
	if p[0] != id {
		return p[0]
	}
	return p[1]
}

// shares records which instances have, or may have, which causes in common. A cause that could not
// be checked in an instance counts if another instance has it and the two share a group, launch
// template version, instance profile or subnet.
type shares struct {
	ties      map[roll.FindingKey][]roll.Tie
	instances map[common]map[roll.InstanceID]bool // instances with the proven cause
	perhaps   map[common]map[roll.InstanceID]bool // instances where it is only suggested
	proven    map[openCause]known                 // proven causes by code and tie
	open      map[openCause]pair                  // instances in which the cause could not be checked
	unjudged  map[roll.Tie]pair                   // instances that could not be judged
}

// openCause is the code of a cause, and a tie between instances that may share it.
type openCause struct {
	code string
	tie  roll.Tie
}

// known is a proven cause, and one or two instances that have it.
type known struct {
	common
	pair
}

// sharesOf computes shares from the findings. unjudged are instances that may be unhealthy but have
// no finding, because too much about them was unreadable.
func sharesOf(findings []roll.Finding, why map[roll.FindingKey]roll.Diagnosis, instances map[roll.InstanceID]*roll.Instance, unjudged []*roll.Instance) shares {
	s := shares{
		ties: map[roll.FindingKey][]roll.Tie{}, instances: map[common]map[roll.InstanceID]bool{}, perhaps: map[common]map[roll.InstanceID]bool{},
		proven: map[openCause]known{}, open: map[openCause]pair{}, unjudged: map[roll.Tie]pair{},
	}
	codes, causes := map[string]bool{}, map[common]bool{} // proven causes outside an instance
	// Acts are only about instances.
	findings = slices.DeleteFunc(slices.Clone(findings), func(f roll.Finding) bool { return !f.Instance.IsInstance() })
	for _, f := range findings {
		s.ties[f.Key()] = roll.Ties(f.Group, instances[f.Instance])
		found := why[f.Key()].Causes
		for _, c := range found {
			if c.Proven() && c.Subject != "" {
				has(s.instances, common{c.Code, c.Subject}, f.Instance)
			}
		}
		for _, c := range outside(found) {
			codes[c.Code], causes[common{c.Code, c.Subject}] = true, true
			s.prove(f, common{c.Code, c.Subject})
		}
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

// has adds an instance to those with a cause.
func has(in map[common]map[roll.InstanceID]bool, c common, id roll.InstanceID) {
	if in[c] == nil {
		in[c] = map[roll.InstanceID]bool{}
	}
	in[c][id] = true
}

// prove records a proven cause outside the instance. Of several with one code, the most
// urgent finding's is shown.
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

// leaveOpen records which proven causes the finding's instance may also have.
func (s shares) leaveOpen(f roll.Finding, why roll.Diagnosis, codes map[string]bool, causes map[common]bool) {
	for _, c := range why.Causes {
		lies := common{c.Code, c.Subject}
		if causes[lies] && !s.instances[lies][f.Instance] {
			has(s.perhaps, lies, f.Instance)
		}
	}
	for code := range codes {
		for _, t := range s.ties[f.Key()] {
			if unchecked(why, code, t) {
				p := s.open[openCause{code, t}]
				p.add(f.Instance)
				s.open[openCause{code, t}] = p
			}
		}
	}
}

// unchecked reports whether a cause could not be checked in an instance. A user data cause counts
// as unchecked while nothing else explains the finding: all instances of a launch template version
// share their user data.
func unchecked(why roll.Diagnosis, code string, t roll.Tie) bool {
	if slices.ContainsFunc(why.NotChecked, func(n roll.NotChecked) bool { return n.Code == code }) {
		return true
	}
	explained := slices.ContainsFunc(why.Causes, func(c roll.Cause) bool {
		return c.Confidence == roll.Decisive && !c.Symptom && !aboutUserData(c.Code)
	})
	return !explained && t.SharesUserData() && aboutUserData(code)
}

// aboutUserData reports whether a cause lies in user data.
func aboutUserData(code string) bool {
	return strings.HasPrefix(code, "UserData")
}

// objects refuses if other instances have, or may have, a cause of the finding. A replacement would
// have it too.
func (s shares) objects(f roll.Finding, why roll.Diagnosis) *Refusal {
	for _, c := range why.Causes {
		if c.Proven() {
			continue
		}
		if no := s.shared(f.Instance, common{c.Code, c.Subject}); no != nil {
			return no
		}
	}
	for _, c := range outside(why.Causes) {
		if no := s.shared(f.Instance, common{c.Code, c.Subject}); no != nil {
			return no
		}
		for _, t := range s.ties[f.Key()] {
			if id := s.open[openCause{c.Code, t}].but(f.Instance); id != "" {
				return refuse(SharedCause, "the cause %s (%s) could not be checked in %s, which shares the %s with %s: it probably has the cause too, and so would a replacement", c.Code, c.Subject, id, t, f.Instance)
			}
			if id := s.unjudged[t].but(f.Instance); id != "" {
				return refuse(SharedCause, "what is wrong with %s could not be read, and it shares the %s with %s: it probably has the cause %s (%s) too, and so would a replacement", id, t, f.Instance, c.Code, c.Subject)
			}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.proven), func(a, b openCause) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.tie.String(), b.tie.String()))
	}) {
		k := s.proven[at]
		if slices.Contains(s.ties[f.Key()], at.tie) && k.but(f.Instance) != "" && unchecked(why, at.code, at.tie) {
			return refuse(SharedCause, "%s has the cause %s (%s), which could not be checked in %s; they share the %s: it probably has the cause too, and so would a replacement", k.but(f.Instance), k.code, k.subject, f.Instance, at.tie)
		}
	}
	return nil
}

// shared refuses if this instance and another one have, or may have, the same cause. One of them has
// it for certain: perhaps holds only what is proven elsewhere.
func (s shares) shared(id roll.InstanceID, c common) *Refusal {
	sure, perhaps := len(s.instances[c]), len(s.perhaps[c])
	if sure+perhaps < 2 || !s.instances[c][id] && !s.perhaps[c][id] {
		return nil
	}
	have := "have"
	if perhaps > 0 {
		have = "have, or may have,"
	}
	return refuse(SharedCause, "%d instances %s the cause %s in common (%s): a replacement would have it too", sure+perhaps, have, c.code, c.subject)
}

// unjudged returns instances that may be unhealthy but have no finding of this check: those that
// could not be judged, and those whose finding is kept because it could not be checked again.
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
