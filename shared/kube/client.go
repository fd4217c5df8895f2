package kube

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"rollcall/shared/roll"
)

// PageSize is the number of objects requested at once. It limits peak memory to that of one page,
// about 8 MB of protobuf.
const PageSize = 500

// requestTimeout bounds one request, including one to an API server that accepts the connection and
// never answers.
const requestTimeout = 30 * time.Second

// connectTimeout bounds the connection to an API server. From outside its network a private endpoint
// drops what is sent to it: with the 30 seconds of client-go, a few such clusters would keep all
// executions of a function busy.
const connectTimeout = 5 * time.Second

// connecting is one value for all clients: client-go shares the connections of clients with the same one.
var connecting = &transport.DialHolder{Dial: (&net.Dialer{Timeout: connectTimeout}).DialContext}

const protobuf = "application/vnd.kubernetes.protobuf"

// scheme has options and errors only: objects are decoded by this package. Registering a type links
// all of its methods and those of its fields, and takes time at each start.
var (
	coreV1 = schema.GroupVersion{Version: "v1"}
	scheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		metav1.AddToGroupVersion(s, coreV1)
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
		// https://docs.aws.amazon.com/cli/latest/reference/eks/get-token.html
		return &bearer{source: d.tokens, cluster: cmp.Or(c.LocalID, c.ID.Name), next: next}
	})
}

// Client reads and changes one cluster.
type Client struct {
	rest  rest.Interface
	nodes NodePages // replaces requests for pages of nodes; may be nil
	// items replaces requests for pages of objects; may be nil.
	items func(ctx context.Context, r resource, namespace, name string, o metav1.ListOptions) (items []*Item, next string, err error)
	note  func(Question, []*Item, error) // called for every Read; may be nil
	first *Client                        // is asked before this one; may be nil
}

// Behind returns a client whose [Client.Read] asks first, and c for what first does not hold
// ([ErrNotCaptured]).
func (c *Client) Behind(first *Client) *Client {
	behind := *c
	behind.first = first
	return &behind
}

// Noting returns the same client, which also passes every [Client.Read] to
// note: the question, and the objects of the answer or the error. It is for a capture, and is safe
// for concurrent use if the client is.
func (c *Client) Noting(note func(Question, []*Item, error)) *Client {
	return &Client{rest: c.rest, nodes: c.nodes, items: c.items, note: note}
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
	cfg.GroupVersion = &coreV1
	cfg.NegotiatedSerializer = codecs.WithoutConversion()
	client, err := connected(cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare a client for %s: %w", cfg.Host, err)
	}
	return &Client{rest: client}, nil
}

func connected(cfg *rest.Config) (rest.Interface, error) {
	trip, err := cfg.TransportConfig()
	if err != nil {
		return nil, err
	}
	trip.DialHolder = connecting
	over, err := transport.New(trip)
	if err != nil {
		return nil, err
	}
	return rest.RESTClientForConfigAndClient(cfg, &http.Client{Transport: over, Timeout: cfg.Timeout, CheckRedirect: stay})
}

// stay refuses to follow a redirect. No resource of the Kubernetes API redirects, and the token would go along, to a host
// whose certificate the cluster's CA need not have signed.
func stay(next *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it redirects to %s, which is not followed", next.URL.Redacted())
}

// Nodes lists every node, page by page, and passes each to yield, with the fields that watch names.
// If the server abandons the listing (410 Gone), Nodes calls restart, so that the caller discards
// the nodes it received, and lists once more from the start. After an error the nodes passed so far
// are incomplete.
func (c *Client) Nodes(ctx context.Context, watch roll.Watch, yield func(roll.Node), restart func()) error {
	p := &projector{watch: watch}
	return listNodes.failed(eachPage(restart, func(o *metav1.ListOptions) (string, error) { return c.nodePage(ctx, o, p, yield) }))
}

func (c *Client) nodesRequest(o *metav1.ListOptions) *rest.Request {
	return c.rest.Get().Resource("nodes").VersionedParams(o, parameterCodec)
}

// nodePage requests one page of the nodes, and returns the token of the next. What is not read from
// the wire is requested again as JSON.
func (c *Client) nodePage(ctx context.Context, o *metav1.ListOptions, p *projector, yield func(roll.Node)) (next string, err error) {
	if c.nodes != nil {
		page, next, err := c.nodes.page(ctx, o, c.nodesRequest)
		for _, n := range page {
			yield(p.node(n))
		}
		return next, err
	}
	if c.items != nil {
		page, next, err := readList[NodeObject](ctx, c, resourceNode, o)
		for _, n := range page {
			yield(p.node(n))
		}
		return next, err
	}
	body, err := open(ctx, c.nodesRequest(o))
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	arriving := &arriving{Reader: body}
	p.in.Reset(arriving)
	begin, _ := p.in.Peek(len(envelope)) // arriving keeps the error
	wired := bytes.Equal(begin, envelope)
	var nodes []roll.Node
	var data []byte
	if wired {
		nodes, next, err = p.nodePageOf(&p.in)
	} else {
		data, err = io.ReadAll(&p.in)
	}
	// A server that stops may end its answer as if it were complete.
	if broke := cmp.Or(arriving.err, ctx.Err()); broke != nil {
		return "", fmt.Errorf("the list of nodes broke off: %w", broke)
	}
	if wired && err == nil {
		for _, n := range nodes {
			yield(n)
		}
		return next, nil
	}
	if wired {
		data, err = c.get(ctx, resourceNode.path("", ""), o)
	}
	if err != nil {
		return "", err
	}
	page, next, err := listOf[NodeObject](data, resourceNode)
	if err != nil {
		return "", unexpected(resourceNode.path("", ""), err)
	}
	for i := range page {
		if kind := page[i].Kind; kind != "" && kind != resourceNode.kind {
			return "", fmt.Errorf("item %d of the list is no node but a %q", i+1, kind)
		}
		yield(p.node(&page[i]))
	}
	return next, nil
}

// arriving keeps the error with which an answer broke off.
type arriving struct {
	io.Reader
	err error
}

func (a *arriving) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		a.err = err
	}
	return n, err
}

// attempts is how often a request is sent whose connection is lost before the answer, as by [rest.Request.Do].
const attempts = 3

// open sends a request, and returns its answer to read.
func open(ctx context.Context, request *rest.Request) (body io.ReadCloser, err error) {
	for range attempts {
		body, err = request.Stream(ctx)
		if !utilnet.IsConnectionReset(err) && !utilnet.IsProbableEOF(err) && !utilnet.IsHTTP2ConnectionLost(err) {
			break
		}
	}
	return body, err
}

// eachPage requests page after page until there is no next one, and once more from the start if the
// server abandons the listing. resourceVersion stays unset: with "0" the server ignores the limit.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func eachPage(restart func(), page func(*metav1.ListOptions) (next string, err error)) error {
	list := func() error {
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
	err := list()
	if apierrors.IsResourceExpired(err) {
		restart()
		err = list()
	}
	return err
}
