package ledger

import (
	"slices"
	"time"

	"rollcall/shared/roll"
)

// A record is one kind of record. The table below drives all code that handles every kind
// in the same way: copies, changes, items in DynamoDB. Only the order of writes is
// elsewhere, in dynamorecord.go.
type record interface {
	kind() string
	init(*State)
	copy(to, from *State)
	drop(*State, *Drops)
	changed(*Changes) bool
	read(*State, item) error
}

// form is the layout of a record's item.
type form struct {
	name string // the first part of its sort keys
	// key is the name of the attribute for a key that is one string, value that for a value
	// that is not a struct. If they are "", the fields of the struct are the attributes.
	key, value string
	// needs lists the required attributes: all but those that may be empty. Attributes that
	// a later version adds must be optional, so that it can read the items of this version.
	needs string
	// lasts is how long after its value, a time, the record expires; 0 means never.
	lasts time.Duration
}

func (f form) kind() string { return f.name }

// many is a kind with a record for each key.
type many[K comparable, V any] struct {
	form

	clone func(V) V // nil if a plain copy shares nothing
	in    func(*State, *Drops) (*map[K]V, []K)
}

func perKey[K comparable, V any](f form, clone func(V) V, in func(*State, *Drops) (*map[K]V, []K)) many[K, V] {
	return many[K, V]{f, clone, in}
}

// one is a kind with one record per cluster.
type one[V comparable] struct {
	form

	clone func(V) V
	in    func(*State, *Drops) (*V, bool)
}

var (
	kindFinding = perKey(form{name: "finding", needs: "instance kind group stage firstSeen opened since began"}, Finding.clone,
		func(s *State, d *Drops) (*map[roll.FindingKey]Finding, []roll.FindingKey) {
			return &s.Findings, d.Findings
		})
	kindNotReady = perKey(form{name: "notready", key: "instance", needs: "instance since status transition told"}, nil,
		func(s *State, d *Drops) (*map[roll.InstanceID]NotReady, []roll.InstanceID) {
			return &s.NotReady, d.NotReady
		})
	kindMissing = perKey(form{name: "missing", key: "instance", value: "since", needs: "instance since"}, nil,
		func(s *State, d *Drops) (*map[roll.InstanceID]time.Time, []roll.InstanceID) {
			return &s.Missing, d.Missing
		})
	kindFlips = perKey(form{name: "flips", key: "instance", value: "times", needs: "instance"}, slices.Clone,
		func(s *State, d *Drops) (*map[roll.InstanceID][]time.Time, []roll.InstanceID) {
			return &s.Flips, d.Flips
		})
	kindPressure = perKey(form{name: "pressure", key: "instance", needs: "instance since until"}, Pressure.clone,
		func(s *State, d *Drops) (*map[roll.InstanceID]Pressure, []roll.InstanceID) {
			return &s.Pressures, d.Pressures
		})
	kindSpot = perKey(form{name: "spot", value: "at", needs: "instance event at", lasts: SpotRetention}, nil,
		func(s *State, d *Drops) (*map[SpotKey]time.Time, []SpotKey) { return &s.Spot, d.Spot })
	kindRest = perKey(form{name: "rest", key: "instance", needs: "instance left"}, nil,
		func(s *State, d *Drops) (*map[roll.InstanceID]Rest, []roll.InstanceID) { return &s.Rests, d.Rests })
	kindGroup = perKey(form{name: "group", key: "name", value: "seen", needs: "name seen"}, nil,
		func(s *State, d *Drops) (*map[roll.Origin]time.Time, []roll.Origin) {
			return &s.GroupsWithNodes, d.GroupsWithNodes
		})
	kindRemediate = perKey(form{name: "remediate", key: "name", value: "since", needs: "name since"}, nil,
		func(s *State, d *Drops) (*map[roll.Group]time.Time, []roll.Group) {
			return &s.RemediateSince, d.RemediateSince
		})
	kindMemory = perKey(form{name: "memory", key: "group", needs: "group counted good proven ended"}, GroupMemory.clone,
		func(s *State, d *Drops) (*map[roll.Group]GroupMemory, []roll.Group) { return &s.Groups, d.Groups })
	kindRefusal = perKey(form{name: "refusal", needs: "order reason instance kind do at given"}, nil,
		func(s *State, d *Drops) (*map[RefusalKey]Refusal, []RefusalKey) { return &s.Refusals, d.Refusals })
	// Items of notices have a layout of their own: dynamonotices.go.
	kindNotice = perKey(form{name: "notice"}, Notice.clone,
		func(s *State, d *Drops) (*map[NoticeKey]Notice, []NoticeKey) { return &s.Notices, d.Notices })

	kindFirst = one[time.Time]{form{name: "first", value: "at", needs: "at"}, nil,
		func(s *State, _ *Drops) (*time.Time, bool) { return &s.First, false }}
	kindChecked = one[time.Time]{form{name: "checked", value: "at", needs: "at"}, nil,
		func(s *State, _ *Drops) (*time.Time, bool) { return &s.Checked, false }}
	kindTrouble = one[*Trouble]{form{name: "trouble", needs: "reason since last told outage"}, func(t *Trouble) *Trouble { return new(*t) },
		func(s *State, d *Drops) (**Trouble, bool) { return &s.Trouble, d.Trouble }}
	// The version of the notices is not part of Changes: RaiseNotices increments it.
	kindNotices = one[int64]{form{name: "notices", value: "version", needs: "version"}, nil,
		func(s *State, _ *Drops) (*int64, bool) { return &s.NoticesVersion, false }}
)

// records are the kinds that Changes put and drop.
var records = []record{
	kindFinding, kindNotReady, kindMissing, kindFlips, kindPressure, kindSpot, kindRest, kindGroup,
	kindRemediate, kindMemory, kindRefusal, kindNotice, kindFirst, kindChecked, kindTrouble,
}

// of returns the records of the kind in a state.
func (k many[K, V]) of(s *State) *map[K]V {
	m, _ := k.in(s, new(Drops))
	return m
}

func (k many[K, V]) init(s *State) {
	if m := k.of(s); *m == nil {
		*m = map[K]V{}
	}
}

func (k many[K, V]) copy(to, from *State) {
	in := *k.of(to)
	for key, v := range *k.of(from) {
		if k.clone != nil {
			v = k.clone(v)
		}
		in[key] = v
	}
}

func (k many[K, V]) drop(s *State, d *Drops) {
	m, keys := k.in(s, d)
	for _, key := range keys {
		delete(*m, key)
	}
}

func (k many[K, V]) changed(c *Changes) bool {
	put, drop := k.in(&c.Put, &c.Drop)
	return len(*put)+len(drop) > 0
}

func (k many[K, V]) sortKey(key K) string { return k.name + "#" + keyText(key) }

func (k one[V]) of(s *State) *V {
	v, _ := k.in(s, new(Drops))
	return v
}

func (k one[V]) init(*State) {}

func (k one[V]) copy(to, from *State) {
	var none V
	v := *k.of(from)
	if v == none {
		return
	}
	if k.clone != nil {
		v = k.clone(v)
	}
	*k.of(to) = v
}

func (k one[V]) drop(s *State, d *Drops) {
	if v, drop := k.in(s, d); drop {
		*v = *new(V)
	}
}

func (k one[V]) changed(c *Changes) bool {
	var none V
	put, drop := k.in(&c.Put, &c.Drop)
	return *put != none || drop
}
