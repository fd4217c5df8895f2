package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/template"
)

var placeholder = regexp.MustCompile(`<([A-Za-z0-9_.-]+)>`)

// transform makes a target's input from an event, as EventBridge does:
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
//
// A variable whose path does not exist is omitted. A text gets quotation marks if the
// template has none, and is not escaped; escaped returns the result in case it is escaped
// after all. All other values are inserted as JSON.
func transform(t transformer, event map[string]any, escaped bool) (string, error) {
	var fault error
	quoted := inQuotes(t.InputTemplate)
	at := 0
	out := placeholder.ReplaceAllStringFunc(t.InputTemplate, func(p string) string {
		at = at + strings.Index(t.InputTemplate[at:], p) + len(p)
		path, ok := t.InputPathsMap[p[1:len(p)-1]]
		if !ok {
			fault = fmt.Errorf("%s is no variable", p)
		}
		value, ok := follow(event, path)
		if !ok {
			return ""
		}
		text, ok := value.(string)
		if !ok {
			data, err := json.Marshal(value)
			if err != nil {
				fault = err
			}
			return string(data)
		}
		if escaped {
			data, err := json.Marshal(text)
			if err != nil {
				fault = err
			}
			text = string(data[1 : len(data)-1])
		}
		if quoted[at-1] {
			return text
		}
		return `"` + text + `"`
	})
	return out, fault
}

// inQuotes reports, for each byte of a template, whether it is within quotation marks.
func inQuotes(s string) []bool {
	out := make([]bool, len(s))
	inside := false
	for i := 0; i < len(s); i++ {
		switch {
		case inside && s[i] == '\\':
			out[i], out[i+1] = true, true
			i++
			continue
		case s[i] == '"':
			inside = !inside
		}
		out[i] = inside
	}
	return out
}

// follow returns the value of a path such as $.detail.title.
func follow(event map[string]any, path string) (any, bool) {
	var at any = event
	for _, name := range strings.Split(strings.TrimPrefix(path, "$."), ".") {
		o, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = o[name]; !ok {
			return nil, false
		}
	}
	return at, true
}

