package bundle

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// matches reports whether an EC2 object passes all filters, combined as in EC2: one value of each
// must match, in which * and ? are wildcards. A filter name without a field in the object is an
// error.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html
func matches[T any](filters []types.Filter, thing *T) (bool, error) {
	for _, f := range filters {
		name := aws.ToString(f.Name)
		values, known := attribute(reflect.ValueOf(thing), name)
		if !known {
			return false, fmt.Errorf("a bundle cannot be filtered by %q", name)
		}
		if !slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(f.Values, func(want string) bool { return fits(want, v) })
		}) {
			return false, nil
		}
	}
	return true, nil
}

// attribute returns the values of an object for the name of a filter. EC2 names filters after the
// fields: association.subnet-id is Associations[].SubnetId.
func attribute(v reflect.Value, name string) (values []string, known bool) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil, true
	case v.Kind() == reflect.Pointer:
		return attribute(v.Elem(), name)
	case v.Kind() == reflect.Slice:
		_, known = attribute(reflect.Zero(v.Type().Elem()), name)
		for i := range v.Len() {
			inner, _ := attribute(v.Index(i), name)
			values = append(values, inner...)
		}
		return values, known
	case name == "":
		return []string{fmt.Sprint(v.Interface())}, true
	case name == "instance-state-name":
		name = "state.name"
	case name == "tag-key":
		name = "tag.key"
	case strings.HasPrefix(name, "tag:"):
		return tagged(v, strings.TrimPrefix(name, "tag:"))
	}
	if v.Kind() != reflect.Struct {
		return nil, false
	}
	step, rest, _ := strings.Cut(name, ".")
	field := ""
	for word := range strings.SplitSeq(step, "-") {
		field += strings.ToUpper(word[:min(1, len(word))]) + word[min(1, len(word)):]
	}
	for _, f := range []reflect.Value{v.FieldByName(field), v.FieldByName(field + "s")} {
		if f.IsValid() {
			return attribute(f, rest)
		}
	}
	return nil, false
}

func tagged(v reflect.Value, key string) (values []string, known bool) {
	f := v.FieldByName("Tags")
	if !f.IsValid() {
		return nil, false
	}
	tags, _ := f.Interface().([]types.Tag)
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			values = append(values, aws.ToString(t.Value))
		}
	}
	return values, true
}

// fits compares as EC2 does. Names in EC2 may contain slashes, which path.Match does not cross.
func fits(want, v string) bool {
	if !strings.ContainsAny(want, "*?") {
		return want == v
	}
	plain := strings.NewReplacer("/", "\x00", "[", "\x01", "\\", "\x02")
	ok, err := path.Match(plain.Replace(want), plain.Replace(v))
	return err == nil && ok
}
