package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

// kind is one kind of record in State. The tables below drive all code that handles every
// kind in the same way.
type kind interface {
	copy(to, from *State) // also makes a missing map
	drop(*State, *Drops)
	parse(record) (put func(*State), err error)
	puts(*Changes) ([]write, error)
	drops(*Changes) ([]write, error)
	changes(*Changes) bool // reports whether puts or drops return writes
}

// many is a kind with a record for each key.
type many[K comparable, V any] struct {
	name  string // the first part of its keys
	in    func(*State, *Drops) (*map[K]V, []K)
	needs []need
	lasts time.Duration // how long after its value, a time, a record expires; 0 means never
}

// one is a kind with one record in a cluster.
type one[V comparable] struct {
	name  string // its key
	in    func(*State, *Drops) (*V, bool)
	needs []need
}

func manyOf[K comparable, V any](name string, in func(*State, *Drops) (*map[K]V, []K)) many[K, V] {
	return many[K, V]{name: name, in: in, needs: needs[V]()}
}

func oneOf[V comparable](name string, in func(*State, *Drops) (*V, bool)) one[V] {
	return one[V]{name: name, in: in, needs: needs[V]()}
}

var (
	findings = manyOf("finding", func(s *State, d *Drops) (*map[roll.FindingKey]Finding, []roll.FindingKey) {
		return &s.Findings, d.Findings
	})
	notReady = manyOf("notready", func(s *State, d *Drops) (*map[roll.InstanceID]NotReady, []roll.InstanceID) {
		return &s.NotReady, d.NotReady
	})
	missing = manyOf("missing", func(s *State, d *Drops) (*map[roll.InstanceID]time.Time, []roll.InstanceID) {
		return &s.Missing, d.Missing
	})
	doubts = manyOf("doubt", func(s *State, d *Drops) (*map[roll.InstanceID]time.Time, []roll.InstanceID) {
		return &s.Doubts, d.Doubts
	})
	flips = manyOf("flips", func(s *State, d *Drops) (*map[roll.InstanceID][]time.Time, []roll.InstanceID) {
		return &s.Flips, d.Flips
	})
	pressures = manyOf("pressure", func(s *State, d *Drops) (*map[roll.InstanceID]Pressure, []roll.InstanceID) {
		return &s.Pressures, d.Pressures
	})
	spot = many[SpotKey, time.Time]{name: "spot", lasts: SpotRetention, in: func(s *State, d *Drops) (*map[SpotKey]time.Time, []SpotKey) {
		return &s.Spot, d.Spot
	}}
	rests = manyOf("rest", func(s *State, d *Drops) (*map[roll.InstanceID]Rest, []roll.InstanceID) {
		return &s.Rests, d.Rests
	})
	groups = manyOf("group", func(s *State, d *Drops) (*map[roll.Origin]time.Time, []roll.Origin) {
		return &s.GroupsWithNodes, d.GroupsWithNodes
	})
	remediate = manyOf("remediate", func(s *State, d *Drops) (*map[roll.Group]time.Time, []roll.Group) {
		return &s.RemediateSince, d.RemediateSince
	})
	memories = manyOf("memory", func(s *State, d *Drops) (*map[roll.Group]GroupMemory, []roll.Group) {
		return &s.Groups, d.Groups
	})
	refusals = manyOf("refusal", func(s *State, d *Drops) (*map[RefusalKey]Refusal, []RefusalKey) {
		return &s.Refusals, d.Refusals
	})
	questions = manyOf("question", func(s *State, d *Drops) (*map[string]ApprovalRequest, []string) {
		return &s.Questions, d.Questions
	})
	approvals = manyOf("approval", func(s *State, d *Drops) (*map[string]Approval, []string) {
		return &s.Approvals, d.Approvals
	})
	notices = manyOf("notice", func(s *State, d *Drops) (*map[NoticeKey]Notice, []NoticeKey) {
		return &s.Notices, d.Notices
	})
	first   = oneOf("first", func(s *State, _ *Drops) (*time.Time, bool) { return &s.First, false })
	checked = oneOf("checked", func(s *State, _ *Drops) (*time.Time, bool) { return &s.Checked, false })
	modeTag = oneOf("mode", func(s *State, d *Drops) (*string, bool) { return &s.ModeTag, d.ModeTag })
	trouble = oneOf("trouble", func(s *State, d *Drops) (**Trouble, bool) { return &s.Trouble, d.Trouble })
)

// kinds are the kinds of records, by the first part of their keys.
var kinds = map[string]kind{
	findings.name: findings, notReady.name: notReady, missing.name: missing, doubts.name: doubts, flips.name: flips, pressures.name: pressures,
	spot.name: spot, rests.name: rests, groups.name: groups, remediate.name: remediate, memories.name: memories,
	refusals.name: refusals, questions.name: questions, approvals.name: approvals, notices.name: notices, first.name: first, checked.name: checked, modeTag.name: modeTag, trouble.name: trouble,
}

