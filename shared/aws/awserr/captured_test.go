package awserr

import (
	"fmt"
	"slices"
	"testing"
)

func TestWhatWasNotCapturedIsNoOtherError(t *testing.T) {
	for want, missing := range map[string]error{
		"roles.json is not in the bundle":           &NotCaptured{What: "roles.json"},
		"ami-1 is not in images.json of the bundle": &NotCaptured{What: "ami-1", Why: "is not in images.json of the bundle"},
		"nodeclaims.json is empty in the bundle":    fmt.Errorf("wrapped: %w", &NotCaptured{What: "nodeclaims.json", Why: "is empty in the bundle"}),
	} {
		if got := Describe(missing, "iam:GetRole", "arn:aws:iam::111122223333:role/inspect"); got != want {
			t.Errorf("described as %q, not %q", got, want)
		}
		for name, is := range map[string]func(error) bool{"not found": IsNotFound, "denied": IsDenied, "throttled": IsThrottled, "timeout": IsTimeout, "unreachable": IsUnreachable, "no credentials": IsNoCredentials, "conflict": IsConflict} {
			if is(missing) {
				t.Errorf("%v counts as %s", missing, name)
			}
		}
	}
}

func TestUnknownInstancesAreNamedAsEC2Does(t *testing.T) {
	for _, ids := range [][]string{{"i-0aa"}, {"i-0aa", "i-0bb"}} {
		err := UnknownInstances(ids)
		if got := InvalidInstanceIDs(err); !IsNotFound(err) || !slices.Equal(got, ids) {
			t.Errorf("%v: read back as %v", err, got)
		}
	}
}
