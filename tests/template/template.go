// Package template reads the project's templates as CloudFormation gets them: transformed,
// with parameters, conditions and functions worked out. Tests assert on that, since an
// emulator drops much of a template without a word.
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

// What the pseudo parameters are worth.
const (
	Account = "123456789012"
	Region  = "eu-west-1"
	Stack   = "rollcall"
	StackID = "arn:aws:cloudformation:" + Region + ":" + Account + ":stack/" + Stack + "/1a2b3c4d-5e6f-11f0-8a9b-0a1b2c3d4e5f"
)

// Template is a template for certain values of its parameters. A reference to a
// resource reads ${Resource}, to its attribute ${Resource.Attribute}.
type Template struct {
	Resources map[string]Resource
	Outputs   map[string]any
	// Refused says which rules of the template the parameters break. CloudFormation makes
	// no stack then.
	Refused []string
}

// Resource is a resource whose condition holds.
type Resource struct {
	Type                string
	DeletionPolicy      string
	UpdateReplacePolicy string
	Properties          map[string]any
}

// Tool is where make test installs one of the SAM tools: sam, cfn-lint, python.
func Tool(root, name string) string { return filepath.Join(root, ".build", "sam", "bin", name) }

// Transform gives a template of the project as CloudFormation gets it, in JSON: file names
// it below the root, such as template.yaml.
func Transform(ctx context.Context, root, file string) ([]byte, error) {
	script, written := filepath.Join(root, "tests", "template", "transform.py"), filepath.Join(root, file)
	// To look at the files makes the go command see when they change.
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

// Read transforms template.yaml and works it out for the parameters; those that are
// not given have their defaults.
func Read(ctx context.Context, root string, parameters map[string]string) (*Template, error) {
	data, err := Transform(ctx, root, "template.yaml")
	if err != nil {
		return nil, err
	}
	return Resolve(data, parameters)
}

// Resolve works a transformed template out for the parameters. AWS::StackName and the like
// can be given too.
func Resolve(data []byte, parameters map[string]string) (*Template, error) {
	var raw struct {
		Parameters map[string]struct{ Default any }
		Conditions map[string]any
		Resources  map[string]struct {
			Type, Condition, DeletionPolicy, UpdateReplacePolicy string
			Properties                                           map[string]any
		}
		Outputs map[string]struct{ Value any }
		Rules   map[string]demand
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
	t := &Template{Resources: map[string]Resource{}, Outputs: map[string]any{}}
	for name, in := range raw.Resources {
		if in.Condition != "" {
			holds, err := r.condition(in.Condition)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if !holds {
				continue
			}
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