// order is the order of writes. After any prefix of it the ledger permits only acts that the
// old or the new memory permits. README.md explains each step.
var order = []func(*Changes) ([]write, error){
	trouble.puts, missing.puts, missing.drops, doubts.puts, remediate.puts, groups.puts, rests.puts,
	notReady.puts, flips.puts, pressures.puts, spot.puts,
	findings.puts,
	questions.puts, notices.puts, refusals.puts, approvals.puts,
	first.puts, checked.puts, modeTag.puts, modeTag.drops,
	remediate.drops, findings.drops, notices.drops, refusals.drops, approvals.drops, questions.drops, groups.drops,
	notReady.drops, rests.drops, flips.drops, pressures.drops, spot.drops, doubts.drops,
	memories.puts, memories.drops, trouble.drops,
}

// writes returns the writes of the changes, in order. Of a put and a drop of one record only
// the drop is left.
func (c *Changes) writes() ([]write, error) {
	var all []write
	last := map[string]int{}
	for _, of := range order {
		writes, err := of(c)
		if err != nil {
			return nil, err
		}
		for _, w := range writes {
			last[w.key] = len(all)
			all = append(all, w)
		}
	}
	n := -1
	return slices.DeleteFunc(all, func(w write) bool { n++; return last[w.key] != n }), nil
}

// stateOf returns the state in a cluster's records.
func stateOf(records []record) (State, error) {
	s := NewState()
	var acts []act
	for _, r := range records {
		name, _, _ := strings.Cut(r.key, "#")
		var err error
		switch k := kinds[name]; {
		case r.key == noticesKey:
			s.NoticesVersion = r.version
			if r.version < 1 {
				err = r.malformed(errors.New("it has no version"))
			}
		case strings.HasPrefix(r.key, actPrefix):
			var a act
			a, err = actOf(r)
			acts = append(acts, a)
		case k != nil: // others are parts of notices, or belong to a later version
			p := r.parsed(func() (p parsed) {
				p.put, p.err = k.parse(r)
				return p
			})
			if err = r.malformed(p.err); err == nil {
				p.put(&s)
			}
		}
		if err != nil {
			return State{}, err
		}
	}
	slices.SortFunc(acts, byTurn)
	s.Actions = actionsOf(acts)
	return s, nil
}

// parsed is the content of a record, which does not depend on its version.
type parsed struct {
	put func(*State) // adds it to a state; nil for an act
	act act
	err error
}

// contents caches the content of records by their keys and texts: few change from one check to the next.
var contents = memo.Memo[[2]string, parsed]{Most: 4096}

// contentBytes is the maximum length of a text in the cache. A notice may have megabytes, and changes.
const contentBytes = 2000

// parsed returns the content of the record, which parse computes if it is not cached.
func (r record) parsed(parse func() parsed) parsed {
	if len(r.value) > contentBytes {
		return parse()
	}
	return contents.Get([2]string{r.key, r.value}, parse)
}

// own returns a copy of a value that shares nothing with it, so that no reader can change what
// another one gets.
func own[V any](v V) V {
	switch p := any(&v).(type) {
	case *Finding:
		p.Proven, p.Outlives = slices.Clone(p.Proven), slices.Clone(p.Outlives)
		for i := range p.Proven {
			p.Proven[i].Evidence = slices.Clone(p.Proven[i].Evidence)
		}
	case *[]time.Time:
		*p = slices.Clone(*p)
	case *Pressure:
		p.Types = slices.Clone(p.Types)
	case *GroupMemory:
		p.Seconds, p.Pressed = slices.Clone(p.Seconds), slices.Clone(p.Pressed)
	case *Notice:
		p.Members, p.Incident = maps.Clone(p.Members), p.Incident.Clone()
	case *ApprovalRequest:
		p.Acts = slices.Clone(p.Acts)
	case **Trouble:
		*p = new(**p)
	case **Outcome:
		if *p != nil {
			*p = new(**p)
		}
	}
	return v
}

// document is the content of a record. Kinds with one record have no key.
type document[K, V any] struct {
	Key   K `json:"key,omitzero"`
	Value V `json:"value"`
}

// none is the key of the only record of a kind.
type none struct{}

func encode[K, V any](key string, k K, v V) (write, error) {
	value, err := json.Marshal(document[K, V]{k, v})
	if err != nil {
		return write{}, fmt.Errorf("encode record %s: %w", key, err)
	}
	return write{key: key, value: value}, nil
}

