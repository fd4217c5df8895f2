package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// The tests with these values fill types by reflection, so that they fail if a field is
// added to State or Changes but forgotten in a store.

// Filled returns a value in which nothing is zero or empty. Values of one named text type
// are all equal, so that the keys of a drop match those of the put. Numbers, times and
// plain texts all differ, so that none can be mistaken for another.
func Filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	f := filler{t: t}
	f.fill(reflect.ValueOf(&v).Elem(), "")
	return v
}

// Random returns a random value. It has few keys, so that puts and drops often coincide,
// and parts of it are zero or empty. Times are at most two hours after T0.
func Random[T any](t *testing.T, rng *rand.Rand) T {
	t.Helper()
	var v T
	f := filler{t: t, rng: rng}
	f.fill(reflect.ValueOf(&v).Elem(), "")
	return v
}

// Puts returns changes that put a record of every kind. Drops drops them.
func Puts(t *testing.T) ledger.Changes {
	put := Filled[ledger.State](t)
	put.Actions, put.NoticesVersion = nil, 0
	return ledger.Changes{Put: put}
}

// Drops returns changes that drop the records of Puts.
func Drops(t *testing.T) ledger.Changes { return ledger.Changes{Drop: Filled[ledger.Drops](t)} }

// Only returns the changes of one field of State.
func Only(c ledger.Changes, field string) ledger.Changes {
	for _, side := range []reflect.Value{reflect.ValueOf(&c.Put).Elem(), reflect.ValueOf(&c.Drop).Elem()} {
		for i := range side.NumField() {
			if side.Type().Field(i).Name != field {
				side.Field(i).SetZero()
			}
		}
	}
	return c
}

// Fields returns the names of the fields of a struct.
func Fields[T any]() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		names = append(names, f.Name)
	}
	return names
}

// texts are the random values of named text types; filled values use the first.
var texts = map[reflect.Type][]string{
	reflect.TypeFor[roll.InstanceID]():      {"i-00000001", "i-00000002", "i-00000003"},
	reflect.TypeFor[roll.Group]():           {"asg/a#b", "nodepool/größer", string(roll.GroupNone)},
	reflect.TypeFor[roll.Origin]():          {"asg/a#b", "lt-1:3"},
	reflect.TypeFor[roll.Kind]():            {string(roll.Unknown), string(roll.NotReady)},
	reflect.TypeFor[roll.SpotEvent]():       {string(roll.SpotInterruption), string(roll.SpotRebalance)},
	reflect.TypeFor[roll.Stage]():           {string(roll.Overdue), string(roll.Watching)},
	reflect.TypeFor[ledger.Way]():           {string(ledger.WayCommand), string(ledger.WayTag)},
	reflect.TypeFor[ledger.Result]():        {string(ledger.Failed), string(ledger.Done)},
	reflect.TypeFor[roll.ConditionStatus](): {string(roll.ConditionFalse), string(roll.ConditionUnknown)},
}

// plain are the random values of plain texts.
var plain = []string{"", "a", "b#c", "drain", "unfinished: 2 pods are left", "not yet: \"é\""}

// refusals are the keys of refusals. Their texts have no named types by which the keys of a
// drop could match those of the put.
var refusals = []ledger.RefusalKey{{Order: "order-a", Reason: "VerdictChanged"}, {Order: "order-a", Reason: "OwnerUnknown"}, {Order: "order#b", Reason: "VerdictChanged"}}

// orders are the keys of questions and approvals, for the same reason.
var orders = []string{"order-a", "order#b"}

// ofOrder matches the paths of these keys.
var ofOrder = regexp.MustCompile(`\.(Questions|Approvals)\[(key)?\]$`)

// causes are the causes in keys of notices, for the same reason.
var causes = []string{"NodeRoleNotMapped", ""}

type filler struct {
	t   *testing.T
	rng *rand.Rand // nil fills everything
	n   int
}

// number returns a new number each time, or a random one.
func (f *filler) number() int {
	if f.rng != nil {
		return f.rng.IntN(2 * 3600)
	}
	f.n++
	return f.n
}