func TestTheTransformationIsAsDocumented(t *testing.T) {
	event := object(t, []byte(`{"detail-type": "T", "detail": {"text": "it says \"no\"", "n": 3, "list": ["a"], "o": {"a": "b"}}}`))
	paths := map[string]string{"type": "$.detail-type", "text": "$.detail.text", "n": "$.detail.n", "list": "$.detail.list", "o": "$.detail.o", "none": "$.detail.none"}
	for in, want := range map[string]string{
		`{"a": <type>}`:                    `{"a": "T"}`,
		`{"a": "<type>"}`:                  `{"a": "T"}`,
		`{"a": "of \"<type>\" with <n>"}`:  `{"a": "of \"T\" with 3"}`,
		`{"a": <n>, "b": <list>, "c":<o>}`: `{"a": 3, "b": ["a"], "c":{"a":"b"}}`,
		`{"a": "<none>", "b": "x<none>"}`:  `{"a": "", "b": "x"}`,
		`{"a": <none>}`:                    `{"a": }`,
		`{"a": "<text>"}`:                  `{"a": "it says "no""}`,
	} {
		if got, err := transform(transformer{paths, in}, event, false); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	if got, err := transform(transformer{paths, `{"a": "<text>"}`}, event, true); err != nil || got != `{"a": "it says \"no\""}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := transform(transformer{paths, `{"a": "<what>"}`}, event, false); err == nil {
		t.Error("a variable that nobody defines passes")
	}
}

// body returns what a target receives for an event, including what the connection adds.
func body(t *testing.T, made *template.Template, id string, r rule, event map[string]any) map[string]any {
	t.Helper()
	raw, err := transform(*r.Targets[0].InputTransformer, event, false)
	must.Succeed(t, err)
	escaped, err := transform(*r.Targets[0].InputTransformer, event, true)
	must.Succeed(t, err)
	expect.That(t, raw == escaped, "%s: what is put in depends on whether it is escaped:\n%s\n%s", id, raw, escaped)
	out := object(t, []byte(raw))
	if r.Targets[0].Arn == "${IncidentTool.Arn}" {
		for _, p := range bodyParameters(t, made) {
			out[p.Key] = p.Value
		}
	}
	return out
}

type parameter struct {
	Key, Value    string
	IsValueSecret bool
}

// bodyParameters returns the parameters that the connection adds to every call.
func bodyParameters(t *testing.T, made *template.Template) []parameter {
	t.Helper()
	var c struct {
		AuthParameters struct {
			InvocationHttpParameters struct{ BodyParameters []parameter }
		}
	}
	data, err := json.Marshal(made.Resources["IncidentConnection"].Properties)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	must.That(t, err == nil && len(c.AuthParameters.InvocationHttpParameters.BodyParameters) > 0, "the connection adds nothing: %v", err)
	return c.AuthParameters.InvocationHttpParameters.BodyParameters
}

// consumers maps the targets, by ARN in the template, to the schema that they require.
var consumers = map[string]string{"${IncidentTool.Arn}": "testdata/incident-event.schema.json"}

// Every sample that a rule matches, whatever is missing from it, reaches its target in
// the form that the target requires.
func TestTargetsGetWhatTheyWant(t *testing.T) {
	made := everything(t)
	tried := 0
	for id, r := range rules(t, made) {
		if r.Targets[0].InputTransformer == nil {
			continue
		}
		wanted := schema(t, consumers[r.Targets[0].Arn])
		for _, name := range takes[id] {
			event := samples(t)[name]
			detail := event["detail"].(map[string]any)
			fits := func(what string) {
				t.Helper()
				tried++
				if err := wanted.Validate(body(t, made, id, r, event)); err != nil {
					t.Errorf("%s of %s%s: %v", id, name, what, err)
				}
			}
			fits("")
			for _, optional := range []string{"console", "node", "zone", "next", "ordered", "held", "cause", "why", "fix", "causes", "evidence", "owner", "summary", "since"} {
				if value, ok := detail[optional]; ok {
					delete(detail, optional)
					fits(" without " + optional)
					detail[optional] = value
				}
			}
		}
	}
	expect.That(t, tried >= 50, "only %d inputs were tried", tried)
}

// Only fields that cannot end quotation marks are within them: the published schema refuses
// every value that could. A field outside them is an object or a list, and always present.
func TestTemplatesUseFieldsThatAreSafeInThem(t *testing.T) {
	published := schema(t, root+"/events/rollcall-events.schema.json")
	for id, r := range rules(t, everything(t)) {
		tr := r.Targets[0].InputTransformer
		if tr == nil {
			continue
		}
		if len(tr.InputTemplate) > 8192 || len(tr.InputPathsMap) > 100 { // EventBridge's limits
			t.Errorf("%s: a template of %d characters, %d variables", id, len(tr.InputTemplate), len(tr.InputPathsMap))
		}
		quoted, used := inQuotes(tr.InputTemplate), map[string]bool{}
		for _, m := range placeholder.FindAllStringSubmatchIndex(tr.InputTemplate, -1) {
			variable := tr.InputTemplate[m[2]:m[3]]
			path := tr.InputPathsMap[variable]
			used[variable] = true
			if !quoted[m[2]] {
				if path != "$.detail" && path != "$.resources" {
					t.Errorf("%s: %s stands without quotation marks", id, variable)
				}
				continue
			}
			name, ok := strings.CutPrefix(path, "$.detail.")
			if !ok {
				expect.That(t, path == "$.detail-type", "%s: %s is not known to be safe", id, path)
				continue
			}
			for _, sample := range takes[id] {
				event := samples(t)[sample]
				detail := event["detail"].(map[string]any)
				for _, bad := range []string{`a"b`, `a\b`, "a\nb", `"`, "a\x01"} {
					detail[name] = bad
					expect.That(t, published.Validate(event) != nil, "%s: %s may be %q", id, path, bad)
				}
			}
		}
		for variable := range tr.InputPathsMap {
			expect.That(t, used[variable], "%s does not use %s", id, variable)
		}
	}
}

// All events of one finding belong to one incident, which is closed by the key that opened it.
func TestWhatBelongsTogetherIsKeptTogether(t *testing.T) {
	made := everything(t)
	all := rules(t, made)
	keys := func(field func(map[string]any) any, of map[string][]string) map[any][]string {
		out := map[any][]string{}
		for id, names := range of {
			for _, name := range names {
				key := field(body(t, made, id, all[id], samples(t)[name]))
				out[key] = append(out[key], id+" "+name)
			}
		}
		for _, names := range out {
			slices.Sort(names)
		}
		return out
	}
	incidents := keys(func(b map[string]any) any { return b["dedup_key"] }, map[string][]string{
		"IncidentOpens": {"finding-escalated", "finding-opened-overdue", "finding-opened-condition", "finding-opened-stuck", "finding-opened-unlaunched"}, "IncidentOver": {"finding-resolved", "finding-resolved-cleared", "finding-resolved-condition", "finding-resolved-stuck", "finding-resolved-unlaunched"},
	})
	want := func(got map[any][]string, groups ...string) {
		t.Helper()
		var lists []string
		for names := range maps.Values(got) {
			lists = append(lists, strings.Join(names, ", "))
		}
		slices.Sort(lists)
		expect.That(t, slices.Equal(lists, groups), "%q, want %q", lists, groups)
	}
	want(incidents,
		"IncidentOpens finding-escalated, IncidentOver finding-resolved",
		"IncidentOpens finding-opened-condition, IncidentOver finding-resolved-condition",
		"IncidentOpens finding-opened-overdue, IncidentOver finding-resolved-cleared",
		"IncidentOpens finding-opened-stuck, IncidentOver finding-resolved-stuck",
		"IncidentOpens finding-opened-unlaunched, IncidentOver finding-resolved-unlaunched")
}
