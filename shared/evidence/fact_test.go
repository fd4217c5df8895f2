package evidence_test

import (
	"testing"

	"rollcall/shared/evidence"
)

// What a person reads of a value that a check lacks names the thing, unless the reader of
// it gave a reason.
func TestMissingSaysWhyAValueIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		name string
		fact evidence.Fact[int]
		want string
	}{
		{"certainly none", evidence.None[int](), "there is no lease of node a"},
		{"not asked", evidence.Fact[int]{}, "lease of node a was not read"},
		{"not asked, for a reason", evidence.Skipped[int]("the cluster was not read"), "the cluster was not read"},
		{"not readable", evidence.Failed[int]("eks:DescribeCluster is denied"), "eks:DescribeCluster is denied"},
		{"not readable, without a reason", evidence.Failed[int](""), "it could not be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.fact.Missing("lease of node a"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
