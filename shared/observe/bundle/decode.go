package bundle

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decode decodes a value of the file into a type of the AWS SDK. The AWS CLI names fields like the
// service's model. The SDK's types have the same names except for the case of the first letter.
// Fields that are not in the type are ignored: the CLI may be newer than the SDK. Values that do
// not fit are faults.
func (in *input) decode(v *value, into any) {
	in.into(v, reflect.ValueOf(into).Elem(), "")
}

var (
	timeType = reflect.TypeFor[time.Time]()
	byteType = reflect.TypeFor[[]byte]()
)

func (in *input) into(v *value, target reflect.Value, path string) {
	if v.kind == null {
		return
	}
	switch {
	case target.Type() == timeType:
		if at, ok := in.time(v, path); ok {
			target.Set(reflect.ValueOf(at))
		}
		return
	case target.Type() == byteType:
		in.bytes(v, target, path)
		return
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		in.into(v, target.Elem(), path)
	case reflect.Struct:
		in.object(v, target, path)
	case reflect.Slice:
		in.array(v, target, path)
	case reflect.Map:
		in.mapping(v, target, path)
	default:
		in.scalar(v, target, path)
	}
}

func (in *input) object(v *value, target reflect.Value, path string) {
	if !in.is(v, object, path) {
		return
	}
	for i := range target.NumField() {
		f := target.Type().Field(i)
		if !f.IsExported() || f.Type.Kind() == reflect.Interface {
			continue
		}
		member := v.get(fieldName(f))
		if member == nil {
			continue
		}
		inner := strings.TrimPrefix(path+"."+fieldName(f), ".")
		if slices.Contains(policyFields, f.Name) && member.kind == object {
			escaped := escapePolicy(in.data[member.from:member.to])
			target.Field(i).Set(reflect.ValueOf(&escaped))
			continue
		}
		in.into(member, target.Field(i), inner)
	}
}

// fieldName returns the name of a field in a file: Go's own, as in the SDK, or that of its tag.
func fieldName(f reflect.StructField) string { return cmp.Or(f.Tag.Get("json"), f.Name) }

// policyFields hold a policy, which the CLI prints as an object and the API returns as JSON in
// percent-encoding.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_Role.html
var policyFields = []string{"AssumeRolePolicyDocument", "PolicyDocument", "Document"}

func escapePolicy(raw []byte) string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, raw) // which is valid: see parse
	return strings.ReplaceAll(url.QueryEscape(compact.String()), "+", "%20")
}

func (in *input) array(v *value, target reflect.Value, path string) {
	if !in.is(v, array, path) {
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(v.items), len(v.items)))
	for i := range v.items {
		in.into(&v.items[i], target.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (in *input) mapping(v *value, target reflect.Value, path string) {
	if !in.is(v, object, path) {
		return
	}
	target.Set(reflect.MakeMapWithSize(target.Type(), len(v.fields)))
	for i := range v.fields {
		f := &v.fields[i]
		item := reflect.New(target.Type().Elem()).Elem()
		in.into(&f.value, item, path+"."+f.name)
		target.SetMapIndex(reflect.ValueOf(f.name).Convert(target.Type().Key()), item)
	}
}

func (in *input) scalar(v *value, target reflect.Value, path string) {
	switch target.Kind() {
	case reflect.String:
		if v.kind == number { // a version that was not quoted
			target.SetString(v.text)
		} else if in.is(v, text, path) {
			target.SetString(v.text)
		}
	case reflect.Bool:
		if in.is(v, boolean, path) {
			target.SetBool(v.text == "true")
		}
	case reflect.Int32, reflect.Int64, reflect.Int:
		if !in.is(v, number, path) {
			return
		}
		n, err := strconv.ParseInt(v.text, 10, target.Type().Bits())
		if err != nil {
			in.fail(v.from, "%s: %s is no whole number of %d bits", path, v.text, target.Type().Bits())
			return
		}
		target.SetInt(n)
	case reflect.Float32, reflect.Float64:
		if !in.is(v, number, path) {
			return
		}
		n, err := strconv.ParseFloat(v.text, target.Type().Bits())
		if err != nil {
			in.fail(v.from, "%s: %s is no number that fits", path, v.text)
			return
		}
		target.SetFloat(n)
	}
}

func (in *input) bytes(v *value, target reflect.Value, path string) {
	if !in.is(v, text, path) {
		return
	}
	data, err := base64.StdEncoding.DecodeString(v.text)
	if err != nil {
		in.fail(v.from, "%s is not base64: %v", path, err)
		return
	}
	target.SetBytes(data)
}

// is reports whether a value is of the kind, and adds a fault if not.
func (in *input) is(v *value, want kind, path string) bool {
	if v.kind != want {
		in.fail(v.from, "%s is %s, not %s", cmp.Or(path, "this"), v.kind, want)
	}
	return v.kind == want
}

// time reads the time formats of the CLI: RFC 3339, with or without fractions of a second, and,
// where version 1 passes on the service's answer unchanged, seconds since 1970 with fractions.
// https://docs.aws.amazon.com/cli/latest/userguide/cliv2-migration-changes.html#cliv2-migration-timestamp
func (in *input) time(v *value, path string) (time.Time, bool) {
	switch v.kind {
	case text:
		if at, err := time.Parse(time.RFC3339, v.text); err == nil {
			return at.UTC(), true
		}
		in.fail(v.from, "%s: %q is no time with its zone, such as 2026-01-02T15:04:05Z", path, cut(v.text, 40))
	case number:
		if seconds, err := strconv.ParseFloat(v.text, 64); err == nil && seconds >= 0 && seconds < maxSeconds {
			whole, fraction := math.Modf(seconds)
			// A float holds only microseconds of these times.
			return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1e3).UTC(), true
		}
		in.fail(v.from, "%s: %s is no time in seconds since 1970", path, v.text)
	default:
		in.fail(v.from, "%s is %s, not a time", path, v.kind)
	}
	return time.Time{}, false
}

// maxSeconds is the year 2500: larger values are milliseconds.
const maxSeconds = 16725225600
