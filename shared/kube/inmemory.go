package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// ErrNotCaptured is wrapped by the error of a [Store] that does not hold the requested data, so that
// the error does not count as "there is none". [Fault] returns the store's own text.
var ErrNotCaptured = errors.New("it was not captured")

// ErrOtherVersion is the error of a [Store] that has objects of a kind, but in another version.
var ErrOtherVersion = errors.New("404 page not found")

// Store holds the objects of a cluster that exists only in files. They may have fields that
// [Client.Read] removes from those of an API server, such as managedFields.
type Store interface {
	// Get returns one object; nil if there certainly is none.
	Get(kind, namespace, name string) (*Item, error)
	// List returns all objects of a kind.
	List(kind string) ([]*Item, error)
}

// NewStoreClient returns a client that reads the store and sends nothing. It cannot change anything.
func NewStoreClient(s Store) (*Client, error) {
	c, err := NewInMemoryClient(noServer{})
	if err != nil {
		return nil, err
	}
	c.items = func(_ context.Context, r resource, namespace, name string, o metav1.ListOptions) (items []*Item, next string, err error) {
		if name == "" {
			items, err = selected(s, r, namespace, o)
		} else {
			var one *Item
			if one, err = s.Get(r.kind, namespace, name); err == nil && one == nil {
				err = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: fmt.Sprintf("%s %q not found", r.plural, name)}}
			}
			items = []*Item{one}
		}
		if errors.Is(err, ErrOtherVersion) {
			err = apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, coreV1.WithResource("").GroupResource(), "", err.Error(), 0, true)
		}
		return items, "", err
	}
	return c, nil
}

// noServer is the transport of a client without a server. It names the API groups of Karpenter, of
// which a store may have other versions.
type noServer struct{}

// RoundTrip implements http.RoundTripper.
func (noServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.URL.Path != discoveredGroups {
		return nil, errors.New("a bundle cannot be changed")
	}
	groups := fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"groups":[{"name":%q},{"name":%q}]}`, kindAPIGroupsList, karpenterGroup, karpenterAWSGroup)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {applicationJSON}}, Body: io.NopCloser(strings.NewReader(groups)), Request: r}, nil
}

// selectable has the fields of an object by which it is selected.
type selectable struct {
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
	Reason         string `json:"reason"`
	InvolvedObject struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"involvedObject"`
}

func selected(s Store, r resource, namespace string, o metav1.ListOptions) (out []*Item, err error) {
	byLabel, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	byField, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, err
	}
	all, err := s.List(r.kind)
	for _, item := range all {
		of, err := Decode[selectable](item)
		if err != nil {
			return nil, err
		}
		known := fields.Set{
			metav1.ObjectNameField: of.Metadata.Name, "spec.nodeName": of.Spec.NodeName, "status.phase": of.Status.Phase, "reason": of.Reason,
			"involvedObject.kind": of.InvolvedObject.Kind, "involvedObject.name": of.InvolvedObject.Name,
		}
		for _, f := range byField.Requirements() {
			if !known.Has(f.Field) {
				return nil, fmt.Errorf("objects cannot be selected by the field %s", f.Field)
			}
		}
		if (namespace == "" || of.Metadata.Namespace == namespace) && byLabel.Matches(labels.Set(of.Metadata.Labels)) && byField.Matches(known) {
			out = append(out, item)
		}
	}
	return out, err
}

// Refusal returns the error for a Status with which the API server refused to answer, as JSON.
func Refusal(status json.RawMessage) error {
	out := &apierrors.StatusError{}
	if err := json.Unmarshal(status, &out.ErrStatus); err != nil {
		return err
	}
	return out
}

// NewInMemoryClient returns a client that sends every request to rt and nowhere else. rt answers as
// an API server does, with JSON, for the paths and selectors of the questions in this package.
func NewInMemoryClient(rt http.RoundTripper) (*Client, error) {
	return newClient(inMemory(rt, requestTimeout))
}

