package template

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// formed are the types of resources that the emulator's CloudFormation makes. It drops the others without a word,
// above all alarms and policies of resources. Functions are left out though it knows them, since the processes of
// tests/serverless take their place, and the key, which it does not delete.
var formed = []string{
	"AWS::DynamoDB::Table", "AWS::Events::Rule", "AWS::IAM::Role", "AWS::Logs::LogGroup", "AWS::S3::Bucket", "AWS::SNS::Topic", "AWS::SQS::Queue",
}

// Flat returns the template in JSON as the emulator's CloudFormation can form it: without conditions, whose changes it
// does not notice, with references as Fn::Sub, and without the outputs that name what it does not form. names gives
// roles the names that CloudFormation would generate, by logical ID, and stands for references to what the emulator
// does not form, such as "Schedules.Arn". For each function there is an output Environment and its folder: its
// variables as a JSON object.
func (t *Template) Flat(names map[string]string) ([]byte, error) {
	resources := map[string]any{}
	for id, r := range t.Resources {
		if !slices.Contains(formed, r.Type) {
			continue
		}
		properties := maps.Clone(r.Properties)
		if name := names[id]; name != "" && r.Type == "AWS::IAM::Role" {
			properties["RoleName"] = name
		}
		one := map[string]any{"Type": r.Type, "Properties": referring(properties, names)}
		if strings.HasPrefix(r.DeletionPolicy, "Retain") { // it knows no RetainExceptOnCreate
			one["DeletionPolicy"] = "Retain"
		}
		resources[id] = one
	}
	outputs := map[string]any{}
	for name, value := range t.Outputs {
		if text, ok := value.(string); ok && !t.forms(text, names) {
			continue
		}
		outputs[name] = map[string]any{"Value": referring(value, names)}
	}
	for folder, id := range Functions {
		if _, there := t.Resources[id]; !there {
			continue
		}
		f, err := t.Function(folder)
		if err != nil {
			return nil, err
		}
		variables, err := json.Marshal(f.Environment)
		if err != nil {
			return nil, err
		}
		outputs["Environment"+folder] = map[string]any{"Value": referring(string(variables), names)}
	}
	parameters := map[string]any{}
	for name, value := range t.Parameters {
		parameters[name] = map[string]any{"Type": "String", "Default": value}
	}
	return json.Marshal(map[string]any{"AWSTemplateFormatVersion": "2010-09-09", "Parameters": parameters, "Resources": resources, "Outputs": outputs})
}

// forms reports whether the emulator forms all that a text refers to.
func (t *Template) forms(text string, names map[string]string) bool {
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		id, _, _ := strings.Cut(m[1], ".")
		if names[m[1]] == "" && !slices.Contains(formed, t.Resources[id].Type) {
			return false
		}
	}
	return true
}

// referring returns a value in which each text that names a resource is an Fn::Sub.
func referring(value any, names map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[key] = referring(one, names)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = referring(one, names)
		}
		return out
	case string:
		for id, name := range names {
			v = strings.ReplaceAll(v, "${"+id+"}", name)
		}
		if placeholder.MatchString(v) {
			return map[string]any{"Fn::Sub": v}
		}
		return v
	}
	return value
}
