// Package rules tests the example rules of events/rules.yaml and events/incidents.yaml with the sample events:
// which rule matches which event, and what the targets receive.
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

	"rollcall/tests/harness/must"
	"rollcall/tests/template"
	"rollcall/tests/testbed"
)

const root = "../.."

// account is the emulated AWS.
var account *testbed.Bed

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, testbed.Options{AWSOnly: true}, func(b *testbed.Bed) { account = b }, nil))
}

// all enables every part of events/rules.yaml.
var all = map[string]string{
	"CentralBusArn": "arn:aws:events:eu-west-1:111122223333:event-bus/central", "AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:rollcall-rollcall",
}

// tool holds the parameters of events/incidents.yaml.
var tool = map[string]string{
	"IncidentUrl": "https://events.pagerduty.com/v2/enqueue", "IncidentKey": "0123456789abcdef0123456789abcdef", "AlarmTopicArn": all["AlarmTopicArn"],
}

// sources returns the templates in JSON, by file.
var sources = map[string]func() ([]byte, error){
	"rules.yaml":     sync.OnceValues(func() ([]byte, error) { return template.Transform(context.Background(), root, "events/rules.yaml") }),
	"incidents.yaml": sync.OnceValues(func() ([]byte, error) { return template.Transform(context.Background(), root, "events/incidents.yaml") }),
}

// of returns a template of events/ for these parameters.
func of(t *testing.T, file string, parameters map[string]string) *template.Template {
	t.Helper()
	data, err := sources[file]()
	must.Succeed(t, err)
	made, err := template.Resolve(data, parameters)
	must.Succeed(t, err)
	return made
}

// with returns events/rules.yaml for these parameters.
func with(t *testing.T, parameters map[string]string) *template.Template {
	t.Helper()
	return of(t, "rules.yaml", parameters)
}

// everything returns the resources of both templates. Each has a dead-letter queue of the
// same name.
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

// transformer describes how a rule makes its target's input from an event.
type transformer struct {
	InputPathsMap map[string]string
	InputTemplate string
}

// rule holds the tested properties of a rule of the template.
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

// rules returns the rules of the template, by logical ID. Each has one target.
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
		must.That(t, err == nil && len(of.Targets) == 1, "%s: %v, %d targets", id, err, len(of.Targets))
		out[id] = of
	}
	must.That(t, len(out) > 0, "the template has no rules")
	return out
}

// samples returns the sample events, by file name.
func samples(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "events", "samples", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no samples: ", err)
	}
	out := map[string]map[string]any{}
	for _, file := range files {
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = object(t, must.Read(t, file))
	}
	return out
}

func object(t *testing.T, data []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	must.That(t, err == nil, "%v: %s", err, data)
	o, ok := v.(map[string]any)
	must.That(t, ok, "%s is no object", data)
	return o
}

func schema(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(path)
	must.Succeed(t, err)
	return s
}
