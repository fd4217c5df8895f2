package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// kubeDialer makes an execution environment's Kubernetes clients. It replaces *kube.Dialer.
type kubeDialer struct{ v *env }

// Dial prepares a client and sends nothing, so it succeeds even for a deleted cluster.
func (k kubeDialer) Dial(to roll.Cluster) (*kube.Client, error) {
	if to.Endpoint == "" {
		return nil, fmt.Errorf("reach the Kubernetes API of %s: %w", to.ID.Name, kube.ErrNoEndpoint)
	}
	if known := k.v.kube[to.ID.Name]; known != nil {
		return known, nil
	}
	api := &kubeAPI{v: k.v, name: to.ID.Name}
	client, err := kube.NewClientOverPages(api, api.nodePage, api.itemPage)
	if k.v.kube == nil {
		k.v.kube = map[string]*kube.Client{}
	}
	k.v.kube[to.ID.Name] = client
	return client, err
}

// kubeAPI is the Kubernetes API of a cluster for one client. It serves one request at a time.
type kubeAPI struct {
	v    *env
	name string // of the cluster
	// nodes and items are the latest listings. A client never has two in progress.
	nodes   listing[*corev1.Node]
	reduced []*kube.NodeObject // the nodes that are left of their listing, as the product reads them
	items   listing[*kube.Item]
}

// listing is a paged list, with the objects as of its first page.
type listing[T any] struct {
	of   *cluster
	next string // the continue token of the next page
	rest []T
}

func (l *listing[T]) page(limit int) ([]T, string) {
	if limit <= 0 || limit >= len(l.rest) {
		all := l.rest
		*l = listing[T]{}
		return all, ""
	}
	some := l.rest[:limit:limit]
	l.rest = l.rest[limit:]
	l.next = fmt.Sprintf("%d.%d", l.of.version, len(l.rest))
	return some, l.next
}

// resume returns nil if the listing continues with that token, otherwise the error.
func (l *listing[T]) resume(q *kubeQuery, token string) error {
	if l.of != q.c || l.next != token || q.api.v.a.weather.compacted(q.c.a.Now(), q.c.name, q.d) {
		*l = listing[T]{}
		return apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.")
	}
	return nil
}

type kubeQuery struct {
	api                      *kubeAPI
	verb                     string // as in RBAC
	group, version, resource string // for /apis itself, the resource is /apis
	namespace, name, sub     string
	selectors                metav1.ListOptions // of a list, with its paging options
	body                     []byte

	// Set once the request arrives.
	c *cluster
	d dice
}

// send sends the request, which takes time and may fail. serve is the API server's part of it.
func (q *kubeQuery) send(ctx context.Context, serve func() error) error {
	v, kind := q.api.v, writes
	if q.verb == "get" || q.verb == "list" {
		kind = reads
	}
	target := q.resource
	if q.sub != "" {
		target += "/" + q.sub
	}
	err := v.call(ctx, "kubernetes:"+q.verb+" "+target, kind, q.api.name, func() error {
		q.c = v.a.byName[q.api.name]
		if q.c == nil || !q.c.exists() {
			return unresolved(q.c, q.api.name)
		}
		if q.c.barred {
			return apierrors.NewUnauthorized("Unauthorized")
		}
		q.d = q.dice()
		return serve()
	})
	if err != nil {
		q.d = q.dice()
		return q.told(err)
	}
	return nil
}

func (q *kubeQuery) dice() dice {
	inv := q.api.v.inv
	return inv.d.of("kubernetes").nth(inv.calls)
}

func (k *kubeAPI) nodePage(ctx context.Context, limit int64, token string) (nodes []*kube.NodeObject, next string, err error) {
	q := &kubeQuery{api: k, verb: "list", version: "v1", resource: "nodes"}
	var page []*corev1.Node
	err = q.send(ctx, func() error {
		if token == "" {
			k.nodes = listing[*corev1.Node]{of: q.c, rest: q.c.listNodes()}
			k.reduced = q.c.reduced
		} else if err := k.nodes.resume(q, token); err != nil {
			return err
		}
		page, next = k.nodes.page(k.v.pageSize(int(limit), len(q.c.nodes)))
		nodes, k.reduced = k.reduced[:len(page):len(page)], k.reduced[len(page):]
		return nil
	})
	k.v.inv.sawNodes(page, token == "", err == nil && next == "", err == nil)
	return nodes, next, err
}

// nodeOf returns the fields of a node that the product reads.
func nodeOf(n *corev1.Node) *kube.NodeObject {
	out := &kube.NodeObject{ObjectMeta: n.ObjectMeta, Spec: kube.NodeSpec{ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable}}
	for _, t := range n.Spec.Taints {
		out.Spec.Taints = append(out.Spec.Taints, kube.NodeTaint{Key: t.Key, Value: t.Value, Effect: string(t.Effect), TimeAdded: t.TimeAdded})
	}
	for _, c := range n.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, kube.Condition{Type: string(c.Type), Status: string(c.Status), LastTransitionTime: c.LastTransitionTime, Reason: c.Reason})
	}
	return out
}

