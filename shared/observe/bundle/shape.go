package bundle

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// shape is the format of a file with a list.
type shape struct {
	file, command string
	list          string // the field with the list, such as Subnets
	id            string // the field that identifies an object, such as SubnetId
	key           string // the fields of its key, if they are others: see keyed
	one           string // the field with the object if the CLI prints them one by one; or ""
	other         string // another field that identifies an object; or ""
}

func listing[T any](s shape) spec {
	return spec{
		name: s.file, command: s.command + " --output json",
		table: func() filed { return newTable(s.file, keyed[T](cmp.Or(s.key, exported(s.id)))) },
		read: func(c *contents, in *input, v *value) {
			t := tableOf[T](c, s.file)
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
		write: func(c *contents) (any, error) {
			return map[string]any{s.list: encodeAll(like(s.list), tableOf[T](c, s.file).sorted())}, nil
		},
	}
}

// exported returns the name of the SDK's field for a name of the service's model.
func exported(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// describes adds the call that lists the rows: those of the ids in a field of the call, or all that
// EC2's filters select.
func describes[I, O, T any](s shape, ids string) spec {
	out := listing[T](s)
	lists := listsRows[I, O, T](s, ids)
	lists.answer = func(c *contents, in any) (any, error) {
		filters := fieldOf(in, "Filters")
		if !filters.IsValid() {
			filters = fieldOf(in, "Filter")
		}
		found, err := filtered(tableOf[T](c, s.file), fieldOf(in, ids).Interface().([]string), filters.Interface().([]types.Filter))
		out := new(O)
		fieldOf(out, s.list).Set(reflect.ValueOf(found))
		return out, err
	}
	out.calls = []operation{lists}
	return out
}

// selects is describes for a call that is answered in a way of its own. ids is "" if it names none.
func selects[I, O, T any](s shape, ids string, answer func(*contents, *I) (*O, error)) spec {
	out, lists := listing[T](s), listsRows[I, O, T](s, ids)
	lists.answer = on("", nil, answer, nil).answer
	out.calls = []operation{lists}
	return out
}

// listsRows returns the recording of a call that lists the rows of a file.
func listsRows[I, O, T any](s shape, ids string) operation {
	return operation{
		in: reflect.TypeFor[*I](), file: s.file,
		whole:  func(in any) bool { return ids == "" || fieldOf(in, ids).Len() == 0 },
		record: func(c *contents, _, out any) { tableOf[T](c, s.file).put(fieldOf(out, s.list).Interface().([]T)...) },
	}
}

// gets adds the call that describes one row by its name, which the field of the call holds.
func gets[I, O, T any](s shape, name string) spec {
	out := listing[T](s)
	out.calls = []operation{{
		in: reflect.TypeFor[*I](),
		answer: func(c *contents, in any) (any, error) {
			row, err := tableOf[T](c, s.file).find(nameIn(in, name))
			out := new(O)
			fieldOf(out, exported(s.one)).Set(reflect.ValueOf(row))
			return out, err
		},
		record: func(c *contents, _, out any) { putOne[T](c, s.file, fieldOf(out, exported(s.one)).Interface().(*T)) },
	}}
	return out
}

// putOne records the row of an answer about one, which may be empty.
func putOne[T any](c *contents, file string, row *T) {
	if row != nil {
		tableOf[T](c, file).put(*row)
	}
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
		return in.rows(v.get(s.list), s)
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
func perName[O any](file, command, telling string) spec {
	return spec{
		name: file, command: command + ", once for each, --output json",
		table: func() filed { return newTable[O](file, nil) },
		read: func(c *contents, in *input, v *value) {
			t := tableOf[O](c, file)
			switch {
			case v.kind != object:
				in.fail(v.from, "this is %s, not an object with an answer for each name", v.kind)
				return
			case v.has(telling):
				in.fail(v.from, "whose %s is this? Put it under its name: {\"NAME\": {\"%s\": ...}}", telling, telling)
				return
			}
			for i := range v.fields {
				var answer O
				name, inner := v.fields[i].name, &v.fields[i].value
				if inner.kind == object {
					in.whole(inner)
				}
				in.decode(inner, &answer)
				t.set(name, answer)
				t.trim(name, in.trimmed(inner))
			}
		},
		// Fields without a value are left out, even if these are all fields: an empty answer is an
		// answer.
		write: func(c *contents) (any, error) {
			t, out := tableOf[O](c, file), map[string]any{}
			for i := range t.rows {
				out[t.keys[i]] = like(telling).one(&t.rows[i])
			}
			return out, nil
		},
	}
}

// answers is perName with the call that returns such an answer for the name in a field of the call.
func answers[I, O any](file, command, telling, name string) spec {
	out := perName[O](file, command, telling)
	telling = exported(telling)
	out.calls = []operation{{
		in: reflect.TypeFor[*I](), file: file, whole: later,
		answer: func(c *contents, in any) (any, error) {
			row, err := tableOf[O](c, file).find(nameIn(in, name))
			out := *row // a copy, because the client modifies its answer
			return &out, err
		},
		record: func(c *contents, in, out any) {
			t, row := tableOf[O](c, file), new(O)
			if at, ok := t.at[nameIn(in, name)]; ok && later(in) {
				*row = t.rows[at]
			}
			if all := fieldOf(row, telling); all.Kind() == reflect.Slice {
				all.Set(reflect.AppendSlice(all, fieldOf(out, telling)))
			} else {
				all.Set(fieldOf(out, telling))
			}
			t.set(nameIn(in, name), *row)
		},
	}}
	return out
}

// later reports whether a call asks for a page after the first.
func later(in any) bool {
	for _, name := range []string{"NextToken", "Marker"} {
		if token := fieldOf(in, name); token.IsValid() {
			return !token.IsNil()
		}
	}
	return false
}

func fieldOf(v any, name string) reflect.Value { return reflect.ValueOf(v).Elem().FieldByName(name) }

func nameIn(in any, name string) string { return aws.ToString(fieldOf(in, name).Interface().(*string)) }
