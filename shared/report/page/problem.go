package page

import (
	"cmp"
	"fmt"
	"slices"

	"rollcall/shared/roll"
)

// problem is the findings of a cluster that share their first cause. Its causes and fixes
// are shown once.
type problem struct {
	ID         string
	Tone       Tone     // of the worst finding
	Kinds      []string // distinct kinds of the findings
	Groups     []string // distinct groups
	Next       []string // distinct next steps
	Causes     []explanation
	NotChecked []roll.NotChecked
	Members    []member
}

// member is a finding of a problem, with its id on the page.
type member struct {
	Finding
	ID string
}

// explanation is one cause of a problem, as all findings that have it describe it.
type explanation struct {
	Code, Subject string
	Confidence    roll.Confidence
	// Each list has identical texts of several findings once.
	Summaries, Fixes, Unsettled, NotChecked []string
	Evidence                                []roll.Evidence
}

// problems groups findings by their first cause, or by kind and condition if they have none.
func problems(id string, findings []Finding) []problem {
	var out []problem
	index := map[[2]string]int{}
	for n, f := range findings {
		key := [2]string{f.Kind, f.Condition}
		if len(f.Causes) > 0 {
			key = [2]string{"cause " + f.Causes[0].Code, f.Causes[0].Subject}
		}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, problem{ID: fmt.Sprintf("%s-p%d", id, i+1)})
		}
		out[i].add(member{f, fmt.Sprintf("%s-f%d", id, n+1)})
	}
	return out
}

func (p *problem) add(m member) {
	p.Members = append(p.Members, m)
	if gravity[m.Tone] >= gravity[p.Tone] {
		p.Tone = m.Tone
	}
	kind := m.Kind
	if m.Condition != "" {
		kind += " (" + m.Condition + ")"
	}
	p.Kinds, p.Groups = once(p.Kinds, kind), once(p.Groups, m.Group)
	p.Next = once(p.Next, m.Next)
	p.NotChecked = once(p.NotChecked, m.NotChecked...)
	for _, c := range m.Causes {
		i := slices.IndexFunc(p.Causes, func(e explanation) bool { return e.Code == c.Code && e.Subject == c.Subject })
		if i < 0 {
			i = len(p.Causes)
			p.Causes = append(p.Causes, explanation{Code: c.Code, Subject: c.Subject, Confidence: c.Confidence})
		}
		p.Causes[i].add(c)
	}
}

var gravity = map[Tone]int{ToneGood: 1, ToneHeld: 2, ToneWarn: 3, ToneBad: 4}

func (e *explanation) add(c roll.Cause) {
	e.Summaries, e.Fixes, e.Unsettled = once(e.Summaries, c.Summary), once(e.Fixes, c.Fix), once(e.Unsettled, c.Unsettled)
	e.NotChecked, e.Evidence = once(e.NotChecked, c.NotChecked...), once(e.Evidence, c.Evidence...)
}

// once appends the values to a list that are neither empty nor already in it.
func once[T comparable](list []T, values ...T) []T {
	var empty T
	for _, v := range values {
		if v != empty && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// Code returns the code of the first cause, or else the kind of finding.
func (p problem) Code() string {
	if len(p.Causes) > 0 {
		return p.Causes[0].Code
	}
	return p.Kinds[0]
}

// Who returns the name of the only instance, or the count of several.
func (p problem) Who() string {
	if len(p.Members) == 1 {
		return cmp.Or(p.Members[0].Instance, "1 finding")
	}
	return fmt.Sprintf("%d instances", len(p.Members))
}

// Longest returns the age of the problem in words, which is that of its oldest finding.
func (p problem) Longest() string {
	first := slices.MinFunc(p.Members, func(a, b member) int { return a.Since.Compare(b.Since) })
	return first.For
}
