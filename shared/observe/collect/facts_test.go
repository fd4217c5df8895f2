package collect

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"rollcall/shared/evidence"
)

// facts returns all facts of the evidence, by their path: "Instances[i-...].Status".
func facts(e *evidence.Evidence) map[string]string {
	out := map[string]string{}
	walk("", reflect.ValueOf(*e), out)
	return out
}

func walk(path string, v reflect.Value, out map[string]string) {
	switch v.Kind() {
	case reflect.Struct:
		if state := v.FieldByName("State"); state.IsValid() && state.Type() == reflect.TypeFor[evidence.State]() {
			why := v.FieldByName("Why").String()
			out[path] = strings.TrimSpace(fmt.Sprintf("%s %s", state.Interface().(evidence.State), why))
			if state.Interface() == evidence.Known {
				out[path] = strings.TrimSpace(fmt.Sprintf("known %+v %s", v.FieldByName("Value").Interface(), why))
				walk(path, v.FieldByName("Value"), out)
			}
			return
		}
		if strings.HasPrefix(v.Type().PkgPath(), "rollcall/") {
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i), out)
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			walk(fmt.Sprintf("%s[%v]", path, k), v.MapIndex(k), out)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), out)
		}
	}
}

// unknown returns the paths and reasons of facts that are not known, sorted.
func unknown(e *evidence.Evidence) []string {
	var out []string
	for path, text := range facts(e) {
		if !strings.HasPrefix(text, "known") {
			out = append(out, path+": "+text)
		}
	}
	slices.Sort(out)
	return out
}
