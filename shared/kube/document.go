package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is a Kubernetes object whose fields are kept unchanged, including numbers.
type object map[string]json.RawMessage

// annotationLastApplied is where kubectl apply keeps the object that it applied.
const annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// kindList is the kind of the lists that kubectl prints. The API server also names the kind of the
// items, as in NodeList.
const kindList = "List"

// listObject is one page of a list, of either form.
type listObject[T any] struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []T `json:"items"`
}

// readList requests one page of a list in all namespaces, and returns the token of the next.
func readList[T any](ctx context.Context, c *Client, r resource, o *metav1.ListOptions) (items []*T, next string, err error) {
	data, err := c.get(ctx, r.path("", ""), o)
	if err != nil {
		return nil, "", err
	}
	page, next, err := listOf[T](data, r)
	if err != nil {
		return nil, "", unexpected(r.path("", ""), err)
	}
	for i := range page {
		items = append(items, &page[i])
	}
	return items, next, nil
}

// listOf decodes one page of a list. An answer that is not a list of the resource is an error: it
// must not count as an empty list.
func listOf[T any](data []byte, r resource) (items []T, next string, err error) {
	var page listObject[T]
	if err = json.Unmarshal(data, &page); err == nil && page.Kind != kindList && page.Kind != r.kind+kindList {
		err = fmt.Errorf("it is a %q, not a list of %s", page.Kind, r.plural)
	}
	if err != nil {
		return nil, "", err
	}
	return page.Items, page.Metadata.Continue, nil
}

// readPage reads one page of a list and returns the token of the next.
func readPage(data []byte, r resource, trim *trimming) (items []*Item, next string, err error) {
	page, next, err := listOf[object](data, r)
	if err != nil {
		return nil, "", err
	}
	for _, o := range page {
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
	return items, next, nil
}

// tidy gives the object the form that kubectl prints. It adds the kind, which the API server leaves
// out in lists of its own types, and removes the managed fields. It also removes the last applied
// configuration, which repeats the object, including whatever trim removes.
func (o object) tidy(r resource, trim *trimming) error {
	if err := o.mustSay("apiVersion", r.apiVersion()); err != nil {
		return err
	}
	if err := o.mustSay("kind", r.kind); err != nil {
		return err
	}
	err := alter(o, "metadata", func(m object) error {
		delete(m, "managedFields")
		return alter(m, "annotations", func(a object) error {
			delete(a, annotationLastApplied)
			return nil
		})
	})
	if err != nil || trim == nil {
		return err
	}
	return trim.object(o)
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
