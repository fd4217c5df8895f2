package policy

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	must.Succeed(t, err)
	c := jsonschema.NewCompiler()
	must.Succeed(t, c.AddResource("policy.schema.json", doc))
	s, err := c.Compile("policy.schema.json")
	must.Succeed(t, err)
	return s
}

// asEditor reads YAML the way an editor with the schema does.
func asEditor(s *jsonschema.Schema, data []byte) error {
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

func TestSchemaAcceptsWhatParses(t *testing.T) {
	s := compiled(t)
	good := fixtures(t, "testdata/good/*.yaml")
	maps.Copy(good, fixtures(t, "testdata/good/*.json"))
	for name, data := range good {
		if _, err := Parse(data); err != nil {
			t.Errorf("%s does not parse: %v", name, err)
		}
		err := asEditor(s, data)
		expect.That(t, err == nil, "%s: the schema refuses it: %v", name, err)
	}
}

// beyond are the bad documents that a JSON Schema cannot detect: it cannot compare two values, see
// what YAML has resolved, or measure a duration.
var beyond = []string{
	"alias", "count-octal", "condition-duplicate", "custom-tag",
	"deadline-before-default-warning", "deadline-before-warning", "warning-after-default-deadline", "override-deadline",
	"duration-too-long", "duration-too-short", "duration-zero",
	"ladder-terminate-not-last", "ladder-waits", "alias-in-list",
	"override-duplicate", "override-group-matches-nothing", "override-pattern",
	"merge-key", "two-documents", "not-yaml-second", "ladder-delete-node-not-last",
	"preset-deadline", "preset-override-deadline", "preset-override-base", "preset-unknown", "preset-match-unknown",
	"override-duplicate-preset", "taint-long", "initialization-warning", "approve-alone",
}

func TestSchemaRefusesWhatItCan(t *testing.T) {
	s := compiled(t)
	for name, data := range bad(t) {
		err := asEditor(s, data)
		silent := slices.Contains(beyond, name)
		expect.That(t, silent == (err == nil), "%s: the schema says %v", name, err)
	}
}

// The parser and the schema must agree on each of these, which differ from a valid document in one
// value.
func TestSchemaAndParserAgree(t *testing.T) {
	s := compiled(t)
	agree := func(document string, valid bool) {
		t.Helper()
		document = "apiVersion: rollcall/v1\n" + document
		if _, err := Parse([]byte(document)); (err == nil) != valid {
			t.Errorf("parser: valid %v, got %v:\n%s", valid, err, document)
		}
		err := asEditor(s, []byte(document))
		expect.That(t, (err == nil) == valid, "schema: valid %v, got %v:\n%s", valid, err, document)
	}
	for value, valid := range map[string]bool{
		"90s": true, "6m": true, "1h30m": true, "5.5m": true, "720h": true, `"15m"`: true,
		"5": false, "5.0": false, "15": false, "": false, "null": false, "5 m": false, "5M": false, "5ms": false, "1d": false, "m": false,
		"-5m": false, "+5m": false, ".5m": false, "5.m": false, "[5m]": false, "{a: 5m}": false, "true": false, `""`: false, `"0"`: false,
	} {
		agree("registration: {warnAfter: 5s, deadline: "+value+"}", valid)
		agree("conditions: [{type: Ready, status: Unknown, tolerate: "+value+"}]", valid)
		agree("overrides: [{match: {cluster: a}, initialization: {deadline: "+value+"}}]", valid)
		agree("ladders: {Unknown: [{do: notify, after: "+value+"}]}", valid)
		agree("presets: {slow: {initialization: {deadline: "+value+"}}}", valid)
		for _, k := range keys {
			if section, name, _ := strings.Cut(k.name, "."); k.lasts != nil && section != "registration" && section != "initialization" {
				agree(section+": {"+name+": "+value+"}", valid)
			}
		}
	}
	agree("ladders: {Unknown: [{do: notify, after: 0s}]}", true)
	for value, valid := range map[string]bool{"true": true, "false": true, "True": true, `"true"`: false, "1": false, "null": false, "": false, "[true]": false, "stop": false} {
		agree("stop: "+value, valid)
		agree("overrides: [{match: {cluster: a}, stop: "+value+"}]", false)
	}
	for value, valid := range map[string]bool{
		"0%": true, "1%": true, "55%": true, "100%": true, `"20%"`: true,
		"101%": false, "120%": false, "20": false, "0.2": false, "-1%": false, "1.5%": false, "20 %": false, "007%": false, "all": false, "null": false, "[20%]": false,
	} {
		agree("limits: {unhealthy: "+value+"}", valid)
		agree("limits: {zone: "+value+"}", valid)
		agree("limits: {massSilence: "+value+"}", valid)
	}
	for value, valid := range map[string]bool{
		"0": true, "1": true, "5": true, "2147483647": true,
		"-1": false, "1.5": false, "2147483648": false, "99999999999999999999": false, `"1"`: false, "true": false, "null": false, "unlimited": false, "[1]": false,
	} {
		agree("limits: {actionsPerCheck: "+value+"}", valid)
		agree("limits: {actionsPerHour: "+value+"}", valid)
		agree("limits: {replacements: "+value+"}", valid)
	}
	for value, valid := range map[string]bool{
		"never": true, "afterBudgetTimeout": true, `"never"`: true,
		"Never": false, "hold": false, "null": false, "[never]": false, "true": false, `""`: false,
	} {
		agree("drain: {force: "+value+"}", valid)
	}
	for value, valid := range map[string]bool{"true": true, "false": true, "yes": false, "hold": false, "1": false, "null": false} {
		agree("silentNode: {outOfServiceTaint: "+value+"}", valid)
	}
	for value, valid := range map[string]bool{
		"hold": true, "ignore": true, `"hold"`: true,
		"Hold": false, "never": false, "null": false, "[hold]": false, "false": false, `""`: false,
	} {
		for _, key := range keysOf("silentNode")[:3] {
			agree("silentNode: {"+key+": "+value+"}", valid)
			agree("overrides: [{match: {group: asg/a}, silentNode: {"+key+": "+value+"}}]", valid)
		}
	}
	for value, valid := range map[string]bool{
		"[]": true, "[a]": true, "[a, b]": true, "[example.com/a]": true, "[node.cilium.io/agent-not-ready]": true, "[readiness.k8s.io/x]": true,
		"a": false, "null": false, "[null]": false, "[5]": false, `[""]`: false, "[a, a]": false, `["a:NoSchedule"]`: false, "[a=b]": false,
		"[-a]": false, "[a/b/c]": false, "[/a]": false, "[a/]": false, "[A.com/b]": false, "[ä]": false,
		"[node.kubernetes.io/not-ready]": false, "[node.kubernetes.io/unschedulable]": false, "[karpenter.sh/disrupted]": false,
		"[node.cloudprovider.kubernetes.io/shutdown]": false, "[ToBeDeletedByClusterAutoscaler]": false, "[aws-node-termination-handler/spot-itn]": false,
	} {
		agree("initialization: {taints: "+value+"}", valid)
	}
	for value, valid := range map[string]bool{
		"a": true, "a-1": true, "gpu": true, "windows": true, `"true"`: true, "a234567890123456789012345678901234567890": true,
		"A": false, "1a": false, "a_b": false, "-a": false, "a b": false, "a2345678901234567890123456789012345678901": false, `""`: false,
	} {
		agree("presets: {"+value+": {}}", valid)
		agree("presets: {"+value+": {}}\noverrides: [{match: {cluster: a}, preset: "+value+"}]", valid)
		agree("presets: {"+value+": {}}\noverrides: [{match: {preset: "+value+"}}]", valid)
	}
	for value, valid := range map[string]bool{
		"{}": true, "{registration: {deadline: 1h}}": true, "{initialization: {}}": true,
		"null": false, "gpu": false, "{mode: notify}": false, "{limits: {}}": false, "{registration: null}": false, "{registration: {tolerate: 5m}}": false,
	} {
		agree("presets: {gpu: "+value+"}", valid)
	}
	agree("overrides: [{match: {cluster: a}, preset: null}]", false)
	agree("overrides: [{match: {cluster: a}, preset: [gpu]}]", false)
	agree("overrides: [{match: {cluster: a, preset: gpu}, limits: {zone: 50%}}]", false)
	agree("overrides: [{match: {cluster: a, preset: gpu}, mode: notify}]", true)
	agree("overrides: [{match: {cluster: a}, preset: gpu, limits: {zone: 50%}}]", true)
	for value, valid := range map[string]bool{
		"observe": true, "notify": true, "remediate": true, "ignore": true, `"observe"`: true,
		"Observe": false, "off": false, "false": false, "null": false, "[observe]": false, `""`: false,
	} {
		agree("mode: "+value, valid)
	}
	for value, valid := range map[string]bool{
		"True": true, "False": true, "Unknown": true, "true": true, "false": true, `"True"`: true, `"False"`: true, "FALSE": true,
		"unknown": false, `"false"`: false, "yes": false, "0": false, "null": false, "[Unknown]": false,
	} {
		agree("conditions: [{type: StorageReady, status: "+value+", tolerate: 5m}]", valid)
	}
	agree(`conditions: [{type: Ready, status: "True", tolerate: 5m}]`, false)
	agree(`conditions: [{type: Ready, status: true, tolerate: 5m}]`, false)
	agree(`conditions: []`, true)
	for value, valid := range map[string]bool{
		"Ready": true, "Custom2": true, "X": true,
		"ready": false, "Not-Ready": false, "a.b/C": false, "5": false, "null": false, `""`: false,
	} {
		agree("conditions: [{type: "+value+", status: Unknown, tolerate: 5m}]", valid)
	}
	for _, kind := range roll.Kinds() {
		for _, do := range verbs {
			use, _ := useOf(do, kind)
			agree("ladders: {"+string(kind)+": [{do: "+string(do)+"}]}", use != senseless)
		}
	}
	for _, do := range []string{"Terminate", "kill", "null", "[tag]", "1", `""`} {
		agree("ladders: {Unknown: [{do: "+do+"}]}", false)
	}
	for value, valid := range map[string]bool{"true": true, "false": true, "yes": false, `"true"`: false, "1": false, "null": false} {
		agree("ladders: {Unknown: [{do: reboot, once: "+value+"}]}", valid)
	}
	for _, kind := range roll.Kinds() {
		agree("ladders: {"+string(kind)+": []}", true)
	}
	for _, kind := range roll.Kinds() {
		for _, do := range verbs {
			use, _ := useOf(do, kind)
			agree("ladders: {"+string(kind)+"/KernelPanic: [{do: "+string(do)+"}]}", use != senseless)
		}
	}
	for _, code := range cause.Codes() {
		agree("ladders: {Unknown/"+code+": []}", true)
	}
	agree("ladders: {unknown/KernelPanic: []}", false)
	agree("ladders: {Unknown/: []}", false)
	agree("ladders: {KernelPanic: []}", false)
	agree("ladders: {Unknown/KernelPanic: null}", false)
	agree("ladders: {unknown: []}", false)
	agree("ladders: {Unknown: null}", false)
	agree("ladders: {Unknown: [null]}", false)
	agree("ladders: {Unknown: [{do: terminate}, {do: terminate}]}", false)
	agree("ladders: {Unknown: [{do: reboot}, {do: reboot}]}", false)
	agree("ladders: {Ghost: [{do: delete-node}, {do: delete-node}]}", false)
	agree("ladders: {Unknown: [{do: tag}, {do: tag}]}", true)
	for _, owner := range roll.Owners() {
		agree("owners: {"+string(owner)+": notify}", true)
		for _, rule := range ownerRules {
			agree("owners: {"+string(owner)+": "+string(rule)+"}", slices.Contains(allowedRules[owner], rule))
		}
		agree("owners: {"+string(owner)+": reboot}", false)
	}
	agree("owners: {fargate: notify}", false)
	for value, valid := range map[string]bool{
		"{cluster: a}": true, "{group: none}": true, `{cluster: "*", group: nodepool/a}`: true,
		"{}": false, "a": false, "null": false, "{cluster: 1}": false, `{cluster: ""}`: false, "{group: null}": false, "{cluster: a/b}": false, "{name: a}": false, "{preset: gpu}": true, "{preset: 1}": false, "{preset: null}": false,
	} {
		agree("overrides: [{match: "+value+", mode: notify}]", valid)
	}
	agree("overrides: [{match: {cluster: a}, mode: ignore}]", true)
	agree("overrides: [{match: {cluster: a, group: none}, mode: ignore}]", false)
	agree("overrides: [{match: {preset: gpu}, mode: ignore}]", false)
	agree("overrides: []", true)
	agree("overrides: [{match: {cluster: a}}]", true)
	agree("overrides: [{match: {cluster: a}, overrides: []}]", false)
	agree("overrides: {}", false)
	for _, section := range sections[1:] {
		agree(section+": null", false)
		agree(section+": 5", false)
		agree(section+": {other: 5}", false)
	}
	agree("modes: observe", false)
}

// The defaults in the schema must be the real ones.
func TestSchemaDefaultsAreTheDefaults(t *testing.T) {
	var s struct {
		Properties struct{ Stop struct{ Default any } }
		Defs       map[string]struct {
			Default    any
			Properties map[string]struct {
				Default any
				Ref     string `json:"$ref" yaml:"$ref"`
			}
		} `yaml:"$defs"`
	}
	if err := yaml.Unmarshal(Schema(), &s); err != nil { // JSON is a subset of YAML
		t.Fatal(err)
	}
	got := map[string]any{"mode": s.Defs["mode"].Default, "stop": s.Properties.Stop.Default}
	for _, section := range sections {
		for name, property := range s.Defs[section].Properties {
			if property.Default == nil && property.Ref == "#/$defs/notifyOnly" {
				property.Default = s.Defs["notifyOnly"].Default
			}
			if property.Default != nil {
				got[section+"."+name] = property.Default
			}
		}
	}
	want := make(map[string]any)
	for _, s := range Default().Explain("", "", roll.Selector{}) {
		if s.Key[:4] == "cond" {
			continue // a list: the schema has no place for the defaults of its items
		}
		want[s.Key] = s.Value
		if n, err := strconv.Atoi(s.Value); err == nil {
			want[s.Key] = n
		}
		if on, err := strconv.ParseBool(s.Value); err == nil && s.Value != "0" && s.Value != "1" {
			want[s.Key] = on
		}
		if s.Value == "none" {
			want[s.Key] = []any{}
		}
	}
	for key, value := range got {
		steps, ok := value.([]any)
		if !ok || !strings.HasPrefix(key, "ladders.") {
			continue
		}
		data, err := yaml.Marshal(map[string]any{"apiVersion": apiVersion, "ladders": map[string]any{key[len("ladders."):]: steps}})
		must.Succeed(t, err)
		d, err := Parse(data)
		must.Succeed(t, err)
		got[key] = ladderText(d.For("", "", roll.Selector{}).Ladders[roll.Kind(key[len("ladders."):])])
	}
	expect.Same(t, got, want, "the schema")
}

func TestSchemaIsACopy(t *testing.T) {
	Schema()[0] = 'x'
	expect.That(t, Schema()[0] == '{', "a reader changed the schema")
}
