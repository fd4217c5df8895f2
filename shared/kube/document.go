package kube

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// object is a Kubernetes object whose fields are kept unchanged, including numbers.
type object map[string]json.RawMessage

// printedList is a list as kubectl prints it.
type printedList struct {
	APIVersion string            `json:"apiVersion"`
	Items      []json.RawMessage `json:"items"`
	Kind       string            `json:"kind"`
	Metadata   struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// kindList is the kind of the lists that kubectl prints. The API server also names the kind of the
// items, as in NodeList.
const kindList = "List"

// listOf reports whether a list of kind list may hold objects of the other kind.
func listOf(list, kind string) bool { return list == kindList || list == kind+kindList }

// readPage reads one page of a list and returns the token of the next. An answer that is not a list
// is an error: it must not count as an empty list.
func readPage(data []byte, r resource, trim func(object) error) (items []*Item, next string, err error) {
	var page struct {
		Kind     string
		Metadata struct{ Continue string }
		Items    []object
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, "", err
	}
	if !listOf(page.Kind, r.kind) {
		return nil, "", fmt.Errorf("it is a %q, not a list of %s", page.Kind, r.plural)
	}
	for _, o := range page.Items {
		if o == nil {
			return nil, "", errors.New("one of its items is null")
		}
		if err := o.tidy(r, trim); err != nil {
			return nil, "", err
		}
		item, err := json.Marshal(o)
		if err != nil {
			return nil, "", err
		}
		items = append(items, NewItem(item))
	}
	return items, page.Metadata.Continue, nil
}

// tidy gives the object the form that kubectl prints. It adds the kind, which the API server leaves
// out in lists of its own types, and removes the managed fields. It also removes the last applied
// configuration, which repeats the object, including whatever trim removes.
func (o object) tidy(r resource, trim func(object) error) error {
	if err := o.mustSay("apiVersion", r.apiVersion()); err != nil {
		return err
	}
	if err := o.mustSay("kind", r.kind); err != nil {
		return err
	}
	err := alter(o, "metadata", func(m object) error {
		delete(m, "managedFields")
		return alter(m, "annotations", func(a object) error {
			delete(a, corev1.LastAppliedConfigAnnotation)
			return nil
		})
	})
	if err != nil || trim == nil {
		return err
	}
	return trim(o)
}

// mustSay sets the field if it is missing.
func (o object) mustSay(field, value string) error {
	raw, has := o[field]
	if !has {
		raw, err := json.Marshal(value)
		o[field] = raw
		return err
	}
	var said string
	if err := json.Unmarshal(raw, &said); err != nil || said != value {
		return fmt.Errorf("%s is %s, not %q", field, raw, value)
	}
	return nil
}

// alter changes a field of the object in place. A missing field stays missing.
func alter[T any](o object, field string, change func(T) error) error {
	raw, has := o[field]
	if !has || string(raw) == "null" {
		return nil
	}
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	if err := change(value); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	o[field] = raw
	return nil
}
