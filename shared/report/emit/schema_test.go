package emit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/harness/plantest"
)

const schemaFile = "../../../events/rollcall-events.schema.json"

type schemas struct {
	document map[string]any
	event    *jsonschema.Schema            // of whole events
	detail   map[string]*jsonschema.Schema // by detail-type
	// strict is the schema of whole events that refuses unknown fields. The published one
	// accepts them, so that fields can be added.
	strict *jsonschema.Schema
}

// published is the schema for listeners.
var published = sync.OnceValues(func() (schemas, error) {
	var s schemas
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		return s, err
	}
	compile := func(alter func(map[string]any)) (*jsonschema.Compiler, error) {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		s.document = document.(map[string]any)
		alter(s.document)
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		return c, c.AddResource("urn:rollcall:events:v1", document)
	}
	c, err := compile(closed)
	if err != nil {
		return s, err
	}
	if s.strict, err = c.Compile("urn:rollcall:events:v1"); err != nil {
		return s, err
	}
	if c, err = compile(func(map[string]any) {}); err != nil {
		return s, err
	}
	if s.event, err = c.Compile("urn:rollcall:events:v1"); err != nil {
		return s, err
	}
	s.detail = map[string]*jsonschema.Schema{}
	for _, name := range detailTypes {
		if s.detail[name], err = c.Compile("urn:rollcall:events:v1#/$defs/" + definition(name)); err != nil {
			return s, err
		}
	}
	return s, nil
})

var detailTypes = []string{emit.FindingOpened, emit.FindingEscalated, emit.FindingResolved, emit.ActionTaken, emit.ActionHeld, emit.ActionFailed, emit.CheckCompleted}

// closed makes every detail, and every object in one, refuse fields that the schema does not
// name.
func closed(document map[string]any) {
	defs := document["$defs"].(map[string]any)
	for _, detailType := range detailTypes {
		defs[definition(detailType)].(map[string]any)["unevaluatedProperties"] = false
	}
	for _, d := range defs {
		properties, _ := d.(map[string]any)["properties"].(map[string]any)
		for _, p := range properties {
			closeObjects(p)
		}
	}
}

func closeObjects(schema any) {
	object, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if properties, ok := object["properties"].(map[string]any); ok {
		object["unevaluatedProperties"] = false
		for _, p := range properties {
			closeObjects(p)
		}
	}
	closeObjects(object["items"])
}

// definition returns the name in $defs of a detail-type.
func definition(detailType string) string { return strings.ReplaceAll(detailType, " ", "") }

func load(t *testing.T) schemas {
	t.Helper()
	s, err := published()
	must.Succeed(t, err)
	return s
}

// envelope is an event as EventBridge delivers it to a rule's target.
type envelope struct {
	Version    string    `json:"version"`
	ID         string    `json:"id"`
	DetailType string    `json:"detail-type"`
	Source     string    `json:"source"`
	Account    string    `json:"account"`
	Time       time.Time `json:"time"`
	Region     string    `json:"region"`
	Resources  []string  `json:"resources"`
	Detail     any       `json:"detail"`
}

func delivered(e emit.Event) envelope {
	return envelope{
		Version: "0", ID: "7bf73129-1428-4cd3-a780-95db273d1602", DetailType: e.DetailType, Source: emit.Source,
		Account: "111122223333", Time: noon, Region: "eu-west-1", Resources: append([]string{}, e.Resources...), Detail: e.Detail,
	}
}

// received returns an event as a rule's target receives it.
func received(t *testing.T, detailType string, detail any) any {
	t.Helper()
	data, err := json.Marshal(delivered(emit.Event{DetailType: detailType, Detail: detail}))
	must.Succeed(t, err)
	return parsed(t, data)
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	must.Succeed(t, err)
	return v
}

// valid checks that events match the published schema, without fields that it does not name.
func valid(t *testing.T, events []emit.Event) {
	t.Helper()
	for _, e := range events {
		data, err := json.Marshal(delivered(e))
		must.Succeed(t, err)
		v := parsed(t, data)
		if err := load(t).event.Validate(v); err != nil {
			t.Errorf("%s %+v: %v", e.DetailType, e.Detail, err)
		} else if err := load(t).strict.Validate(v); err != nil {
			t.Errorf("%s has a field that the schema does not know: %v", e.DetailType, err)
		}
	}
}