func inMemory(rt http.RoundTripper, timeout time.Duration) *rest.Config {
	return &rest.Config{
		Host:          "https://in-memory.invalid", // a name that is never resolved: RFC 2606
		Transport:     rt,
		Timeout:       timeout,
		ContentConfig: rest.ContentConfig{ContentType: applicationJSON, AcceptContentTypes: applicationJSON},
	}
}

// NodePages answers a request for one page of the nodes: at most limit of them, starting at the
// token, which is "" for the first page. It returns errors of apimachinery's package [errors] for
// answers of the API server, such as 410 Gone for a token that is too old, and any other error for
// a request without an answer. next is the token of the next page, "" after the last. The client only
// reads the nodes.
//
// [errors]: https://pkg.go.dev/k8s.io/apimachinery/pkg/api/errors
type NodePages func(ctx context.Context, limit int64, continueToken string) (nodes []*NodeObject, next string, err error)

// ItemPages answers a request for the path: for one page of a list, selected by the options, or for
// one object, if the path names it. Each item is as "kubectl get --output json" prints it, without
// managedFields. next is the token of the next page, "" after the last. The errors are those of
// [NodePages]; for a path that the API server does not serve it is a generic 404, as
// [NewGenericServerResponse] returns for an unexpected response. Items of unchanged objects may be
// the same values again.
//
// [NewGenericServerResponse]:
// https://pkg.go.dev/k8s.io/apimachinery/pkg/api/errors#NewGenericServerResponse
type ItemPages func(ctx context.Context, path string, o metav1.ListOptions) (items []*Item, next string, err error)

// NewClientOverPages is [NewInMemoryClient] for a simulated cluster. [Client.Nodes] takes its pages
// from nodes, unchanged; other reads come from items; all other requests go to rt. This avoids
// building lists only to split them again, which would be most of the work of a simulated check.
// Requests have no time limit, since the simulation's time is not the machine's.
func NewClientOverPages(rt http.RoundTripper, nodes NodePages, items ItemPages) (*Client, error) {
	c, err := newClient(inMemory(rt, 0))
	if err != nil {
		return nil, err
	}
	c.nodes = nodes
	if items != nil {
		c.items = func(ctx context.Context, r resource, namespace, name string, o metav1.ListOptions) ([]*Item, string, error) {
			return items(ctx, r.path(namespace, name), o)
		}
	}
	return c, nil
}

// page returns the result of the request for the page.
func (p NodePages) page(ctx context.Context, o *metav1.ListOptions, request func(*metav1.ListOptions) *rest.Request) (nodes []*NodeObject, next string, err error) {
	if err = ctx.Err(); err == nil {
		nodes, next, err = p(ctx, o.Limit, o.Continue)
	}
	if err != nil {
		return nil, "", unanswered(err, request(o))
	}
	return nodes, next, nil
}

// unanswered returns the error of a request without an answer in the form of the HTTP client, which
// [Fault] recognizes.
func unanswered(err error, request *rest.Request) error {
	if _, answered := errors.AsType[apiStatus](err); answered {
		return err
	}
	return &url.Error{Op: "Get", URL: request.URL().String(), Err: err}
}

// pageInMemory reads one object, or one page of a list, without a request, and subtracts its length
// from the budget.
func (c *Client) pageInMemory(ctx context.Context, r resource, namespace, name string, o *metav1.ListOptions, budget *int64) (items []*Item, next string, err error) {
	path := r.path(namespace, name)
	if err = ctx.Err(); err == nil {
		items, next, err = c.items(ctx, r, namespace, name, *o)
	}
	if err != nil {
		return nil, "", unanswered(err, c.rest.Get().AbsPath(path).VersionedParams(o, parameterCodec))
	}
	for _, item := range items {
		if *budget -= int64(len(item.JSON())); *budget < 0 {
			return nil, "", errTooLarge
		}
	}
	trim, some := trimmings[r.kind]
	if !some {
		return items, next, nil
	}
	trimmed := make([]*Item, len(items))
	for i, item := range items {
		if trimmed[i], err = item.trim(trim); err != nil {
			return nil, "", unexpected(path, err)
		}
	}
	return trimmed, next, nil
}
