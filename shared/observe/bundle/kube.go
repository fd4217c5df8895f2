package bundle

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

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// Kube creates clients of the bundle's cluster.
type Kube struct {
	c *contents
}

// Kube returns a dialer for the Kubernetes API's answers in the bundle.
func (b *Bundle) Kube() *Kube { return &Kube{b.c} }

// Dial returns a client that reads the bundle.
func (k *Kube) Dial(roll.Cluster) (*kube.Client, error) {
	return kube.NewInMemoryClient(&transport{k.c})
}

// transport answers requests to a Kubernetes API from files: see kube.NewInMemoryClient.
type transport struct {
	c *contents
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Method != http.MethodGet {
		return nil, errors.New("a bundle cannot be changed")
	}
	if r.URL.Path == "/apis" {
		return t.groups(r)
	}
	q, ok := parsePath(r.URL.Path)
	if !ok {
		return nil, notHeld{&awserr.NotCaptured{What: r.URL.Path}}
	}
	table := t.c.objects(q.resource.file)
	if err := table.missing(); err != nil {
		return nil, notHeld{err}
	}
	if refused, ok := t.c.refused[q.resource.file]; ok {
		return answer(r, refused.code, refused.raw)
	}
	if q.name != "" {
		return q.one(r, table)
	}
	if err := table.listing(); err != nil && q.resource.file != fileNodes {
		return nil, notHeld{err}
	}
	return q.list(r, table)
}

// notHeld is the transport's error for data without a file.
type notHeld struct {
	error
}

// Unwrap returns the errors by which kube and awserr recognize it.
func (e notHeld) Unwrap() []error { return []error{kube.ErrNotCaptured, e.error} }

// query is what a path requests.
type query struct {
	resource        *resource
	namespace, name string
}

// parsePath parses /api/v1/nodes/NAME, /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL and similar
// paths.
func parsePath(p string) (query, bool) {
	segments := strings.Split(strings.TrimPrefix(p, "/"), "/")
	version, rest := "", segments
	switch {
	case len(segments) > 2 && segments[0] == "api":
		version, rest = segments[1], segments[2:]
	case len(segments) > 3 && segments[0] == "apis":
		version, rest = segments[1]+"/"+segments[2], segments[3:]
	default:
		return query{}, false
	}
	var q query
	if len(rest) > 2 && rest[0] == "namespaces" {
		q.namespace, rest = rest[1], rest[2:]
	}
	if len(rest) > 2 {
		return query{}, false
	}
	for i := range served {
		if served[i].plural == rest[0] && served[i].apiVersion() == version {
			q.resource = &served[i]
		}
	}
	if len(rest) == 2 {
		q.name = rest[1]
	}
	return q, q.resource != nil
}

// one answers about one object.
func (q query) one(r *http.Request, t *table[item]) (*http.Response, error) {
	for i := range t.rows {
		o := &t.rows[i]
		if o.Metadata.Name == q.name && o.Metadata.Namespace == q.namespace && q.is(o) {
			if err := t.cutDown(o.key()); err != nil {
				return nil, notHeld{err}
			}
			return answer(r, http.StatusOK, o.raw)
		}
	}
	if q.otherVersion(t) {
		return answer(r, http.StatusNotFound, []byte(`"404 page not found"`))
	}
	if t.listing() != nil {
		return nil, notHeld{t.lacks(q.name)}
	}
	return failure(r, fmt.Sprintf("%s %q not found", q.resource.plural, q.name))
}

func (q query) is(o *item) bool {
	return o.Kind == q.resource.kind && o.APIVersion == q.resource.apiVersion()
}

// otherVersion reports whether the file has objects of the kind only in another version.
func (q query) otherVersion(t *table[item]) bool {
	other := false
	for i := range t.rows {
		if t.rows[i].Kind != q.resource.kind {
			continue
		}
		if q.is(&t.rows[i]) {
			return false
		}
		other = true
	}
	return other
}

// list returns one page of the objects that the selectors select.
func (q query) list(r *http.Request, t *table[item]) (*http.Response, error) {
	if q.otherVersion(t) {
		return answer(r, http.StatusNotFound, []byte(`"404 page not found"`))
	}
	selects, err := kube.Selects(r.URL.Query().Get("labelSelector"), r.URL.Query().Get("fieldSelector"), &item{})
	if err != nil {
		return nil, err
	}
	var chosen []*item
	for i := range t.rows {
		o := &t.rows[i]
		if q.is(o) && (q.namespace == "" || o.Metadata.Namespace == q.namespace) && selects(o.Metadata.Labels, o) {
			chosen = append(chosen, o)
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	chosen = chosen[min(max(from, 0), len(chosen)):]
	next := ""
	if limit > 0 && len(chosen) > limit {
		chosen, next = chosen[:limit], strconv.Itoa(from+limit)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"apiVersion":%q,"kind":%q,"metadata":{"continue":%q},"items":[`, q.resource.apiVersion(), q.resource.kind+"List", next)
	for i, o := range chosen {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(o.raw)
	}
	b.WriteString("]}")
	return answer(r, http.StatusOK, b.Bytes())
}

// Get returns the value of a field by which package kube selects objects.
func (i *item) Get(field string) string { value, _ := i.field(field); return value }

// Has reports whether objects can be selected by the field.
func (i *item) Has(field string) bool { _, ok := i.field(field); return ok }

func (i *item) field(name string) (value string, ok bool) {
	switch name {
	case "metadata.name":
		return i.Metadata.Name, true
	case "metadata.namespace":
		return i.Metadata.Namespace, true
	case "spec.nodeName":
		return i.Spec.NodeName, true
	case "involvedObject.kind":
		return i.InvolvedObject.Kind, true
	case "reason":
		return i.Reason, true
	case "involvedObject.name":
		return i.InvolvedObject.Name, true
	}
	return "", false
}

// groups returns the API groups. It is called only after a kind was not served in the requested
// version.
func (t *transport) groups(r *http.Request) (*http.Response, error) {
	type group struct {
		Name string `json:"name"`
	}
	list := struct {
		APIVersion string  `json:"apiVersion"`
		Kind       string  `json:"kind"`
		Groups     []group `json:"groups"`
	}{APIVersion: "v1", Kind: "APIGroupList", Groups: []group{}}
	for _, s := range served {
		if s.group != "" && len(t.c.objects(s.file).rows) > 0 && !slices.Contains(list.Groups, group{s.group}) {
			list.Groups = append(list.Groups, group{s.group})
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return answer(r, http.StatusOK, body)
}

func failure(r *http.Request, message string) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusNotFound, "reason": "NotFound", "message": message,
	})
	if err != nil {
		return nil, err
	}
	return answer(r, http.StatusNotFound, body)
}

func answer(r *http.Request, code int, body []byte) (*http.Response, error) {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// readNodes reads nodes as a check does.
func readNodes(nodes []item) error {
	t := newTable(fileNodes, (*item).key)
	t.put(nodes...)
	c := &contents{files: map[string]filed{fileNodes: t}}
	client, err := kube.NewInMemoryClient(&transport{c})
	if err != nil {
		return err
	}
	return client.Nodes(context.Background(), roll.Watch{}, func(roll.Node) {}, func() {})
}
