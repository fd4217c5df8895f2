package template

import (
	"encoding/json"
	"fmt"
)

// Statement is a statement of a policy, with a list where a single value is also allowed.
type Statement struct {
	Sid, Effect string
	Actions     []string
	Resources   []string
	Principals  map[string][]string
	Conditions  map[string]map[string][]string // operator, key, values
}

// Role returns the statements of a role's own policies. It returns an error if the role
// has a policy that the template does not show.
func (t *Template) Role(id string) ([]Statement, error) {
	var p struct {
		ManagedPolicyArns []string
		Policies          []struct{ PolicyDocument document }
	}
	if err := t.properties(id, &p); err != nil {
		return nil, err
	}
	if len(p.ManagedPolicyArns) > 0 {
		return nil, fmt.Errorf("%s has policies that the template does not show: %v", id, p.ManagedPolicyArns)
	}
	var all []Statement
	for _, some := range p.Policies {
		all = append(all, some.PolicyDocument.Statement...)
	}
	return all, nil
}

// Statements returns the statements of a policy document in a property of a resource,
// such as KeyPolicy.
func (t *Template) Statements(id, property string) ([]Statement, error) {
	data, err := json.Marshal(t.Resources[id].Properties[property])
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", property, id, err)
	}
	return d.Statement, nil
}

type document struct{ Statement []Statement }

// UnmarshalJSON reads a statement as IAM does: a single value is a list of one.
func (s *Statement) UnmarshalJSON(data []byte) error {
	var raw struct {
		Sid, Effect      string
		Action, Resource oneOrMore
		Principal        map[string]oneOrMore
		Condition        map[string]map[string]oneOrMore
		NotAction        any
		NotResource      any
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if raw.NotAction != nil || raw.NotResource != nil {
		return fmt.Errorf("statement %s says what it does not mean", raw.Sid)
	}
	*s = Statement{Sid: raw.Sid, Effect: raw.Effect, Actions: raw.Action, Resources: raw.Resource}
	if raw.Principal != nil {
		s.Principals = map[string][]string{}
	}
	for kind, some := range raw.Principal {
		s.Principals[kind] = some
	}
	if raw.Condition != nil {
		s.Conditions = map[string]map[string][]string{}
	}
	for operator, keys := range raw.Condition {
		s.Conditions[operator] = map[string][]string{}
		for key, some := range keys {
			s.Conditions[operator][key] = some
		}
	}
	return nil
}

type oneOrMore []string

// UnmarshalJSON reads a single value as a list of one.
func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}
