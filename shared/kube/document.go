package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is a Kubernetes object, or one inside of it, as [unmarshal] decodes it.
type object = map[string]any

// unmarshal is [json.Unmarshal], but keeps the numbers of an object as they are written.
func unmarshal(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows after its end")
	}
	return nil
}

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
func readList[T any](ctx context.Context, c *Client, r resource, o *metav1.ListOptions) (all []*T, next string, err error) {
	path, budget := r.path("", ""), int64(maxCapture)
	if c.items != nil {
		items, next, err := c.pageInMemory(ctx, r, "", "", o, &budget)
		if err != nil {
			return nil, "", err
		}
		if all, err = decodeAll[T](items); err != nil {
			return nil, "", unexpected(path, err)
		}
		return all, next, nil
	}
	data, err := c.fetch(ctx, path, o, &budget)
	if err != nil {
		return nil, "", err
	}
	page, next, err := listOf[T](data, r)
	if err != nil {
		return nil, "", unexpected(path, err)
	}
	for i := range page {
		all = append(all, &page[i])
	}
	return all, next, nil
}

// listOf decodes one page of a list. An answer that is not a list of the resource is an error: it
// must not count as an empty list.
func listOf[T any](data []byte, r resource) (items []T, next string, err error) {
	var page listObject[T]
	if err = unmarshal(data, &page); err == nil && page.Kind != kindList && page.Kind != r.kind+kindList {
		err = fmt.Errorf("it is a %q, not a list of %s", page.Kind, r.plural)
	}
	if err != nil {
		return nil, "", err
	}
	return page.Items, page.Metadata.Continue, nil
}

// itemsOf returns the items of one page of a list, with the token of the next, or one object.
func itemsOf(data []byte, r resource, list bool) (items []*Item, next string, err error) {
	objects := make([]object, 1)
	if list {
		objects, next, err = listOf[object](data, r)
	} else if err = unmarshal(data, &objects[0]); err == nil && objects[0]["kind"] == nil {
		err = errors.New("it has no kind")
	}
	if err != nil {
		return nil, "", err
	}
	for _, o := range objects {
		if o == nil {
			return nil, "", errors.New("one of its items is null")
		}
		if err := tidy(o, r); err != nil {
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

// tidy gives the object the form that kubectl prints, without what never leaves the package. It adds
// the kind, which the API server leaves out in lists of its own types, and removes the managed fields.
// It also removes the last applied configuration, which repeats the object.
func tidy(o object, r resource) error {
	for _, must := range [][2]string{{"apiVersion", r.apiVersion()}, {"kind", r.kind}} {
		if said, has := o[must[0]]; has && said != must[1] {
			return fmt.Errorf("%s is %v, not %q", must[0], said, must[1])
		}
		o[must[0]] = must[1]
	}
	if err := trimTidy.object(o); err != nil {
		return err
	}
	return trimmings[r.kind].object(o)
}
