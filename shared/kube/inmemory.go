package kube

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// ErrNotCaptured is wrapped by the error of a transport in memory that holds nothing about
// what it is asked for, so that this is not taken for "there is none". [Fault] tells the
// transport's own words.
var ErrNotCaptured = errors.New("it was not captured")

// NewInMemoryClient makes a client that sends every request to rt and nowhere else: for a
// cluster that is not there, but in files. It can read; what it would change is up to rt.
//
// rt answers GET requests with JSON of Content-Type application/json. Bodies are the
// objects, or lists of the kind "List", as kubectl prints them, or "NodeList" and the
// like, as the API server does. Pages are asked for by limit and continue, but rt may
// answer with all at once. It selects by itself:
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
// The selectors stand unescaped here. The items of an answer are all of the kind and
// version in the path. An object that is certainly not there is a 404 with a Status:
//
//	{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "nodes \"NAME\" not found"}
//
// A 404 with anything else says that the path is not served; whether its API group is,
// /apis tells with an APIGroupList. For what it does not hold rt returns an error that
// wraps [ErrNotCaptured].
func NewInMemoryClient(rt http.RoundTripper) (*Client, error) {
	return newClient(inMemory(rt, requestTimeout))
}

func inMemory(rt http.RoundTripper, timeout time.Duration) *rest.Config {
	return &rest.Config{
		Host:          "https://in-memory.invalid", // a name that is never looked up: RFC 2606
		Transport:     rt,
		Timeout:       timeout,
		ContentConfig: rest.ContentConfig{ContentType: applicationJSON, AcceptContentTypes: applicationJSON},
	}
}

// NodePages answers a request for one page of the nodes: at most limit of them, from where
// the token says, which is "" for the first. The errors are those of [errors] of
// apimachinery for what the API server answers, such as 410 Gone to a token that is too
// old, and any other for a request without an answer. The client only reads the page.
//
// [errors]: https://pkg.go.dev/k8s.io/apimachinery/pkg/api/errors
type NodePages func(ctx context.Context, limit int64, continueToken string) (*corev1.NodeList, error)

// ItemPages answers a request for what is at the path: for one page of a list, of what the
// options choose, or for one object, where the path names it. Each item is as "kubectl get
// --output json" prints it, without managedFields; next is the token of the next page, "" after the last. The errors
// are those of [NodePages]; what the API server has no path for is a generic 404, as
// [NewGenericServerResponse] makes it of an unexpected response. Items of objects that did
// not change may be the same ones again.
//
// [NewGenericServerResponse]: https://pkg.go.dev/k8s.io/apimachinery/pkg/api/errors#NewGenericServerResponse
type ItemPages func(ctx context.Context, path string, o metav1.ListOptions) (items []*Item, next string, err error)

// NewClientOverPages is [NewInMemoryClient] for a cluster that is simulated: [Client.Nodes]
// takes its pages from nodes, as they are, what else is read comes from items, and the
// rest goes to rt. Putting lists together in order to take them apart again is most of what
// a simulated check would do. No time limit of its own bounds a request, since the answers
// come in a time that is not the machine's.
func NewClientOverPages(rt http.RoundTripper, nodes NodePages, items ItemPages) (*Client, error) {
	c, err := newClient(inMemory(rt, 0))
	if err != nil {
		return nil, err
	}
	c.nodes, c.items = nodes, items
	return c, nil
}

// page is what the request for the page comes to.
func (p NodePages) page(ctx context.Context, o *metav1.ListOptions, request *rest.Request) (runtime.Object, error) {
	err := ctx.Err()
	if err == nil {
		var page *corev1.NodeList
		if page, err = p(ctx, o.Limit, o.Continue); err == nil {
			return page, nil
		}
	}
	return nil, unanswered(err, request)
}

// unanswered tells of a request without an answer as the HTTP client does, by which [Fault]
// knows it.
func unanswered(err error, request *rest.Request) error {
	if _, answered := errors.AsType[apiStatus](err); answered {
		return err
	}
	return &url.Error{Op: "Get", URL: request.URL().String(), Err: err}
}

// pageInMemory asks for one page of a list without a request, and takes its length off the
// budget.
func (c *Client) pageInMemory(ctx context.Context, path string, o *metav1.ListOptions, trim func(object) error, budget *int64) (items []*Item, next string, err error) {
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