// properties returns the properties of a definition and of the one it refers to.
func properties(s schemas, name string) (out []string) {
	d := s.document["$defs"].(map[string]any)[name].(map[string]any)
	for p, schema := range d["properties"].(map[string]any) {
		if schema != false {
			out = append(out, p)
		}
	}
	if ref, ok := d["$ref"].(string); ok {
		out = append(out, properties(s, strings.TrimPrefix(ref, "#/$defs/"))...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// jsonFields returns the JSON names of the fields of a struct.
func jsonFields(t reflect.Type) (out []string) {
	for f := range t.Fields() {
		if f.Anonymous {
			out = append(out, jsonFields(f.Type)...)
			continue
		}
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestSchemaAndTypesNameTheSameFields(t *testing.T) {
	s := load(t)
	for detailType, v := range map[string]any{
		emit.FindingOpened: emit.Finding{}, emit.FindingEscalated: emit.Finding{}, emit.FindingResolved: emit.Resolved{},
		emit.ActionTaken: emit.Action{}, emit.ActionHeld: emit.Action{}, emit.ActionFailed: emit.Action{}, emit.CheckCompleted: emit.Completed{},
	} {
		got, want := properties(s, definition(detailType)), jsonFields(reflect.TypeOf(v))
		expect.That(t, slices.Equal(got, want), "%s: the schema has %q, the type %q", detailType, got, want)
	}
}

func TestSchemaKnowsEveryWord(t *testing.T) {
	s := load(t)
	words := func(path ...string) (out []string) {
		var at any = s.document
		for _, p := range path {
			at = at.(map[string]any)[p]
		}
		for _, w := range at.([]any) {
			out = append(out, w.(string))
		}
		return out
	}
	same := func(name string, got, want []string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		expect.List(t, got, want, "%s: the schema has", name)
	}
	same("detail-type", words("properties", "detail-type", "enum"), detailTypes)
	same("kind", words("$defs", "kind", "enum"), texts(roll.Kinds()))
	same("owner", words("$defs", "owner", "enum"), texts(roll.Owners()))
	same("mode", words("$defs", "CheckCompleted", "properties", "mode", "enum"), texts([]policy.Mode{policy.Observe, policy.Notify, policy.Remediate}))
	same("stage", words("$defs", "FindingResolved", "properties", "stage", "enum"), texts([]roll.Stage{roll.Watching, roll.Warned, roll.Overdue}))
	same("how", words("$defs", "FindingResolved", "properties", "how", "enum"), texts([]emit.How{emit.Cleared, emit.Gone, emit.Changed}))
	steps := []policy.Do{policy.DoWarn, policy.DoTag, policy.DoNotify, policy.DoCordon, policy.DoDrain, policy.DoReboot, policy.DoTerminate, policy.DoDeleteNode}
	same("next", words("$defs", "finding", "properties", "next", "properties", "do", "enum"), texts(steps))
	same("action", words("$defs", "act", "enum"), plantest.Constants(t, "Action"))
	same("confidence", words("$defs", "finding", "properties", "causes", "items", "properties", "confidence", "enum"), texts([]roll.Confidence{roll.Decisive, roll.Suggestive}))
	same("severity", words("$defs", "action", "properties", "severity", "enum"), texts([]report.Severity{report.SeverityInfo, report.SeverityWarning, report.SeverityCritical}))
	same("gaps", words("$defs", "CheckCompleted", "properties", "gaps", "propertyNames", "enum"), texts([]roll.GapKind{
		roll.GapClusterNotActive, roll.GapClusterGone, roll.GapClusterUnreachable, roll.GapUnauthorized, roll.GapDenied, roll.GapThrottled, roll.GapTimeout, roll.GapUnavailable, roll.GapLater, roll.GapFailed,
	}))
	same("reason", words("$defs", "reason", "enum"), plantest.Constants(t, "Reason"))
	same("result", words("$defs", "action", "properties", "result", "enum"), texts([]remediate.Result{remediate.Acted, remediate.Failed, remediate.Unclear, emit.Held, remediate.Refused}))
}

func texts[S ~string](words []S) []string {
	return roll.Map(words, func(w S) string { return string(w) })
}

func TestSchemaRefusesWhatNobodyEmits(t *testing.T) {
	s := load(t)
	head := emit.Head{Version: emit.Version, At: noon, Account: "111122223333", Region: "eu-west-1", Cluster: "demo"}
	subject := emit.Subject{Instance: "i-0a1b2c3d4e5f60718", Group: "none", Kind: "Unknown"}
	message := emit.Message{Severity: report.SeverityInfo, Title: "demo: terminate", Text: "Done."}
	action := emit.Action{Head: head, Subject: subject, Message: message, Action: "terminate", Order: "3f9a0c5d7e1b2468", Result: remediate.Acted, Detail: "done", Since: noon}
	must.Succeed(t, s.event.Validate(received(t, emit.ActionTaken, action)))
	for name, change := range map[string]func(*emit.Action){
		"another result":       func(a *emit.Action) { a.Result = remediate.Failed },
		"no order":             func(a *emit.Action) { a.Order = "" },
		"no instance":          func(a *emit.Action) { a.Instance = "" },
		"a reason to act":      func(a *emit.Action) { a.Reason = "UnhealthyShare" },
		"another version":      func(a *emit.Action) { a.Version = 2 },
		"a time of some place": func(a *emit.Action) { a.At = noon.In(time.FixedZone("", 3600)) },
		"no account":           func(a *emit.Action) { a.Account = "" },
		"an unknown kind":      func(a *emit.Action) { a.Kind = "Bored" },
		"a quoted title":       func(a *emit.Action) { a.Title = `say "no"` },
		"a text of two lines":  func(a *emit.Action) { a.Text = "one\ntwo" },
		"a mention":            func(a *emit.Action) { a.Text = "<!channel>" },
		"a way out":            func(a *emit.Action) { a.Text = `a\"` },
	} {
		a := action
		change(&a)
		expect.That(t, s.event.Validate(received(t, emit.ActionTaken, a)) != nil, "%s passes", name)
	}
	expect.That(t, s.event.Validate(received(t, "Finding Closed", action)) != nil && s.event.Validate(received(t, emit.CheckCompleted, action)) != nil, "another detail-type passes")
}

// bare returns the properties below a schema that have no description: neither their own nor
// that of the definition they refer to. A condition only narrows a property, so it needs none.
func bare(document, schema any, path string) (out []string) {
	switch at := schema.(type) {
	case []any:
		for i, s := range at {
			out = append(out, bare(document, s, fmt.Sprintf("%s/%d", path, i))...)
		}
	case map[string]any:
		for name, s := range at {
			switch name {
			case "if", "then", "else", "allOf", "oneOf":
			case "properties":
				for p, s := range s.(map[string]any) {
					if s != false && !described(document, s) {
						out = append(out, path+"/properties/"+p)
					}
					out = append(out, bare(document, s, path+"/properties/"+p)...)
				}
			default:
				out = append(out, bare(document, s, path+"/"+name)...)
			}
		}
	}
	return out
}

// described reports whether a schema, or the definition that it refers to, has a description.
func described(document, schema any) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	if text, ok := s["description"].(string); ok && text != "" {
		return true
	}
	ref, ok := s["$ref"].(string)
	if !ok {
		return false
	}
	definitions := document.(map[string]any)["$defs"].(map[string]any)
	return described(document, definitions[strings.TrimPrefix(ref, "#/$defs/")])
}

// Editors show the descriptions of the schema to authors of rules and listeners.
func TestSchemasSayWhatEachPropertyMeans(t *testing.T) {
	example := parsed(t, []byte(`{"properties": {"a": {"type": "array", "items": {"properties": {"b": {"$ref": "#/$defs/d"}, "c": {"$ref": "#/$defs/e"}}}}, "f": false},
		"if": {"properties": {"a": {}}}, "$defs": {"d": {"description": "D."}, "e": {}}}`))
	got := bare(example, example, "")
	slices.Sort(got)
	want := []string{"/properties/a", "/properties/a/items/properties/c"}
	must.That(t, slices.Equal(got, want), "without description are %q, want %q", got, want)
	for _, file := range []string{schemaFile, "../../../events/notice.schema.json"} {
		data := must.Read(t, file)
		document := parsed(t, data)
		without := bare(document, document, "")
		slices.Sort(without)
		for _, path := range without {
			t.Errorf("%s: %s has no description", file, path)
		}
	}
}
