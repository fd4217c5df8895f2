package kube

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// ErrNotCaptured is wrapped by the error of a transport in memory that does not hold the requested
// data, so that the error does not count as "there is none". [Fault] returns the transport's own
// text.
var ErrNotCaptured = errors.New("it was not captured")

// NewInMemoryClient returns a client that sends every request to rt and nowhere else, for a cluster
// that exists only in files. It can read; changes are up to rt.
//
// rt answers GET requests with JSON of Content-Type application/json. Bodies are objects, or lists
// of the kind "List", as kubectl prints them, or "NodeList" and the like, as the API server returns
// them. Pages are requested with limit and continue, but rt may answer with all objects at once. rt
// applies the selectors itself:
//
//	/api/v1/nodes
//	/api/v1/nodes/NAME
//	/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases
//	/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/NODE
//	/api/v1/namespaces/kube-system/configmaps/aws-auth
//	/api/v1/events?fieldSelector=involvedObject.kind=Node,involvedObject.name=NAME
//	/api/v1/events?fieldSelector=involvedObject.kind=NodeClaim,involvedObject.name=NAME
//	/api/v1/events?fieldSelector=involvedObject.kind=NodeClaim,reason=InsufficientCapacityError
//	/api/v1/namespaces/NAMESPACE/events?fieldSelector=involvedObject.kind=Pod,involvedObject.name=NAME
//	/api/v1/pods?fieldSelector=spec.nodeName=NODE
//	/api/v1/namespaces/NAMESPACE/pods?labelSelector=KEY=VALUE,KEY=VALUE
//	/api/v1/persistentvolumes
//	/api/v1/serviceaccounts?fieldSelector=metadata.name=karpenter
//	/apis/policy/v1/poddisruptionbudgets
//	/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh/nodepool=POOL
//	/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh/nodepool in (POOL,POOL)
//	/apis/karpenter.sh/v1/nodepools/NAME
//	/apis/karpenter.k8s.aws/v1/ec2nodeclasses/NAME
//	/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations
//	/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations
//	/apis/discovery.k8s.io/v1/namespaces/NAMESPACE/endpointslices?labelSelector=kubernetes.io/service-name=SERVICE
//	/apis
//
// The selectors are shown unescaped. All items of an answer have the kind and version in the path.
// For an object that certainly does not exist the answer is a 404 with a Status:
//
//	{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "nodes \"NAME\" not found"}
//
// A 404 with any other body means that the path is not served. /apis answers with an APIGroupList,
// which shows whether the API group is served. For data that it does not hold rt returns an error
// that wraps [ErrNotCaptured].
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
	c.nodes, c.items = nodes, items
	return c, nil
}

// page returns the result of the request for the page.
func (p NodePages) page(ctx context.Context, o *metav1.ListOptions, request *rest.Request) (nodes []*NodeObject, next string, err error) {
	if err = ctx.Err(); err == nil {
		nodes, next, err = p(ctx, o.Limit, o.Continue)
	}
	if err != nil {
		return nil, "", unanswered(err, request)
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

// pageInMemory reads one page of a list without a request, and subtracts its length from the
// budget.
func (c *Client) pageInMemory(ctx context.Context, path string, o *metav1.ListOptions, trim *trimming, budget *int64) (items []*Item, next string, err error) {
	if err = ctx.Err(); err == nil {
		items, next, err = c.items(ctx, path, *o)
	}
	if err != nil {
		return nil, "", unanswered(err, c.rest.Get().AbsPath(path).VersionedParams(o, parameterCodec))
	}
	for _, item := range items {
		if *budget -= int64(len(item.JSON())); *budget < 0 {
			return nil, "", errTooLarge
		}
	}
	if trim == nil {
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
