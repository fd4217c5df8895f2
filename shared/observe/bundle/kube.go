package bundle

import (
	"context"
	"slices"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// Kube returns a dialer for the Kubernetes API's answers in the bundle.
func (b *Bundle) Kube() DialerFunc {
	return func(roll.Cluster) (*kube.Client, error) { return kube.NewStoreClient(store{b.c}) }
}

// store returns the objects in the files: see kube.Store.
type store struct {
	c *contents
}

// notHeld is the store's error for data without a file.
type notHeld struct {
	error
}

// Unwrap returns the errors by which kube and awserr recognize it.
func (e notHeld) Unwrap() []error { return []error{kube.ErrNotCaptured, e.error} }

// of returns the file with the objects of a kind, and those of them in the version that is served.
func (s store) of(kind string) (*table[item], []*item, error) {
	r := servedAs(kind)
	if r == nil {
		return nil, nil, notHeld{&awserr.NotCaptured{What: kind}}
	}
	t := s.c.objects(r.file)
	if err := t.missing(); err != nil {
		return nil, nil, notHeld{err}
	}
	if refused, ok := s.c.refused[r.file]; ok {
		return nil, nil, kube.Refusal(refused.raw)
	}
	var all []*item
	other := false
	for i := range t.rows {
		switch o := &t.rows[i]; {
		case o.Kind != kind:
		case o.APIVersion == r.apiVersion:
			all = append(all, o)
		default:
			other = true
		}
	}
	if other && len(all) == 0 {
		return nil, nil, kube.ErrOtherVersion
	}
	return t, all, nil
}

// Get implements kube.Store.
func (s store) Get(kind, namespace, name string) (*kube.Item, error) {
	t, all, err := s.of(kind)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(o *item) bool { return o.Metadata.Name == name && o.Metadata.Namespace == namespace })
	switch {
	case at < 0 && t.listing() != nil:
		return nil, notHeld{t.lacks(name)}
	case at < 0:
		return nil, nil
	}
	if err := t.cutDown(all[at].key()); err != nil {
		return nil, notHeld{err}
	}
	return all[at].object, nil
}

// List implements kube.Store.
func (s store) List(kind string) ([]*kube.Item, error) {
	t, all, err := s.of(kind)
	if err != nil {
		return nil, err
	}
	if err := t.listing(); err != nil && t.file != fileNodes {
		return nil, notHeld{err}
	}
	out := make([]*kube.Item, len(all))
	for i := range all {
		out[i] = all[i].object
	}
	return out, nil
}

// readNodes reads nodes as a check does.
func readNodes(nodes []item) error {
	t := newTable(fileNodes, (*item).key)
	t.put(nodes...)
	client, err := kube.NewStoreClient(store{&contents{files: map[string]filed{fileNodes: t}}})
	if err != nil {
		return err
	}
	return client.Nodes(context.Background(), roll.Watch{}, func(roll.Node) {}, func() {})
}
