package emit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rollcall/shared/emit"
	"rollcall/shared/plan/plantest"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

const schemaFile = "../../events/rollcall-events.schema.json"

type schemas struct {
	document map[string]any
	event    *jsonschema.Schema
	detail   map[string]*jsonschema.Schema // by detail-type
}

// published is the schema for listeners: of whole events, and of each detail.
var published = sync.OnceValues(func() (schemas, error) {
	var s schemas
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		return s, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return s, err
	}
	s.document = document.(map[string]any)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:rollcall:events:v1", document); err != nil {
		return s, err
	}
	if s.event, err = c.Compile("urn:rollcall:events:v1"); err != nil {
		return s, err
	}
	s.detail = map[string]*jsonschema.Schema{}
	for _, name := range emit.DetailTypes() {
		if s.detail[name], err = c.Compile("urn:rollcall:events:v1#/$defs/" + definition(name)); err != nil {
			return s, err
		}
	}
	return s, nil
})

// definition is the name in $defs of a detail-type.
func definition(detailType string) string { return strings.ReplaceAll(detailType, " ", "") }

func load(t *testing.T) schemas {
	t.Helper()
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// received is an event as a rule's target gets it.
func received(t *testing.T, detailType string, detail any) any {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"version": "0", "id": "7bf73129-1428-4cd3-a780-95db273d1602", "detail-type": detailType, "source": emit.Source,
		"account": "111122223333", "time": "2026-03-10T12:00:00Z", "region": "eu-west-1", "resources": []string{}, "detail": detail,
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// valid checks that events have the published form, and name no field beyond it.
func valid(t *testing.T, events []emit.Event) {
	t.Helper()
	for _, e := range events {
		v := received(t, e.DetailType, e.Detail)
		if err := load(t).event.Validate(v); err != nil {
			t.Errorf("%s %+v: %v", e.DetailType, e.Detail, err)
		}
		known := properties(load(t), definition(e.DetailType))
		for field := range v.(map[string]any)["detail"].(map[string]any) {
			if !slices.Contains(known, field) {
				t.Errorf("%s has the field %s, which its schema does not know", e.DetailType, field)
			}
		}
	}
}

// properties lists the properties of a definition and of the one it refers to.
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

// jsonFields lists the names under which a struct is written.
func jsonFields(t reflect.Type) (out []string) {
	for f := range t.Fields() {
		if f.Anonymous {
			out = append(out, jsonFields(f.Type)...)
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
		if got, want := properties(s, definition(detailType)), jsonFields(reflect.TypeOf(v)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the type %q", detailType, got, want)
		}
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
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, want %q", name, got, want)
		}
	}
	same("detail-type", words("properties", "detail-type", "enum"), emit.DetailTypes())
	same("kind", words("$defs", "kind", "enum"), texts(roll.Kinds()))
	same("owner", words("$defs", "owner", "enum"), texts(roll.Owners()))
	same("mode", words("$defs", "CheckCompleted", "properties", "mode", "enum"), texts([]policy.Mode{policy.Observe, policy.Notify, policy.Remediate}))
	same("stage", words("$defs", "FindingResolved", "properties", "stage", "enum"), texts([]roll.Stage{roll.Watching, roll.Warned, roll.Overdue}))
	same("how", words("$defs", "FindingResolved", "properties", "how", "enum"), texts([]emit.How{emit.Cleared, emit.Gone, emit.Changed}))
	steps := []policy.Do{policy.DoWarn, policy.DoTag, policy.DoNotify, policy.DoCordon, policy.DoDrain, policy.DoReboot, policy.DoTerminate, policy.DoDeleteNode}
	same("next", words("$defs", "finding", "properties", "next", "properties", "do", "enum"), texts(steps))
	same("action", words("$defs", "action", "properties", "action", "enum"), plantest.Constants(t, "Action"))
	same("reason", words("$defs", "reason", "enum"), plantest.Constants(t, "Reason"))
	same("result", words("$defs", "action", "properties", "result", "enum"), texts([]emit.Result{emit.Acted, emit.Failed, emit.Unclear, emit.Held, emit.Refused}))
}

func texts[S ~string](words []S) (out []string) {
	for _, w := range words {
		out = append(out, string(w))
	}
	return out
}

func TestExamplesAreValid(t *testing.T) {
	s := load(t)
	for _, detailType := range emit.DetailTypes() {
		examples, ok := s.document["$defs"].(map[string]any)[definition(detailType)].(map[string]any)["examples"].([]any)
		if !ok || len(examples) == 0 {
			t.Errorf("%s has no examples", detailType)
		}
		for i, example := range examples {
			if err := s.detail[detailType].Validate(example); err != nil {
				t.Errorf("%s, example %d: %v", detailType, i, err)
			}
			if err := s.event.Validate(received(t, detailType, example)); err != nil {
				t.Errorf("%s, example %d as an event: %v", detailType, i, err)
			}
			for _, other := range emit.DetailTypes() {
				opened := []string{emit.FindingOpened, emit.FindingEscalated} // what escalated may open
				if other != detailType && (!slices.Contains(opened, other) || !slices.Contains(opened, detailType)) && s.detail[other].Validate(example) == nil {
					t.Errorf("%s, example %d, passes for %s", detailType, i, other)
				}
			}
		}
	}
}

func TestSchemaRefusesWhatNobodyEmits(t *testing.T) {
	s := load(t)
	head := emit.Head{Version: emit.Version, At: noon, Account: "111122223333", Region: "eu-west-1", Cluster: "demo"}
	subject := emit.Subject{Instance: "i-0a1b2c3d4e5f60718", Group: "none", Kind: "Unknown"}
	action := emit.Action{Head: head, Subject: subject, Action: "terminate", Order: "3f9a0c5d7e1b2468", Result: emit.Acted, Detail: "done", Since: noon}
	if err := s.event.Validate(received(t, emit.ActionTaken, action)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*emit.Action){
		"another result":       func(a *emit.Action) { a.Result = emit.Failed },
		"no order":             func(a *emit.Action) { a.Order = "" },
		"no instance":          func(a *emit.Action) { a.Instance = "" },
		"a reason to act":      func(a *emit.Action) { a.Reason = "UnhealthyShare" },
		"another version":      func(a *emit.Action) { a.Version = 2 },
		"a time of some place": func(a *emit.Action) { a.At = noon.In(time.FixedZone("", 3600)) },
		"no account":           func(a *emit.Action) { a.Account = "" },
		"an unknown kind":      func(a *emit.Action) { a.Kind = "Bored" },
	} {
		a := action
		change(&a)
		if s.event.Validate(received(t, emit.ActionTaken, a)) == nil {
			t.Errorf("%s passes", name)
		}
	}
	if s.event.Validate(received(t, "Finding Closed", action)) == nil || s.event.Validate(received(t, emit.CheckCompleted, action)) == nil {
		t.Error("another detail-type passes")
	}
}
