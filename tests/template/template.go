// Package template reads the project's templates as CloudFormation receives them:
// transformed, with parameters, conditions and functions evaluated. Tests assert on the
// result, because an emulator silently drops much of a template.
package template

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The values of the pseudo parameters.
const (
	Account = "123456789012"
	Region  = "eu-west-1"
	Stack   = "rollcall"
	StackID = "arn:aws:cloudformation:" + Region + ":" + Account + ":stack/" + Stack + "/1a2b3c4d-5e6f-11f0-8a9b-0a1b2c3d4e5f"
)

// Template is a template for certain parameter values. A reference to a resource reads
// ${Resource}, one to its attribute ${Resource.Attribute}.
type Template struct {
	// Parameters are the values of the template's own parameters.
	Parameters map[string]string
	Resources  map[string]Resource
	Outputs    map[string]any
	// Refused lists the rules of the template that the parameters break. CloudFormation then
	// creates no stack.
	Refused []string
}

// Resource is a resource whose condition holds.
type Resource struct {
	Type                string
	DeletionPolicy      string
	UpdateReplacePolicy string
	Properties          map[string]any
}

// Tool returns the path where make test installs one of the SAM tools: sam, cfn-lint,
// python.
func Tool(root, name string) string { return filepath.Join(root, ".build", "sam", "bin", name) }

// Transform returns a template of the project as CloudFormation receives it, in JSON. The
// file is relative to the root, such as template.yaml.
func Transform(ctx context.Context, root, file string) ([]byte, error) {
	script, written := filepath.Join(root, "tests", "template", "transform.py"), filepath.Join(root, file)
	// Reading the files' metadata makes the go command notice their changes.
	for _, path := range []string{script, written} {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, Tool(root, "python"), script, written)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("transform %s (make test installs what this needs): %w\n%s", file, err, complaint.String())
	}
	return out, nil
}

// Read transforms template.yaml and resolves it for the parameters; the others have their
// defaults.
func Read(ctx context.Context, root string, parameters map[string]string) (*Template, error) {
	data, err := Transform(ctx, root, "template.yaml")
	if err != nil {
		return nil, err
	}
	return Resolve(data, parameters)
}

// Resolve evaluates a transformed template for the parameters. They may include pseudo
// parameters, such as AWS::StackName.
func Resolve(data []byte, parameters map[string]string) (*Template, error) {
	var raw struct {
		Parameters map[string]struct{ Default any }
		Conditions map[string]any
		Resources  map[string]struct {
			Type, Condition, DeletionPolicy, UpdateReplacePolicy string
			Properties                                           map[string]any
		}
		Outputs map[string]struct {
			Condition string
			Value     any
		}
		Rules map[string]demand
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("decode the transformed template: %w", err)
	}
	r := resolver{conditions: raw.Conditions, values: map[string]string{
		"AWS::AccountId": Account, "AWS::Region": Region, "AWS::StackName": Stack, "AWS::StackId": StackID, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
	}}
	for name, p := range raw.Parameters {
		if p.Default != nil {
			r.values[name] = fmt.Sprint(p.Default)
		}
	}
	for name, value := range parameters {
		if _, known := raw.Parameters[name]; !known && r.values[name] == "" {
			return nil, fmt.Errorf("the template has no parameter %s", name)
		}
		r.values[name] = value
	}
	t := &Template{Parameters: map[string]string{}, Resources: map[string]Resource{}, Outputs: map[string]any{}}
	for name := range raw.Parameters {
		t.Parameters[name] = r.values[name]
	}
	for name, in := range raw.Resources {
		if holds, err := r.holds(in.Condition); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		} else if !holds {
			continue
		}
		value, err := r.value(in.Properties)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out := Resource{Type: in.Type, DeletionPolicy: in.DeletionPolicy, UpdateReplacePolicy: in.UpdateReplacePolicy}
		out.Properties, _ = value.(map[string]any)
		t.Resources[name] = out
	}
	for name, in := range raw.Outputs {
		if holds, err := r.holds(in.Condition); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		} else if !holds {
			continue
		}
		value, err := r.value(in.Value)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		t.Outputs[name] = value
	}
	var err error
	if t.Refused, err = r.refused(raw.Rules); err != nil {
		return nil, err
	}
	return t, nil
}
