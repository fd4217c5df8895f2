package roll_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestGroupsComeInTheOrderOfTheirFirstValues(t *testing.T) {
	length := func(s string) int { return len(s) }
	got := roll.Grouped([]string{"bb", "a", "cc", "ddd", "a"}, length)
	expect.Equal(t, cmp.Diff([][]string{{"bb", "cc"}, {"a", "a"}, {"ddd"}}, got), "", "groups")
	expect.Equal(t, cmp.Diff([]string{"b", "a", "c"}, roll.Distinct([]string{"b", "a", "b", "c", "a"})), "", "distinct")
	expect.That(t, roll.Grouped(nil, length) == nil && roll.Distinct[string](nil) == nil, "groups of nothing")
}
