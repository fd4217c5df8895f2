package template

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// resolver evaluates the CloudFormation functions that the template uses. An unknown
// function is an error, so no assertion tests a wrong value.
type resolver struct {
	values     map[string]string // parameters and pseudo parameters
	conditions map[string]any
}

// absent is the value of AWS::NoValue.
type absent struct{}

func (r resolver) value(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 1 {
			for name, argument := range v {
				if name == "Ref" || name == "Condition" && r.conditions[fmt.Sprint(argument)] != nil || strings.HasPrefix(name, "Fn::") {
					return r.call(name, argument)
				}
			}
		}
		out := make(map[string]any, len(v))
		for key, some := range v {
			value, err := r.value(some)
			if err != nil {
				return nil, err
			}
			if value != (absent{}) {
				out[key] = value
			}
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(v))
		for _, some := range v {
			value, err := r.value(some)
			if err != nil {
				return nil, err
			}
			if value != (absent{}) {
				out = append(out, value)
			}
		}
		return out, nil
	}
	return v, nil
}

func (r resolver) call(name string, argument any) (any, error) {
	if name == "Fn::If" { // only the branch whose condition holds
		branches, ok := argument.([]any)
		if !ok || len(branches) != 3 {
			return nil, fmt.Errorf("%s of %v", name, argument)
		}
		holds, err := r.condition(fmt.Sprint(branches[0]))
		if err != nil {
			return nil, err
		}
		if holds {
			return r.value(branches[1])
		}
		return r.value(branches[2])
	}
	value, err := r.value(argument)
	if err != nil {
		return nil, err
	}
	list, _ := value.([]any)
	switch {
	case name == "Ref":
		return r.ref(fmt.Sprint(value)), nil
	case name == "Condition":
		return r.condition(fmt.Sprint(value))
	case name == "Fn::GetAtt" && len(list) == 2:
		return fmt.Sprintf("${%s.%s}", list[0], list[1]), nil
	case name == "Fn::Sub":
		return r.sub(value)
	case name == "Fn::Split" && len(list) == 2:
		var out []any
		for part := range strings.SplitSeq(fmt.Sprint(list[1]), fmt.Sprint(list[0])) {
			out = append(out, part)
		}
		return out, nil
	case name == "Fn::Select" && len(list) == 2:
		from, _ := list[1].([]any)
		index, ok := list[0].(float64)
		if !ok || index < 0 || int(index) >= len(from) {
			return nil, fmt.Errorf("select %v of %v", list[0], from)
		}
		return from[int(index)], nil
	case name == "Fn::Equals" && len(list) == 2:
		return fmt.Sprint(list[0]) == fmt.Sprint(list[1]), nil
	case name == "Fn::Not" && len(list) == 1:
		return list[0] != true, nil
	case name == "Fn::And":
		return !slices.ContainsFunc(list, func(some any) bool { return some != true }), nil
	case name == "Fn::Or":
		return slices.Contains(list, any(true)), nil
	}
	return nil, fmt.Errorf("%s of %v is not known here", name, value)
}

func (r resolver) condition(name string) (bool, error) {
	expression, ok := r.conditions[name]
	if !ok {
		return false, fmt.Errorf("there is no condition %s", name)
	}
	value, err := r.value(expression)
	return value == true, err
}

// holds reports whether a resource or an output exists; without a condition it does.
func (r resolver) holds(condition string) (bool, error) {
	if condition == "" {
		return true, nil
	}
	return r.condition(condition)
}

// demand is a rule of a template for its parameters:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/rules-section-structure.html
type demand struct {
	RuleCondition any // nil always holds
	Assertions    []struct {
		Assert            any
		AssertDescription string
	}
}

// refused returns the descriptions of the assertions that fail.
func (r resolver) refused(rules map[string]demand) (broken []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		of := rules[name]
		if of.RuleCondition != nil {
			applies, err := r.value(of.RuleCondition)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", name, err)
			}
			if applies != true {
				continue
			}
		}
		for _, a := range of.Assertions {
			holds, err := r.value(a.Assert)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", name, err)
			}
			if holds != true {
				broken = append(broken, a.AssertDescription)
			}
		}
	}
	return broken, nil
}

func (r resolver) ref(name string) any {
	if name == "AWS::NoValue" {
		return absent{}
	}
	if value, ok := r.values[name]; ok {
		return value
	}
	return "${" + name + "}"
}

var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)

// sub replaces ${NAME} by the value of the parameter; references to resources already
// have this form.
func (r resolver) sub(value any) (any, error) {
	local := map[string]any{}
	if list, ok := value.([]any); ok && len(list) == 2 {
		value = list[0]
		local, _ = list[1].(map[string]any)
	}
	text, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("substitute in %v", value)
	}
	text = placeholder.ReplaceAllStringFunc(text, func(match string) string {
		name := match[2 : len(match)-1]
		if some, ok := local[name]; ok {
			return fmt.Sprint(some)
		}
		return fmt.Sprint(r.ref(name))
	})
	return strings.ReplaceAll(text, "${!", "${"), nil // an escaped reference
}
