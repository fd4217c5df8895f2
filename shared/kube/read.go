package kube

import (
	"cmp"
	"context"
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
// variables, arguments and probes often hold secrets. Of NodeClaims, the requirements that allow more
// than 50 values are removed, which are most of their size.
//
// The errors are [ErrGone] if the object does not exist, [ErrNoNodeClaims] and
// [ErrNoEC2NodeClasses] if the cluster does not serve the API group, and all that [Fault]
// describes. An answer of more than 8 MB, 64 MB for [AllBudgets], [AllVolumes] and [NodeClaimsOf], or
// 256 MB for [AllNodes] and [AllLeases], is an error; so is an unexpected answer.
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
	if err := q.check(); err != nil {
		return nil, err
	}
	budget := cmp.Or(q.ask.largest, maxAnswer)
	var all []*Item
	for _, r := range q.ask.of {
		items, err := c.readSome(ctx, q, r, &budget)
		if err != nil {
			return nil, q.operation(r).failed(c.whyAbsent(ctx, r, err))
		}
		all = append(all, items...)
	}
	return all, nil
}

// readSome reads the object of a resource that a question names, or lists all that it selects. If the
// server drops the listing, it starts once more, and earlier pages do not count.
func (c *Client) readSome(ctx context.Context, q Question, r resource, budget *int64) (all []*Item, err error) {
	if q.ask.byName {
		all, _, err = c.page(ctx, r, q.inNamespace(), q.name, &metav1.ListOptions{}, budget)
		return all, err
	}
	before := *budget
	err = eachPage(func() { all, *budget = nil, before }, func(o *metav1.ListOptions) (string, error) {
		q.selects(o)
		items, next, err := c.page(ctx, r, q.inNamespace(), "", o, budget)
		all = append(all, items...)
		if q.ask.newest > 0 { // the others go at once, so that only a page must fit
			all, *budget = newestEvents(all, q.ask.newest), before
		}
		return next, err
	})
	return all, err
}

// page requests one object, or one page of a list if the name is "", and returns the token of the next.
func (c *Client) page(ctx context.Context, r resource, namespace, name string, o *metav1.ListOptions, budget *int64) (items []*Item, next string, err error) {
	if c.items != nil {
		return c.pageInMemory(ctx, r, namespace, name, o, budget)
	}
	path := r.path(namespace, name)
	data, err := c.fetch(ctx, path, o, budget)
	if err != nil {
		return nil, "", err
	}
	if items, next, err = itemsOf(data, r, name == ""); err != nil {
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
	body, err := open(ctx, c.rest.Get().AbsPath(path).SetHeader("Accept", applicationJSON).VersionedParams(options, parameterCodec))
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
