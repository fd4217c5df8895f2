// Package rules tries the example rules of events/rules.yaml and events/incidents.yaml on the sample events: which
// rule takes which, and what the targets of each are given.
package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rollcall/tests/template"
	"rollcall/tests/testbed"
)

const root = "../.."

// account is the emulated AWS.
var account *testbed.Bed

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, testbed.Options{AWSOnly: true}, func(b *testbed.Bed) { account = b }, nil))
}

// all has every part of events/rules.yaml in it.
var all = map[string]string{
	"CentralBusArn": "arn:aws:events:eu-west-1:111122223333:event-bus/central", "AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:rollcall-rollcall",
}

// tool is what events/incidents.yaml is given.
var tool = map[string]string{
	"IncidentUrl": "https://events.pagerduty.com/v2/enqueue", "IncidentKey": "0123456789abcdef0123456789abcdef", "AlarmTopicArn": all["AlarmTopicArn"],
}

// sources are the templates in JSON, by their files.
var sources = map[string]func() ([]byte, error){
	"rules.yaml":     sync.OnceValues(func() ([]byte, error) { return template.Transform(context.Background(), root, "events/rules.yaml") }),
	"incidents.yaml": sync.OnceValues(func() ([]byte, error) { return template.Transform(context.Background(), root, "events/incidents.yaml") }),
}

// of is a template of events/ for these parameters.
func of(t *testing.T, file string, parameters map[string]string) *template.Template {
	t.Helper()
	data, err := sources[file]()
	if err != nil {
		t.Fatal(err)
	}
	made, err := template.Resolve(data, parameters)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// with is events/rules.yaml for these parameters.
func with(t *testing.T, parameters map[string]string) *template.Template {
	t.Helper()
	return of(t, "rules.yaml", parameters)
}

// everything has the parts of both templates. Each has a queue of its own for what cannot be
// delivered, of the same name.
func everything(t *testing.T) *template.Template {
	t.Helper()
	made := with(t, all)
	for id, r := range of(t, "incidents.yaml", tool).Resources {
		if _, both := made.Resources[id]; !both {
			made.Resources[id] = r
		}
	}
	return made
}

// transformer is how a rule makes the input of its target from an event.
type transformer struct {
	InputPathsMap map[string]string
	InputTemplate string
}

// rule is what a rule of the template is made of, as far as it is tried here.
type rule struct {
	EventBusName string
	EventPattern json.RawMessage
	Targets      []struct {
		Arn, RoleArn     string
		DeadLetterConfig struct{ Arn string }
		RetryPolicy      struct{ MaximumEventAgeInSeconds, MaximumRetryAttempts int }
		InputTransformer *transformer
	}
}

// rules are the rules of the template, by their logical ids. Each has one target.
func rules(t *testing.T, made *template.Template) map[string]rule {
	t.Helper()
	out := map[string]rule{}
	for id, r := range made.Resources {
		if r.Type != "AWS::Events::Rule" {
			continue
		}
		var of rule
		data, err := json.Marshal(r.Properties)
		if err == nil {
			err = json.Unmarshal(data, &of)
		}
		if err != nil || len(of.Targets) != 1 {
			t.Fatalf("%s: %v, %d targets", id, err, len(of.Targets))
		}
		out[id] = of
	}
	if len(out) == 0 {
		t.Fatal("the template has no rules")
	}
	return out
}

// samples are the sample events, by the names of their files.
func samples(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "events", "samples", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no samples: ", err)
	}
	out := map[string]map[string]any{}
	for _, file := range files {
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = object(t, read(t, file))
	}
	return out
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func object(t *testing.T, data []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	o, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%s is no object", data)
	}
	return o
}

func schema(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
