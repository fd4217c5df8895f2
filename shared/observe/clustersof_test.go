package observe

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
)

// A caller that can find an instance elsewhere must know that EC2 does not know it.
func TestTheClustersOfAnInstance(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	got, err := a.observer().ClustersOf(t.Context(), one)
	expect.That(t, err == nil && slices.Equal(got, []string{"demo"}), "%q, %v; want demo", got, err)
	got, err = a.observer().ClustersOf(t.Context(), "i-0fedcba9876543210")
	expect.That(t, errors.Is(err, ErrNoInstance) && len(got) == 0 && strings.Contains(err.Error(), "EC2 knows no instance i-0fedcba9876543210 in "), "%q, %v; want ErrNoInstance", got, err)
}
