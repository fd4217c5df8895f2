package bundle

import (
	"fmt"
	"reflect"
)

// operation is a call of the SDK: how a bundle answers it, and how a recorder records its answer.
type operation struct {
	in   reflect.Type // a pointer to the call's input
	file string       // that the answer belongs in
	// whole reports whether things that are missing in the file would count as absent, so that a
	// failure makes the file useless; nil if they never would.
	whole  func(in any) bool
	answer func(c *contents, in any) (any, error)
	record func(c *contents, in, out any) // nil if the answer is not recorded
}

// on returns the operation of the call with the input I.
func on[I, O any](file string, whole func(*I) bool, answer func(*contents, *I) (*O, error), record func(*contents, *I, *O)) operation {
	o := operation{in: reflect.TypeFor[*I](), file: file, answer: func(c *contents, in any) (any, error) { return answer(c, in.(*I)) }}
	if whole != nil {
		o.whole = func(in any) bool { return whole(in.(*I)) }
	}
	if record != nil {
		o.record = func(c *contents, in, out any) { record(c, in.(*I), out.(*O)) }
	}
	return o
}

// asksAll is for a call whose failure makes the file useless, whatever it asks.
func asksAll[I any](*I) bool { return true }

// operations are all calls that a bundle answers, by the type of their input.
var operations = func() map[reflect.Type]operation {
	out := map[reflect.Type]operation{}
	for i := range specs {
		for _, o := range specs[i].calls {
			out[o.in] = o
		}
	}
	return out
}()

func (c *contents) answer(in any) (any, error) {
	if o, ok := operations[reflect.TypeOf(in)]; ok {
		return o.answer(c, in)
	}
	return nil, fmt.Errorf("a bundle holds no answer to %T", in)
}