// itemPage returns a page of a list of any other kind, or one object; it is a kube.ItemPages.
func (k *kubeAPI) itemPage(ctx context.Context, path string, o metav1.ListOptions) (items []*kube.Item, next string, err error) {
	q := &kubeQuery{api: k, verb: "list", selectors: o}
	q.locate(path)
	if q.name != "" {
		q.verb = "get"
	}
	err = q.send(ctx, func() error {
		if q.name == "" {
			items, next, err = q.page()
			return err
		}
		one, err := q.get()
		items = []*kube.Item{one}
		return err
	})
	if errors.Is(err, errUnserved) {
		err = apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, schema.GroupResource{}, "", errUnserved.Error(), 0, true)
	}
	return items, next, err
}

// RoundTrip answers a request with JSON; it is an http.RoundTripper.
func (k *kubeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	q, err := k.query(r)
	if err != nil {
		return nil, err
	}
	var answer any
	err = q.send(r.Context(), func() (err error) {
		answer, err = q.serve()
		return err
	})
	if errors.Is(err, errUnserved) {
		return respond(r, http.StatusNotFound, "text/plain; charset=utf-8", []byte(errUnserved.Error()+"\n")), nil
	}
	code := http.StatusOK
	if q.verb == "create" {
		code = http.StatusCreated
	}
	if status := statusOf(err); status != nil {
		answer, code, err = status, int(status.Code), nil
	}
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return respond(r, code, "application/json", body), nil
}

func respond(r *http.Request, code int, kind string, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}, "Content-Length": {strconv.Itoa(len(body))}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}
}

// query parses a request for a path such as /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUB.
func (k *kubeAPI) query(r *http.Request) (*kubeQuery, error) {
	q := &kubeQuery{api: k}
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
		var err error
		if q.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	q.locate(r.URL.Path)
	switch r.Method {
	case http.MethodGet:
		q.verb = "get"
		if q.name == "" && !strings.HasPrefix(q.resource, "/") {
			q.verb = "list"
		}
	case http.MethodPost:
		q.verb = "create"
	default:
		q.verb = strings.ToLower(r.Method) // patch, delete
	}
	return q, nil
}

func (q *kubeQuery) locate(path string) {
	rest := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(rest) > 2 && rest[0] == "api":
		q.version, rest = rest[1], rest[2:]
	case len(rest) > 3 && rest[0] == "apis":
		q.group, q.version, rest = rest[1], rest[2], rest[3:]
	default:
		q.resource, rest = "/"+strings.Join(rest, "/"), nil
	}
	if len(rest) > 2 && rest[0] == "namespaces" {
		q.namespace, rest = rest[1], rest[2:]
	}
	for i, part := range []*string{&q.resource, &q.name, &q.sub} {
		if i < len(rest) {
			*part = rest[i]
		}
	}
}

var karpenterGroups = []string{"karpenter.k8s.aws", "karpenter.sh"} // Karpenter's API groups

func (c *cluster) hasKarpenter() bool {
	return slices.ContainsFunc(c.groups, func(g *group) bool { return g.owner == karpenter })
}

func (q *kubeQuery) path() string {
	what := strings.TrimPrefix(q.group+"/"+q.version+"/"+q.resource, "/")
	if q.sub != "" {
		what += "/" + q.sub
	}
	return what
}

func (q *kubeQuery) served() bool {
	return !slices.Contains(karpenterGroups, q.group) || q.c.hasKarpenter()
}

func (q *kubeQuery) serve() (any, error) {
	if !q.served() {
		return nil, errUnserved
	}
	switch q.verb {
	case "get":
		if q.resource == "/apis" {
			return q.c.apiGroups(), nil
		}
		if one, ok := kubeObjects[q.path()]; ok {
			return one(q)
		}
	default:
		if change, ok := kubeChanges[q.verb+" "+q.path()]; ok {
			return change(q)
		}
	}
	return nil, errUnserved
}

func (q *kubeQuery) get() (*kube.Item, error) {
	if n := q.c.byNode[q.name]; n != nil && q.path() == "v1/nodes" {
		return n.item()
	}
	object, err := q.serve()
	if err != nil {
		return nil, err
	}
	return q.c.a.item(object)
}

func (q *kubeQuery) page() (items []*kube.Item, next string, err error) {
	list, ok := kubeLists[q.path()]
	switch {
	case !ok, !q.served():
		err = errUnserved
	case q.selectors.Continue != "":
		err = q.api.items.resume(q, q.selectors.Continue)
	default:
		all := kubeList{a: q.c.a}
		list(q, &all)
		q.api.items, err = listing[*kube.Item]{of: q.c, rest: all.items}, all.err
	}
	if err != nil {
		return nil, "", err
	}
	items, next = q.api.items.page(int(q.selectors.Limit))
	return items, next, nil
}

// done returns the answer to a change without an object to return.
func done() any {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
}

// decode decodes the request's body. It rejects unknown fields, so that none is silently ignored.
func (q *kubeQuery) decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(q.body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the simulated API server does not take %s: %v", q.body, err))
	}
	return nil
}
