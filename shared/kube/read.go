package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Read answers one question of a diagnosis with the JSON that "kubectl get --output json"
// prints for each of its objects: the object requested by name, or the items of a list, each with
// an apiVersion and a kind.
//
// Some fields never leave the package. Of any object: metadata.managedFields and the last applied
// configuration. Of pods: most annotations, volumes except their claims, what a container wrote
// when it terminated, and everything about a container except its name, image and resources. Of
// volumes: the source of their data, except the name under which one is attached. Environment
// variables, arguments and probes often hold secrets.
//
// The errors are [ErrGone] if the object does not exist, [ErrNoNodeClaims] and
// [ErrNoEC2NodeClasses] if the cluster does not serve the API group, and all that [Fault]
// describes. An answer of more than 8 MB, 64 MB for [AllBudgets] and [AllVolumes], or 256 MB for
// [AllNodes] and [AllLeases], is an error; so is an unexpected answer.
func (c *Client) Read(ctx context.Context, q Question) ([]*Item, error) {
	objects, err := c.read(ctx, q)
	if c.note != nil {
		c.note(q, objects, err)
	}
	return objects, err
}

func (c *Client) read(ctx context.Context, q Question) ([]*Item, error) {
	if c.first != nil {
		if objects, err := c.first.Read(ctx, q); !errors.Is(err, ErrNotCaptured) {
			return objects, err
		}
	}
	a, err := q.asking()
	if err != nil {
		return nil, err
	}
	budget := a.limit()
	if a.byName {
		r := a.of[0]
		one, err := c.readOne(ctx, q, a, r, &budget)
		if err != nil {
			return nil, q.operation(a, r).failed(err)
		}
		return []*Item{one}, nil
	}
	var all []*Item
	for _, r := range a.of {
		items, err := c.readAll(ctx, q, a, r, &budget)
		if err != nil {
			return nil, q.operation(a, r).failed(err)
		}
		all = append(all, items...)
	}
	if a.newest > 0 {
		all = newestEvents(all, a.newest)
	}
	return all, nil
}

func (c *Client) readOne(ctx context.Context, q Question, a asking, r resource, budget *int64) (*Item, error) {
	path := r.path(a.namespace, q.name)
	if c.items != nil {
		items, _, err := c.pageInMemory(ctx, r, a.namespace, q.name, &metav1.ListOptions{}, budget)
		if err != nil {
			return nil, c.whyAbsent(ctx, r, err)
		}
		return items[0], nil
	}
	data, err := c.fetch(ctx, path, nil, budget)
	if err != nil {
		return nil, c.whyAbsent(ctx, r, err)
	}
	var o object
	if err := unmarshal(data, &o); err != nil {
		return nil, unexpected(path, err)
	}
	if o["kind"] == nil {
		return nil, unexpected(path, errors.New("it has no kind"))
	}
	if err := tidy(o, r); err != nil {
		return nil, unexpected(path, err)
	}
	if data, err = json.Marshal(o); err != nil {
		return nil, err
	}
	return NewItem(data), nil
}

// readAll lists all pages. If the server drops the listing, it starts once more, and earlier pages
// do not count.
func (c *Client) readAll(ctx context.Context, q Question, a asking, r resource, budget *int64) ([]*Item, error) {
	var all []*Item
	before := *budget
	err := again(func() { all, *budget = nil, before }, func() error {
		return eachPage(func(o *metav1.ListOptions) (string, error) {
			a.selects(q.name, o)
			items, next, err := c.readPage(ctx, o, a, r, budget)
			all = append(all, items...)
			return next, err
		})
	})
	if err != nil {
		return nil, c.whyAbsent(ctx, r, err)
	}
	return all, nil
}

// readPage requests one page of a list.
func (c *Client) readPage(ctx context.Context, o *metav1.ListOptions, a asking, r resource, budget *int64) (items []*Item, next string, err error) {
	if c.items != nil {
		return c.pageInMemory(ctx, r, a.namespace, "", o, budget)
	}
	path := r.path(a.namespace, "")
	data, err := c.fetch(ctx, path, o, budget)
	if err != nil {
		return nil, "", err
	}
	if items, next, err = readPage(data, r); err != nil {
		return nil, "", unexpected(path, err)
	}
	return items, next, nil
}

// whyAbsent determines whether a 404 means that the object does not exist, or that its kind is not
// served. An answer without a Status is not from an API server that looked up an object, or it is
// from one that does not know the path.
func (c *Client) whyAbsent(ctx context.Context, r resource, err error) error {
	switch {
	case !apierrors.IsNotFound(err):
		return err
	case !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return fmt.Errorf("%w (%w)", ErrGone, err)
	case unserved[r.group] != nil:
		return c.whyUnserved(ctx, r)
	}
	return err
}

func (c *Client) get(ctx context.Context, path string, options *metav1.ListOptions) ([]byte, error) {
	budget := int64(maxCapture)
	return c.fetch(ctx, path, options, &budget)
}

// fetch reads the answer of a path, and subtracts its length from the budget. Do would read an
// answer of any length; Stream lets the caller limit it.
func (c *Client) fetch(ctx context.Context, path string, options *metav1.ListOptions, budget *int64) ([]byte, error) {
	request := c.rest.Get().AbsPath(path).SetHeader("Accept", applicationJSON)
	if options != nil {
		request = request.VersionedParams(options, parameterCodec)
	}
	body, err := open(ctx, request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, *budget+1))
	if err == nil {
		err = ctx.Err() // a server that stops may end its answer as if it were complete
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of %s broke off: %w", path, err)
	}
	if *budget -= int64(len(data)); *budget < 0 {
		return nil, errTooLarge
	}
	return data, nil
}

// errTooLarge is the error for an answer that exceeds the limit.
var errTooLarge = errors.New("the answer is larger than one question may bring, and was given up: look with kubectl")

func unexpected(path string, err error) error {
	return fmt.Errorf("the answer of %s is not what it should be: %w", path, err)
}
