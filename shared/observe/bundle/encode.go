package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rollcall/shared/evidence/redact"
)

// encoder converts values of the SDK to what the AWS CLI prints for them, without secrets. A value is
// redacted under its name, which people chose for a tag or a label.
type encoder struct {
	// lower reports whether names begin with a lower-case letter, as in EKS and ARC. Otherwise they
	// are the same as in Go, as in EC2, Auto Scaling and IAM.
	lower bool
}

// like returns the encoder whose names begin with a letter of the same case as the name.
func like(name string) encoder { return encoder{lower: unicode.IsLower(rune(name[0]))} }

// one converts a value, which may be empty.
func (e encoder) one(v any) any {
	out, ok := e.value(reflect.ValueOf(v), "")
	if !ok {
		return map[string]any{}
	}
	return out
}

// value converts a value. ok is false for one that is empty.
func (e encoder) value(v reflect.Value, name string) (out any, ok bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, false
		}
		if v.Elem().Kind() == reflect.String {
			return e.text(v.Elem().String(), name), true // also an empty one, as of a tag
		}
		return e.value(v.Elem(), name)
	case reflect.Struct:
		if at, isTime := v.Interface().(time.Time); isTime {
			return at.UTC().Format(time.RFC3339Nano), !at.IsZero()
		}
		members := e.members(v)
		return members, len(members) > 0
	case reflect.Map:
		out := map[string]any{}
		for _, key := range v.MapKeys() {
			item := v.MapIndex(key)
			if item.Kind() == reflect.String {
				out[redact.Text(key.String())] = redact.Named(key.String(), item.String())
			} else if inner, ok := e.value(item, key.String()); ok {
				out[redact.Text(key.String())] = inner
			}
		}
		return out, len(out) > 0
	case reflect.Slice:
		return e.list(v, name)
	case reflect.String:
		return e.text(v.String(), name), v.String() != ""
	case reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		return v.Interface(), true
	}
	return nil, false
}

func (e encoder) list(v reflect.Value, name string) (any, bool) {
	if v.Type() == byteType {
		return base64.StdEncoding.EncodeToString(v.Bytes()), v.Len() > 0
	}
	out := make([]any, 0, v.Len())
	for i := range v.Len() {
		item, ok := e.value(v.Index(i), name)
		if !ok {
			item = map[string]any{} // its position matters
		}
		out = append(out, item)
	}
	return out, !v.IsNil() // an empty list is an answer too
}

// unprinted are the fields of an answer that say how it was read.
var unprinted = []string{"ResultMetadata", "NextToken", "Marker", "IsTruncated"}

func (e encoder) members(v reflect.Value) map[string]any {
	out := map[string]any{}
	key, pair := e.keyed(v)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || slices.Contains(unprinted, f.Name) {
			continue
		}
		value, ok := e.value(v.Field(i), f.Name)
		if !ok {
			continue
		}
		if said, isText := v.Field(i).Interface().(*string); pair && isText && f.Name == "Value" {
			value = redact.Named(key, *said)
		}
		out[e.name(fieldName(f))] = value
	}
	return out
}

// keyed returns the key of a struct with a Key and a Value, such as a tag.
func (e encoder) keyed(v reflect.Value) (key string, ok bool) {
	k, hasKey := v.Type().FieldByName("Key")
	_, hasValue := v.Type().FieldByName("Value")
	if !hasKey || !hasValue {
		return "", false
	}
	said, isText := v.FieldByIndex(k.Index).Interface().(*string)
	if !isText || said == nil {
		return "", false
	}
	return *said, true
}

func (e encoder) name(field string) string {
	if !e.lower {
		return field
	}
	first, size := utf8.DecodeRuneInString(field)
	return string(unicode.ToLower(first)) + field[size:]
}

func (e encoder) text(v, name string) any {
	switch {
	case name == "UserData":
		return encoded(v)
	case slices.Contains(policyFields, name):
		return e.policy(v)
	}
	return redact.Text(v)
}

// policy returns a policy as the object that the CLI prints.
func (e encoder) policy(v string) any {
	said, err := url.PathUnescape(v)
	if err != nil {
		said = v
	}
	var policy any
	d := json.NewDecoder(strings.NewReader(said))
	d.UseNumber()
	if err := d.Decode(&policy); err != nil {
		return redact.Text(said)
	}
	return cleared("", policy)
}

// cleared redacts all texts of a JSON value. The field names in Kubernetes objects are often chosen by
// people.
func cleared(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[redact.Text(key)] = cleared(key, item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cleared(name, v[i])
		}
		return out
	case string:
		return redact.Named(name, v)
	}
	return v
}

func encodeAll[T any](e encoder, all []T) []any {
	out := make([]any, 0, len(all))
	for i := range all {
		if item, ok := e.value(reflect.ValueOf(&all[i]), ""); ok {
			out = append(out, item)
		}
	}
	return out
}

// printed returns JSON as the CLI and kubectl print it, with sorted keys.
func printed(v any) []byte {
	line := compact(v)
	var out bytes.Buffer
	out.Grow(2 * len(line)) // about what the indentation of an object of the APIs needs
	if err := json.Indent(&out, line, "", "    "); err != nil {
		panic("JSON that was just written is valid: " + err.Error())
	}
	return out.Bytes()
}

// compact returns JSON on one line, with sorted keys.
func compact(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("JSON of maps, arrays and texts cannot fail: " + err.Error())
	}
	return out.Bytes()
}
