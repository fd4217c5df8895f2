package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// NoticeKey identifies a notice: one group of a cluster, one kind, one cause.
type NoticeKey struct {
	Group roll.Group `json:"group"`
	Kind  roll.Kind  `json:"kind"`
	// Cause is the code of the first decisive cause, "" if none is known.
	Cause string `json:"cause,omitempty"`
}

// String returns the key as one text. It ends in # if the cause is unknown.
func (k NoticeKey) String() string { return fmt.Sprintf("%s#%s#%s", k.Group, k.Kind, k.Cause) }

// Compare orders keys by group, kind and cause.
func (k NoticeKey) Compare(other NoticeKey) int {
	return cmp.Or(cmp.Compare(k.Group, other.Group), cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Cause, other.Cause))
}

// Notice is the memory of the last notice of its key.
type Notice struct {
	SentAt  time.Time `json:"sentAt"`
	Members Members   `json:"told"`
	// Over is when a check first found no member in trouble; zero while one is.
	Over     time.Time `json:"over,omitzero"`
	Incident Incident  `json:"incident,omitzero"`
}

// Members is the memory of the instances of an incident. Its JSON lists instances with equal
// memories together, which takes a third of the space: a notice may name 100,000.
type Members map[roll.InstanceID]MemberMemory

// told is the memory of several instances.
type told struct {
	MemberMemory

	Instances []roll.InstanceID `json:"instances"`
}

// MarshalJSON implements json.Marshaler.
func (m Members) MarshalJSON() ([]byte, error) {
	equal := map[MemberMemory][]roll.InstanceID{}
	for id, memory := range m {
		equal[memory] = append(equal[memory], id)
	}
	all := []told{}
	for memory, ids := range equal {
		slices.Sort(ids)
		all = append(all, told{memory, ids})
	}
	slices.SortFunc(all, func(a, b told) int { return cmp.Compare(a.Instances[0], b.Instances[0]) })
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Members) UnmarshalJSON(data []byte) error {
	var all []told
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*m = Members{}
	for _, t := range all {
		for _, id := range t.Instances {
			(*m)[id] = t.MemberMemory
		}
	}
	return nil
}

// MemberMemory is the memory of one instance of an incident. A notice has reported the
// latest statement if both fields are equal.
type MemberMemory struct {
	Last Statement `json:"last,omitzero"` // the latest, whether or not a notice reported it
	Told Statement `json:"told,omitzero"` // in the last notice that named the instance; zero if none did
	// Before is what the notices said until Told.
	Before Statement `json:"before,omitzero"`
	// Unnamed: notices were sent since that did not name the instance.
	Unnamed bool `json:"unnamed,omitempty"`
}

// Statement is a summary of an instance's situation. One field is set; the zero value means
// no statement.
type Statement struct {
	Stage roll.Stage `json:"stage,omitempty"` // warned or overdue, and nothing more
	Held  string     `json:"held,omitempty"`  // an act is held; the reason
	Order string     `json:"order,omitempty"` // an act is ordered; the id of the order
	Drain string     `json:"drain,omitempty"` // the node is cordoned and drained; the id of the cordon's order
	Asked string     `json:"asked,omitempty"` // an act needs an approval; the id of its order
}

// Acts reports whether the statement says that the instance is acted on.
func (s Statement) Acts() bool { return s.Order != "" || s.Drain != "" }

// Incident is what the notices about one trouble share, from the first one to the one that
// reports its end.
type Incident struct {
	ID    string    `json:"id,omitempty"`    // the same in all notices of the incident
	First time.Time `json:"first,omitzero"`  // when the first notice was sent
	Sent  int       `json:"sent,omitempty"`  // number of notices
	Most  int       `json:"most,omitempty"`  // the most instances that one notice named
	Total int       `json:"total,omitempty"` // instances that have had the trouble
	Told  int       `json:"told,omitempty"`  // Total when the last notice was sent
	// Left counts instances that recovered and were dropped before a notice reported it.
	Left int `json:"left,omitempty"`
	// Stages, Reasons and Causes are what the notices have reported so far, each sorted:
	// stages of instances, reasons for which acts were held, and causes, "" for an unknown
	// one.
	Stages  []roll.Stage `json:"stages,omitempty"`
	Reasons []string     `json:"reasons,omitempty"`
	Causes  []string     `json:"causes,omitempty"`
}

// Add adds a statement to what the notices have reported. Orders are not kept: each is
// about one instance, and always new.
func (i *Incident) Add(s Statement) {
	i.Stages, i.Reasons = with(i.Stages, s.Stage), with(i.Reasons, s.Held)
}

// AddCause adds a cause to those that the notices have named, "" for an unknown one.
func (i *Incident) AddCause(code string) {
	if !slices.Contains(i.Causes, code) {
		i.Causes = slices.Sorted(slices.Values(append(slices.Clone(i.Causes), code)))
	}
}

// AddFrom adds what the notices of another incident have reported.
func (i *Incident) AddFrom(other Incident) {
	for _, s := range other.Stages {
		i.Stages = with(i.Stages, s)
	}
	for _, r := range other.Reasons {
		i.Reasons = with(i.Reasons, r)
	}
	for _, c := range other.Causes {
		i.AddCause(c)
	}
}

// Escalated reports whether a notice reported an instance as past its tolerance, or an act
// on it as held, which implies it.
func (i Incident) Escalated() bool {
	return len(i.Reasons) > 0 || slices.Contains(i.Stages, roll.Overdue)
}

// with returns a sorted copy of the list with the element added, unless it is empty or
// already in the list.
func with[T ~string](list []T, element T) []T {
	if element == "" || slices.Contains(list, element) {
		return list
	}
	return slices.Sorted(slices.Values(append(slices.Clone(list), element)))
}

// Clone returns a copy of the incident.
func (i Incident) Clone() Incident {
	i.Stages, i.Reasons, i.Causes = slices.Clone(i.Stages), slices.Clone(i.Reasons), slices.Clone(i.Causes)
	return i
}
