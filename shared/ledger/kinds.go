package ledger

import (
	"maps"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// A record is a kind of what is remembered. Whatever treats all kinds alike follows from the
// table below: copies, applied changes, the items of the table in DynamoDB. Only the order in
// which changes are written is spelled out elsewhere, in dynamorecord.go.
type record interface {
	kind() string
	init(*State)
	copy(to, from *State)
	apply(*State, *Changes)
	changed(*Changes) bool
	read(*State, item) error
}

// form is how an item holds a record.
type form struct {
	name string // what stands before the first # of its sort keys
	// key is the attribute of a key that is one text, value that of a value that is no struct.
	// Where they are "", the fields are attributes.
	key, value string
	// needs are the attributes without which an item is malformed: all but numbers, texts, lists
	// and flags that may be empty. What a later version adds must stay out of it, or that version
	// could not read the items of this one.
	needs string
	// lasts is how long after its value, a time, a record expires; 0 if it does not.
	lasts time.Duration
}

func (f form) kind() string { return f.name }

// many is a kind with a record for each key.
type many[K comparable, V any] struct {
	form

	clone func(V) V // nil if copies of a value share nothing
	in    func(*State, *Changes) place[K, V]
}

// place is where the records of a kind are, and what changes put and drop of them.
type place[K comparable, V any] struct {
	state *map[K]V
	put   map[K]V
	drop  []K
}

func at[K comparable, V any](state *map[K]V, put map[K]V, drop []K) place[K, V] {
	return place[K, V]{state, put, drop}
}

func perKey[K comparable, V any](f form, clone func(V) V, in func(*State, *Changes) place[K, V]) many[K, V] {
	return many[K, V]{f, clone, in}
}

// one is a kind with one record for a cluster.
type one[V comparable] struct {
	form

	clone func(V) V
	in    func(*State, *Changes) (state *V, put V, drop bool)
}

var (
	kindFinding = perKey(form{name: "finding", needs: "instance kind group stage firstSeen opened since began"}, Finding.clone,
		func(s *State, c *Changes) place[roll.FindingKey, Finding] {
			return at(&s.Findings, byKey(c.PutFindings), c.DropFindings)
		})
	kindNotReady = perKey(form{name: "notready", key: "instance", needs: "instance since status transition told"}, nil,
		func(s *State, c *Changes) place[roll.InstanceID, NotReady] {
			return at(&s.NotReady, c.PutNotReady, c.DropNotReady)
		})
	kindMissing = perKey(form{name: "missing", key: "instance", value: "since", needs: "instance since"}, nil,
		func(s *State, c *Changes) place[roll.InstanceID, time.Time] {
			return at(&s.Missing, c.PutMissing, c.DropMissing)
		})
	kindFlips = perKey(form{name: "flips", key: "instance", value: "times", needs: "instance"}, slices.Clone,
		func(s *State, c *Changes) place[roll.InstanceID, []time.Time] {
			return at(&s.Flips, c.PutFlips, c.DropFlips)
		})
	kindPressure = perKey(form{name: "pressure", key: "instance", needs: "instance since until"}, Pressure.clone,
		func(s *State, c *Changes) place[roll.InstanceID, Pressure] {
			return at(&s.Pressures, c.PutPressures, c.DropPressures)
		})
	kindSpot = perKey(form{name: "spot", value: "at", needs: "instance event at", lasts: SpotRetention}, nil,
		func(s *State, c *Changes) place[SpotKey, time.Time] { return at(&s.Spot, c.PutSpot, c.DropSpot) })
	kindRest = perKey(form{name: "rest", key: "instance", needs: "instance left"}, nil,
		func(s *State, c *Changes) place[roll.InstanceID, Rest] { return at(&s.Rests, c.PutRests, c.DropRests) })
	kindGroup = perKey(form{name: "group", key: "name", value: "seen", needs: "name seen"}, nil,
		func(s *State, c *Changes) place[roll.Origin, time.Time] {
			return at(&s.GroupsWithNodes, c.PutGroups, c.DropGroups)
		})
	kindRemediate = perKey(form{name: "remediate", key: "name", value: "since", needs: "name since"}, nil,
		func(s *State, c *Changes) place[roll.Group, time.Time] {
			return at(&s.RemediateSince, c.PutRemediate, c.DropRemediate)
		})
	kindMemory = perKey(form{name: "memory", key: "group", needs: "group counted good proven ended"}, GroupMemory.clone,
		func(s *State, c *Changes) place[roll.Group, GroupMemory] {
			return at(&s.Groups, c.PutGroupMemory, c.DropGroupMemory)
		})
	kindRefusal = perKey(form{name: "refusal", needs: "order reason instance kind do at given"}, nil,
		func(s *State, c *Changes) place[RefusalKey, Refusal] {
			return at(&s.Refusals, c.PutRefusals, c.DropRefusals)
		})
	// A notice has a form of its own in the table: dynamonotices.go.
	kindNotice = perKey(form{name: "notice"}, Notice.clone,
		func(s *State, c *Changes) place[NoticeKey, Notice] {
			return at(&s.Notices, c.PutNotices, c.DropNotices)
		})

	kindFirst = one[time.Time]{form{name: "first", value: "at", needs: "at"}, nil,
		func(s *State, c *Changes) (*time.Time, time.Time, bool) { return &s.First, c.PutFirst, false }}
	kindChecked = one[time.Time]{form{name: "checked", value: "at", needs: "at"}, nil,
		func(s *State, c *Changes) (*time.Time, time.Time, bool) { return &s.Checked, c.PutChecked, false }}
	kindTrouble = one[*Trouble]{form{name: "trouble", needs: "reason since last told outage"}, func(t *Trouble) *Trouble { return new(*t) },
		func(s *State, c *Changes) (**Trouble, *Trouble, bool) { return &s.Trouble, c.PutTrouble, c.DropTrouble }}
	// The version of the notices, which RaiseNotices writes.
	kindNotices = one[int64]{form{name: "notices", value: "version", needs: "version"}, nil,
		func(s *State, _ *Changes) (*int64, int64, bool) { return &s.NoticesVersion, 0, false }}
)

func byKey(fs []Finding) map[roll.FindingKey]Finding {
	out := make(map[roll.FindingKey]Finding, len(fs))
	for _, f := range fs {
		out[f.Key()] = f
	}
	return out
}

// records are all kinds but acts, which are begun and finished.
var records = []record{
	kindFinding, kindNotReady, kindMissing, kindFlips, kindPressure, kindSpot, kindRest, kindGroup,
	kindMemory, kindRemediate, kindRefusal, kindNotice, kindFirst, kindChecked, kindTrouble, kindNotices,
}

func (k many[K, V]) init(s *State) {
	if m := k.in(s, new(Changes)).state; *m == nil {
		*m = map[K]V{}
	}
}

func (k many[K, V]) copy(to, from *State) {
	k.keep(*k.in(to, new(Changes)).state, *k.in(from, new(Changes)).state)
}

func (k many[K, V]) apply(s *State, c *Changes) {
	p := k.in(s, c)
	k.keep(*p.state, p.put)
	for _, key := range p.drop {
		delete(*p.state, key)
	}
}

// keep takes copies of values.
func (k many[K, V]) keep(in, values map[K]V) {
	if k.clone == nil {
		maps.Copy(in, values)
		return
	}
	for key, v := range values {
		in[key] = k.clone(v)
	}
}

func (k many[K, V]) changed(c *Changes) bool {
	p := k.in(new(State), c)
	return len(p.put)+len(p.drop) > 0
}

func (k many[K, V]) sortKey(key K) string { return k.name + "#" + keyText(key) }

func (k one[V]) init(*State) {}

func (k one[V]) copy(to, from *State) {
	state, _, _ := k.in(to, new(Changes))
	old, _, _ := k.in(from, new(Changes))
	*state = k.own(*old)
}

func (k one[V]) apply(s *State, c *Changes) {
	var none V
	state, put, drop := k.in(s, c)
	if put != none {
		*state = k.own(put)
	}
	if drop {
		*state = none
	}
}

// own copies a value.
func (k one[V]) own(v V) V {
	var none V
	if v == none || k.clone == nil {
		return v
	}
	return k.clone(v)
}

func (k one[V]) changed(c *Changes) bool {
	var none V
	_, put, drop := k.in(new(State), c)
	return put != none || drop
}
