package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/tests/harness/expect"
)

// one is a store with one object, whatever its kind.
type one struct{ *Item }

func (o one) Get(string, string, string) (*Item, error) { return o.Item, nil }
func (o one) List(string) ([]*Item, error)              { return []*Item{o.Item}, nil }

func TestWhatSelectorsSelect(t *testing.T) {
	of := one{NewItem([]byte(`{"metadata":{"name":"x","namespace":"s","labels":{"a":"b","c":"d","karpenter.sh/x":"p1","y":""}},"spec":{"nodeName":"n"},"reason":"r"}`))}
	for _, tt := range []struct {
		labels, fields, namespace string
		want                      bool
	}{
		{"", "", "", true},
		{"", "", "s", true},
		{"", "", "other", false},
		{"a=b", "", "", true},
		{"a=b,c==d", "", "", true},
		{"a=b,c=e", "", "", false},
		{"a in (b,c)", "", "", true},
		{"a in (x),c=d", "", "", false},
		{"c=d,a in (b,e)", "", "", true},
		{"karpenter.sh/x in (p1,p2),y=", "", "", true},
		{"z=1", "", "", false},
		{"", "spec.nodeName=n", "", true},
		{"", "metadata.name=x,spec.nodeName=n", "", true},
		{"", "spec.nodeName=n,reason=other", "", false},
		{"a=x", "spec.nodeName=n", "", false},
	} {
		got, err := selected(of, resourcePod, tt.namespace, metav1.ListOptions{LabelSelector: tt.labels, FieldSelector: tt.fields})
		expect.That(t, err == nil && len(got) == 1 == tt.want, "%q and %q: %v, want %v", tt.labels, tt.fields, err, tt.want)
	}
	for _, bad := range []struct{ labels, fields string }{{"a in (", ""}, {"", "spec.nodeName"}, {"", "metadata.uid=1"}} {
		_, err := selected(of, resourcePod, "", metav1.ListOptions{LabelSelector: bad.labels, FieldSelector: bad.fields})
		expect.That(t, err != nil, "%q and %q: no error", bad.labels, bad.fields)
	}
}