// decode returns the content of a record. It returns an error if a needed field is missing: a
// guess could lose memory. Unknown fields belong to a later version and are ignored.
func decode[K, V any](r record, needs []need) (k K, v V, err error) {
	// A field that is not zero was there. For most records this is all, in one pass: each check reads
	// hundreds.
	var d struct {
		Key   K
		Value *V
	}
	if json.Unmarshal([]byte(r.value), &d) == nil && d.Value != nil && !slices.ContainsFunc(needs, func(n need) bool { return n.zero(d.Value) }) {
		return d.Key, *d.Value, nil
	}
	var parts struct{ Key, Value json.RawMessage }
	if err := json.Unmarshal([]byte(r.value), &parts); err != nil {
		return k, v, err
	}
	if len(needs) > 0 {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(parts.Value, &fields); err != nil {
			return k, v, err
		}
		for _, n := range needs {
			if fields[n.name] == nil {
				return k, v, fmt.Errorf("its field %s is missing", n.name)
			}
		}
	}
	if err = json.Unmarshal(parts.Value, &v); err == nil && parts.Key != nil {
		err = json.Unmarshal(parts.Key, &k)
	}
	return k, v, err
}

// need is a field that a JSON object must have.
type need struct {
	name  string
	index []int // in the struct
}

// zero reports whether the field is zero in the value that v points to.
func (n need) zero(v any) bool {
	s := reflect.ValueOf(v).Elem()
	if s.Kind() == reflect.Pointer {
		s = s.Elem()
	}
	return s.FieldByIndex(n.index).IsZero()
}

// needs returns the fields that a JSON object of a type must have: those that are not omitted
// when empty.
func needs[V any]() (all []need) {
	t := reflect.TypeFor[V]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && options == "" {
			all = append(all, need{name, f.Index})
		}
	}
	return all
}

func (r record) malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("record %s is malformed: %w; fix or delete it", r.key, err)
}

// noDrops is for callers that need no keys to drop. Nothing writes to it.
var noDrops Drops

// of returns the records of the kind in a state.
func (k many[K, V]) of(s *State) map[K]V {
	m, _ := k.in(s, &noDrops)
	return *m
}

func (k many[K, V]) copy(to, from *State) {
	if m, _ := k.in(to, &noDrops); *m == nil {
		*m = map[K]V{}
	}
	maps.Copy(k.of(to), k.of(from))
}

func (k many[K, V]) drop(s *State, d *Drops) {
	m, keys := k.in(s, d)
	for _, key := range keys {
		delete(*m, key)
	}
}

// key returns the key of a record. It has no empty last part: a notice without a cause ends
// in its kind.
func (k many[K, V]) key(of K) string {
	return k.name + "#" + strings.TrimSuffix(fmt.Sprint(of), "#")
}

func (k many[K, V]) parse(r record) (func(*State), error) {
	key, v, err := decode[K, V](r, k.needs)
	if err == nil && k.key(key) != r.key {
		err = fmt.Errorf("by its content its key is %s", k.key(key))
	}
	return func(s *State) { k.of(s)[key] = own(v) }, err
}

func (k many[K, V]) puts(c *Changes) (writes []write, err error) {
	for key, v := range k.of(&c.Put) {
		w, failed := encode(k.key(key), key, v)
		if at, ok := any(v).(time.Time); ok && k.lasts > 0 {
			w.expires = at.Add(k.lasts)
		}
		writes, err = append(writes, w), errors.Join(err, failed)
	}
	slices.SortFunc(writes, func(a, b write) int { return cmp.Compare(a.key, b.key) })
	return writes, err
}

func (k many[K, V]) changes(c *Changes) bool {
	put, drop := k.in(&c.Put, &c.Drop)
	return len(*put)+len(drop) > 0
}

func (k many[K, V]) drops(c *Changes) (writes []write, _ error) {
	_, keys := k.in(&c.Put, &c.Drop)
	for _, key := range keys {
		writes = append(writes, write{key: k.key(key)})
	}
	return writes, nil
}

func (k one[V]) copy(to, from *State) {
	of, _ := k.in(from, &noDrops)
	if *of != *new(V) {
		in, _ := k.in(to, &noDrops)
		*in = *of
	}
}

func (k one[V]) drop(s *State, d *Drops) {
	if v, drop := k.in(s, d); drop {
		*v = *new(V)
	}
}

func (k one[V]) parse(r record) (func(*State), error) {
	_, v, err := decode[none, V](r, k.needs)
	return func(s *State) {
		in, _ := k.in(s, &noDrops)
		*in = own(v)
	}, err
}

func (k one[V]) puts(c *Changes) ([]write, error) {
	v, _ := k.in(&c.Put, &noDrops)
	if *v == *new(V) {
		return nil, nil
	}
	w, err := encode(k.name, none{}, *v)
	return []write{w}, err
}

func (k one[V]) changes(c *Changes) bool {
	put, drop := k.in(&c.Put, &c.Drop)
	return drop || *put != *new(V)
}

func (k one[V]) drops(c *Changes) ([]write, error) {
	if _, drop := k.in(&c.Put, &c.Drop); drop {
		return []write{{key: k.name}}, nil
	}
	return nil, nil
}
