package testbed

import (
	"slices"
	"testing"

	"rollcall/tests/harness/expect"
)

func TestAChangeThatMetAConflictAndWasMadeAgainIsNone(t *testing.T) {
	cordon := func(node string, code int) KubeCall {
		return KubeCall{User: "u", Verb: "patch", Resource: "nodes", Name: node, Code: code}
	}
	evict := func(pod string, code int) KubeCall {
		return KubeCall{User: "u", Verb: "create", Resource: "pods", Subresource: "eviction", Name: pod, Code: code}
	}
	list := KubeCall{User: "u", Verb: "list", Resource: "nodes", Code: 200}
	tests := []struct {
		name  string
		calls []KubeCall
		want  []int // indexes of the remaining calls
	}{
		{"reads change nothing", []KubeCall{list, {User: "u", Verb: "get", Resource: "nodes", Name: "a", Code: 200}}, nil},
		{"made again", []KubeCall{list, cordon("a", 409), list, cordon("a", 200)}, []int{3}},
		{"made again twice", []KubeCall{cordon("a", 409), cordon("a", 409), cordon("a", 200)}, []int{2}},
		{"never made again", []KubeCall{cordon("a", 200), cordon("a", 409)}, []int{0, 1}},
		{"made again in vain", []KubeCall{cordon("a", 409), cordon("a", 409), cordon("a", 403)}, []int{0, 1, 2}},
		{"another was made", []KubeCall{cordon("a", 409), cordon("b", 200), evict("a", 201)}, []int{0, 1, 2}},
		{"refused for another reason", []KubeCall{evict("p", 429), evict("p", 201)}, []int{0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []KubeCall
			for _, i := range tt.want {
				want = append(want, tt.calls[i])
			}
			same := func(a, b KubeCall) bool {
				return a.User == b.User && a.Verb == b.Verb && a.Name == b.Name && a.Code == b.Code
			}
			got := Changing(tt.calls)
			expect.That(t, slices.EqualFunc(got, want, same), "got %v, want %v", got, want)
		})
	}
}
