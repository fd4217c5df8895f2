package template

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Functions maps the folder of each function's code to the logical ID of its function in
// the template.
var Functions = map[string]string{
	"statechange": "StateChangeFunction",
	"sweep":       "SweepFunction",
	"inspect":     "InspectFunction",
	"remediate":   "RemediateFunction",
	"approve":     "ApproveFunction",
}

// Function is a function with the resources around it.
type Function struct {
	Environment map[string]string
	Statements  []Statement // of its role
	Timeout     int
	Reserved    int // reserved concurrency; 0 if none
	LogGroup    string
	InVPC       bool
	Source      *Source // nil if no queue feeds it
}

// Source is the queue that feeds a function.
type Source struct {
	Queue                                 string // its ARN, as the template writes it
	BatchSize, WindowSeconds, Concurrency int
	ReportsFailures                       bool
}

// Function returns the function whose code is in that folder of functions/.
func (t *Template) Function(folder string) (Function, error) {
	id := Functions[folder]
	var p struct {
		Role          string
		Timeout       int
		Environment   struct{ Variables map[string]string }
		LoggingConfig struct{ LogGroup string }
		VpcConfig     *struct{}

		ReservedConcurrentExecutions int
	}
	if err := t.properties(id, &p); err != nil {
		return Function{}, err
	}
	f := Function{
		Environment: p.Environment.Variables, Timeout: p.Timeout, Reserved: p.ReservedConcurrentExecutions,
		LogGroup: p.LoggingConfig.LogGroup, InVPC: p.VpcConfig != nil,
	}
	var err error
	if f.Statements, err = t.Role(strings.TrimSuffix(strings.TrimPrefix(p.Role, "${"), ".Arn}")); err != nil {
		return f, err
	}
	for name, r := range t.Resources {
		if r.Type != "AWS::Lambda::EventSourceMapping" || r.Properties["FunctionName"] != "${"+id+"}" {
			continue
		}
		var s struct {
			EventSourceArn                            string
			BatchSize, MaximumBatchingWindowInSeconds int
			ScalingConfig                             struct{ MaximumConcurrency int }
			FunctionResponseTypes                     []string
		}
		if err := t.properties(name, &s); err != nil {
			return f, err
		}
		f.Source = &Source{
			Queue: s.EventSourceArn, BatchSize: s.BatchSize, WindowSeconds: s.MaximumBatchingWindowInSeconds,
			Concurrency: s.ScalingConfig.MaximumConcurrency, ReportsFailures: len(s.FunctionResponseTypes) == 1 && s.FunctionResponseTypes[0] == "ReportBatchItemFailures",
		}
	}
	return f, nil
}

// properties decodes the properties of a resource.
func (t *Template) properties(id string, into any) error {
	r, ok := t.Resources[id]
	if !ok {
		return fmt.Errorf("the template has no %s", id)
	}
	data, err := json.Marshal(r.Properties)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("properties of %s: %w", id, err)
	}
	return nil
}

// Rules returns the names of the rules that feed Rollcall.
func Rules() []string { return []string{"StateChanges", "HealthEvents", "SpotEvents"} }

// EventPattern returns the pattern of a rule that feeds Rollcall, as JSON.
func (t *Template) EventPattern(rule string) ([]byte, error) {
	return json.Marshal(t.Resources[rule].Properties["EventPattern"])
}