// length returns the length of a list or map.
func (f *filler) length(full int) int {
	if f.rng != nil {
		return f.rng.IntN(4)
	}
	return full
}

// absent returns true at random, one time in three.
func (f *filler) absent() bool { return f.rng != nil && f.rng.IntN(3) == 0 }

func (f *filler) fill(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Struct:
		f.fields(v, path)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.length(1) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, path+"[key]")
			f.fill(value, path+"[]")
			if finding, ok := value.Addr().Interface().(*ledger.Finding); ok {
				about := key.Interface().(roll.FindingKey)
				finding.Instance, finding.Kind = about.Instance, about.Kind
			}
			v.SetMapIndex(key, value)
		}
	case reflect.Slice:
		n := f.length(2)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), path+"[]")
		}
	case reflect.Pointer:
		if !f.absent() {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), path)
		}
	case reflect.String:
		switch {
		case !ofOrder.MatchString(path):
			v.SetString(f.text(v.Type()))
		case f.rng == nil:
			v.SetString(orders[0])
		default:
			v.SetString(orders[f.rng.IntN(len(orders))])
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.number()))
	case reflect.Bool:
		v.SetBool(f.rng == nil || f.rng.IntN(2) == 0)
	default:
		f.t.Fatalf("%s is a %s, which this cannot fill: teach it", path, v.Type())
	}
}

func (f *filler) fields(v reflect.Value, path string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		if !f.absent() {
			v.Set(reflect.ValueOf(T0.Add(time.Duration(f.number()) * (time.Second + time.Nanosecond))))
		}
		return
	}
	if v.Type() == reflect.TypeFor[ledger.RefusalKey]() {
		n := 0
		if f.rng != nil {
			n = f.rng.IntN(len(refusals))
		}
		v.Set(reflect.ValueOf(refusals[n]))
		return
	}
	for i := range v.NumField() {
		f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
	}
	if key, ok := v.Addr().Interface().(*ledger.NoticeKey); ok {
		key.Cause = causes[0]
		if f.rng != nil {
			key.Cause = causes[f.rng.IntN(len(causes))]
		}
	}
}

func (f *filler) text(t reflect.Type) string {
	choices := texts[t]
	switch {
	case t == reflect.TypeFor[string]() && f.rng == nil:
		return fmt.Sprint("text-", f.number())
	case t == reflect.TypeFor[string]():
		choices = plain
	case len(choices) == 0:
		f.t.Fatalf("no texts for a %s: name some", t)
	}
	if f.rng == nil {
		return choices[0]
	}
	return choices[f.rng.IntN(len(choices))]
}

// Zeros returns the paths of zero or empty parts of a value.
func Zeros(v any) []string {
	var out []string
	visit(reflect.ValueOf(v), "", func(at reflect.Value, path string) {
		if at.IsZero() || (at.Kind() == reflect.Map || at.Kind() == reflect.Slice) && at.Len() == 0 {
			out = append(out, path)
		}
	})
	return out
}

// Shared returns the paths of content that two values share: a change in one would change
// the other.
func Shared(a, b any) []string {
	of := map[uintptr]bool{}
	visit(reflect.ValueOf(a), "", func(at reflect.Value, _ string) {
		if p := address(at); p != 0 {
			of[p] = true
		}
	})
	var out []string
	visit(reflect.ValueOf(b), "", func(at reflect.Value, path string) {
		if of[address(at)] {
			out = append(out, path)
		}
	})
	return out
}

// address returns the address of content that a copy of the value shares, 0 if there is
// none.
func address(v reflect.Value) uintptr {
	switch {
	case v.Kind() == reflect.Map, v.Kind() == reflect.Pointer, v.Kind() == reflect.Slice && v.Cap() > 0:
		return v.Pointer()
	}
	return 0
}

// visit walks through a value. A time is one value, since it cannot be changed in place.
func visit(v reflect.Value, path string, do func(reflect.Value, string)) {
	do(v, path)
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			visit(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			visit(v.MapIndex(key), fmt.Sprintf("%s[%v]", path, key), do)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i), do)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		visit(v.Elem(), path, do)
	}
}
