package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"rollcall/shared/roll"
)

// PageSize is the number of objects requested at once. It limits peak memory to that of one page,
// about 8 MB of protobuf.
const PageSize = 500

// requestTimeout bounds one request, including one to an API server that accepts the connection and
// never answers.
const requestTimeout = 30 * time.Second

const protobuf = "application/vnd.kubernetes.protobuf"

// scheme has the core types only. The clientset would add every API group to a binary that needs
// nodes and pods.
var (
	scheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		if err := corev1.AddToScheme(s); err != nil {
			panic(err) // the types are compiled in; this cannot depend on input
		}
		return s
	}()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

// Dialer creates clients for clusters.
type Dialer struct {
	tokens *TokenSource
	agent  string
	// Wrap wraps the transport of the clients' requests, for each try separately. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// NewDialer returns a dialer whose clients authenticate with the tokens and appear as userAgent in
// the cluster's audit log.
func NewDialer(tokens *TokenSource, userAgent string) *Dialer {
	return &Dialer{tokens: tokens, agent: userAgent}
}

// ErrNoEndpoint means that the cluster has no Kubernetes API yet, or no longer.
var ErrNoEndpoint = errors.New("eks:DescribeCluster names no endpoint")

// Dial returns a client for the cluster. It sends nothing yet.
func (d *Dialer) Dial(c roll.Cluster) (*Client, error) {
	if c.Endpoint == "" {
		return nil, fmt.Errorf("reach the Kubernetes API of %s: %w", c.ID.Name, ErrNoEndpoint)
	}
	return NewClient(c.Endpoint, c.CA, d.agent, func(next http.RoundTripper) http.RoundTripper {
		if d.Wrap != nil {
			next = d.Wrap(next)
		}
		return &bearer{source: d.tokens, cluster: c.ID.Name, next: next}
	})
}

// Client reads and changes one cluster.
type Client struct {
	rest  rest.Interface
	nodes NodePages                      // replaces requests for pages of nodes; may be nil
	items ItemPages                      // replaces requests for pages of other objects; may be nil
	note  func(Question, []*Item, error) // called for every ReadEach; may be nil
}

// NewClient returns a client for an endpoint whose certificate ca signs. wrap adds the
// authentication; nil adds none.
func NewClient(endpoint string, ca []byte, userAgent string, wrap func(http.RoundTripper) http.RoundTripper) (*Client, error) {
	return newClient(&rest.Config{
		Host:            endpoint,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
		UserAgent:       userAgent,
		WrapTransport:   wrap,
		Timeout:         requestTimeout,
		ContentConfig:   rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf + ",application/json"},
	})
}

// newClient returns a client from the parts that differ between a cluster and a transport in
// memory.
func newClient(cfg *rest.Config) (*Client, error) {
	cfg.APIPath = "/api"
	cfg.QPS = -1 // requests are few and sequential
	cfg.GroupVersion = &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare a client for %s: %w", cfg.Host, err)
	}
	return &Client{rest: client}, nil
}

// Nodes lists every node, page by page, and passes each to yield, with the fields that watch names.
// If the server abandons the listing (410 Gone), Nodes calls restart, so that the caller discards
// the nodes it received, and lists once more from the start. After an error the nodes passed so far
// are incomplete.
func (c *Client) Nodes(ctx context.Context, watch roll.Watch, yield func(roll.Node), restart func()) error {
	p := &projector{watch: watch}
	return listNodes.failed(again(restart, func() error {
		return eachPage(func(o *metav1.ListOptions) (string, error) { return c.nodePage(ctx, o, p, yield) })
	}))
}

// nodePage requests one page of the nodes, and returns the token of the next.
func (c *Client) nodePage(ctx context.Context, o *metav1.ListOptions, p *projector, yield func(roll.Node)) (next string, err error) {
	request := c.rest.Get().Resource("nodes").VersionedParams(o, parameterCodec)
	var page runtime.Object
	if c.nodes != nil {
		page, err = c.nodes.page(ctx, o, request)
	} else {
		result := request.Do(ctx)
		if data, failed := result.Raw(); failed == nil {
			if nodes, next, err := p.nodePageOf(data); err == nil {
				for _, n := range nodes {
					yield(n)
				}
				return next, nil
			}
		}
		page, err = result.Get()
	}
	if err != nil {
		return "", err
	}
	return eachNode(page, func(n *corev1.Node) { yield(p.node(n)) })
}

// eachNode passes on the nodes of one page and returns the token of the next one. An answer that is
// not a list of nodes is an error: it must not count as an empty list.
func eachNode(page runtime.Object, yield func(*corev1.Node)) (next string, err error) {
	switch page := page.(type) {
	case *corev1.NodeList:
		for i := range page.Items {
			yield(&page.Items[i])
		}
		return page.Continue, nil
	case *corev1.List: // as kubectl prints one
		for i := range page.Items {
			var n corev1.Node
			if err := runtime.DecodeInto(codecs.UniversalDeserializer(), page.Items[i].Raw, &n); err != nil {
				return "", fmt.Errorf("item %d of the list is no node: %w", i+1, err)
			}
			yield(&n)
		}
		return page.Continue, nil
	}
	return "", fmt.Errorf("the answer is a %T, not a list of nodes", page)
}

// again lists once more from the start if the server abandoned the listing.
func again(restart func(), list func() error) error {
	err := list()
	if apierrors.IsResourceExpired(err) {
		restart()
		err = list()
	}
	return err
}

// eachPage requests page after page until there is no next one. resourceVersion stays unset: with
// "0" the server ignores the limit.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func eachPage(page func(*metav1.ListOptions) (next string, err error)) error {
	options := metav1.ListOptions{Limit: PageSize}
	for {
		next, err := page(&options)
		if err != nil {
			return err
		}
		if options.Continue = next; next == "" {
			return nil
		}
	}
}
