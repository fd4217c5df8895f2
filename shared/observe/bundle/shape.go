package bundle

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// shape is the format of a file with a list.
type shape struct {
	file, command string
	list          string // the field with the list, such as Subnets
	id            string // the field that identifies an object, such as SubnetId
	one           string // the field with the object if the CLI prints them one by one; or ""
	other         string // another field that identifies an object; or ""
	ids           string // the field of the call with the ids of the wanted objects; "" if it lists all
}

// listing returns the spec of a file with a list.
func listing[T any](s shape, table func(*contents) *table[T]) spec {
	return spec{
		name: s.file, command: s.command + " --output json",
		read: func(c *contents, in *input, v *value) {
			t := table(c)
			t.held = true
			t.single = v.kind == object && !v.has(s.list)
			for _, row := range in.rows(v, s) {
				var thing T
				in.decode(row, &thing)
				if !row.has(s.id) {
					in.fail(row.from, "this has no %s: %s should hold what %s prints", s.id, s.file, in.spec.command)
					continue
				}
				t.put(thing)
				t.trim(t.key(&thing), in.trimmed(row))
			}
		},
		blank: func(c *contents) { table(c).empty = true },
		write: func(f *filer, c *contents) { listed(f, s.list, table(c)) },
	}
}

// call is a call of the SDK that lists the rows of a file.
type call struct {
	in reflect.Type
	// all reports whether the call requests all rows, so that one that is missing in the answer
	// counts as absent.
	all    func(in any) bool
	answer func(c *contents, in any) (out any, err error)
	put    func(c *contents, out any)
}

// describes is listing with the call that lists the rows: by their ids, or all that EC2's filters
// select. A call that is answered in another way has its own case: see answerEC2.
func describes[I, O, T any](s shape, table func(*contents) *table[T]) spec {
	field := func(of any, name string) reflect.Value { return reflect.ValueOf(of).Elem().FieldByName(name) }
	ids := func(in any) []string {
		if s.ids == "" {
			return nil
		}
		return field(in, s.ids).Interface().([]string)
	}
	out := listing(s, table)
	out.call = &call{
		in:  reflect.TypeFor[*I](),
		all: func(in any) bool { return len(ids(in)) == 0 },
		put: func(c *contents, out any) { table(c).put(field(out, s.list).Interface().([]T)...) },
		answer: func(c *contents, in any) (any, error) {
			filters := field(in, "Filters")
			if !filters.IsValid() {
				filters = field(in, "Filter")
			}
			found, err := filtered(table(c), ids(in), filters.Interface().([]types.Filter))
			out := new(O)
			field(out, s.list).Set(reflect.ValueOf(found))
			return out, err
		},
	}
	return out
}

// callOf returns the file whose rows a call lists, nil if there is none.
func callOf(in any) *spec {
	for i := range specs {
		if c := specs[i].call; c != nil && c.in == reflect.TypeOf(in) {
			return &specs[i]
		}
	}
	return nil
}

// rows returns the objects that a file lists: in the CLI's answer, in an array of objects or of
// answers, as from jq --slurp and --query, or in the answer about one object.
func (in *input) rows(v *value, s shape) []*value {
	switch {
	case v.kind == array:
		var out []*value
		for i := range v.items {
			out = append(out, in.rows(&v.items[i], s)...)
		}
		return out
	case v.kind != object:
		in.fail(v.from, "this is %s, not what %s prints", v.kind, in.spec.command)
		return nil
	case v.has(s.list) && v.get(s.list).kind == array:
		in.whole(v)
		var out []*value
		list := v.get(s.list)
		for i := range list.items {
			out = append(out, in.rows(&list.items[i], s)...)
		}
		return out
	case s.one != "" && v.has(s.one) && v.get(s.one).kind == object:
		return []*value{v.get(s.one)}
	case v.has(s.id), s.other != "" && v.has(s.other):
		return []*value{v}
	}
	in.fail(v.from, "there is no array %q in this: it should be what %s prints", s.list, in.spec.command)
	return nil
}

// whole adds a fault if an answer is only a part: what is missing would count as absent.
func (in *input) whole(v *value) {
	if in.spec.name == fileActivities {
		return // only the latest of these matter
	}
	for _, name := range []string{"NextToken", "Marker"} {
		if token := v.get(name); token != nil && token.kind == text && token.text != "" {
			in.fail(token.from, "%s says that this is not all: write it again without --no-paginate and --max-items: %s", name, in.spec.command)
		}
	}
}

// perName returns the spec of a file with one answer of the CLI per name, since the answer does not
// contain the name. telling is the field that identifies an answer without its name.
func perName[T any](file, command, telling string, table func(*contents) *table[T], named func(*T, string)) spec {
	return spec{
		name: file, command: command + ", once for each, --output json",
		read: func(c *contents, in *input, v *value) {
			t := table(c)
			t.held = true
			switch {
			case v.kind != object:
				in.fail(v.from, "this is %s, not an object with an answer for each name", v.kind)
				return
			case v.has(telling):
				in.fail(v.from, "whose %s is this? Put it under its name: {\"NAME\": {\"%s\": ...}}", telling, telling)
				return
			}
			for i := range v.fields {
				var answer T
				if inner := &v.fields[i].value; inner.kind == object {
					in.whole(inner)
				}
				in.decode(&v.fields[i].value, &answer)
				named(&answer, v.fields[i].name)
				t.put(answer)
				t.trim(v.fields[i].name, in.trimmed(&v.fields[i].value))
			}
		},
		blank: func(c *contents) { table(c).empty = true },
		write: func(f *filer, c *contents) { answers(f, telling, table(c)) },
	}
}
