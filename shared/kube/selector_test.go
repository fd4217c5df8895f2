package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/fields"
)

func TestWhatSelectorsSelect(t *testing.T) {
	has, of := map[string]string{"a": "b", "c": "d", "karpenter.sh/x": "p1", "y": ""}, fields.Set{"spec.nodeName": "n", "reason": "r"}
	for _, tt := range []struct {
		labels, fields string
		want           bool
	}{
		{"", "", true},
		{"a=b", "", true},
		{"a=b,c==d", "", true},
		{"a=b,c=e", "", false},
		{"a in (b,c)", "", true},
		{"a in (x),c=d", "", false},
		{"c=d,a in (b,e)", "", true},
		{"karpenter.sh/x in (p1,p2),y=", "", true},
		{"z=1", "", false},
		{"", "spec.nodeName=n", true},
		{"", "spec.nodeName=n,reason=other", false},
		{"a=x", "spec.nodeName=n", false},
	} {
		selects, err := Selects(tt.labels, tt.fields, of)
		if err != nil || selects(has, of) != tt.want {
			t.Errorf("%q and %q: %v, want %v", tt.labels, tt.fields, err, tt.want)
		}
	}
	for _, bad := range []struct{ labels, fields string }{{"a in (", ""}, {"", "spec.nodeName"}, {"", "metadata.uid=1"}} {
		if _, err := Selects(bad.labels, bad.fields, of); err == nil {
			t.Errorf("%q and %q: no error", bad.labels, bad.fields)
		}
	}
}
