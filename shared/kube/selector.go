package kube

import (
	"fmt"

	quantities "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Fields are the fields of an object that can be used in selectors.
type Fields = fields.Fields

// Selects parses the two selectors of a request and returns a function that reports whether they
// select an object. A selector for a field that known does not have is an error.
func Selects(labelSelector, fieldSelector string, known Fields) (func(labels map[string]string, of Fields) bool, error) {
	byLabel, err := labels.Parse(labelSelector)
	if err != nil {
		return nil, err
	}
	byField, err := fields.ParseSelector(fieldSelector)
	if err != nil {
		return nil, err
	}
	for _, r := range byField.Requirements() {
		if !known.Has(r.Field) {
			return nil, fmt.Errorf("objects cannot be selected by the field %s", r.Field)
		}
	}
	return func(of map[string]string, f Fields) bool {
		return byLabel.Matches(labels.Set(of)) && byField.Matches(f)
	}, nil
}

// Quantity returns the value of a quantity such as 1500Mi, rounded up to a whole number.
func Quantity(text string) (int64, error) {
	q, err := quantities.ParseQuantity(text)
	if err != nil {
		return 0, err
	}
	return q.Value(), nil
}
