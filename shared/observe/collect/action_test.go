package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/evidence"
	"rollcall/tests/harness/expect"
)

// shelf is an object that is described by id.
type shelf struct {
	has   []string
	mute  bool // it does not say which id it does not know
	calls int
}

// request, reply and options are those of a fictitious client.
type (
	request struct {
		ids       []string
		NextToken *string
	}
	reply struct {
		found     []string
		NextToken *string
	}
	options struct{}
)

// describedBy reads objects with a method of the fictitious client.
func describedBy(l *look, ids []string, size int, describe func(context.Context, *request, ...func(*options)) (*reply, error)) map[string]evidence.Fact[string] {
	return byID(l.action("ec2:DescribeImages"), ids, size, describe,
		func(ids []string) *request { return &request{ids: ids} },
		func(out *reply) []string { return out.found }, func(s *string) *string { return s }, func(s *string) string { return *s })
}

func (s *shelf) describe(_ context.Context, in *request, _ ...func(*options)) (*reply, error) {
	s.calls++
	var found []string
	for _, id := range in.ids {
		if !slices.Contains(s.has, id) {
			text := "The image id '[" + id + "]' does not exist"
			if s.mute {
				text = "one of them does not exist"
			}
			return nil, apiError("InvalidAMIID.NotFound", text)
		}
		found = append(found, id)
	}
	return &reply{found: found}, nil
}

func TestOneUnknownIDKeepsNoOtherFromBeingRead(t *testing.T) {
	all := []string{id("ami", 1), id("ami", 2), id("ami", 3), id("ami", 4)}
	for name, tt := range map[string]struct {
		shelf shelf
		calls int
	}{
		"all there":            {shelf{has: all}, 1},
		"two named one by one": {shelf{has: all[1:3]}, 3},
		"none named":           {shelf{has: all[1:3], mute: true}, 1 + 4},
	} {
		a, _ := oneOfEach()
		l := newLook(t.Context(), a.collector(), Input{Snapshot: seen()})
		facts := describedBy(l, all, 10, tt.shelf.describe)
		for _, id := range all {
			want := evidence.Absent
			if slices.Contains(tt.shelf.has, id) {
				want = evidence.Known
			}
			expect.Equal(t, facts[id].State, want, "%s: %s", name, id)
		}
		expect.That(t, tt.shelf.calls == tt.calls, "%s: %d calls, want %d", name, tt.shelf.calls, tt.calls)
	}
}

func TestIDsThatKeepVanishingAreGivenUp(t *testing.T) {
	var all []string
	for n := range 15 {
		all = append(all, id("ami", n))
	}
	s := shelf{has: all[14:]}
	l := newLook(t.Context(), newAccount().collector(), Input{Snapshot: seen()})
	facts := describedBy(l, all, 20, s.describe)
	if s.calls != lookupTries || facts[all[0]].State != evidence.Absent || facts[all[14]].State != evidence.Unreadable {
		t.Errorf("%d calls, first %v, last %v", s.calls, facts[all[0]], facts[all[14]])
	}
}

func TestABundleThatLacksOneOfSeveralTellsTheOthers(t *testing.T) {
	describe := func(_ context.Context, in *request, _ ...func(*options)) (*reply, error) {
		if slices.Contains(in.ids, "b") {
			return nil, fmt.Errorf("b is not in images.json of the bundle")
		}
		return &reply{found: []string{in.ids[0], in.ids[len(in.ids)-1]}}, nil
	}
	o := newAccount().collector()
	o.Free = true
	l := newLook(t.Context(), o, Input{Snapshot: seen()})
	facts := describedBy(l, []string{"a", "b", "c"}, 10, describe)
	expect.That(t, facts["a"].Known() && facts["b"].State == evidence.Unreadable && facts["c"].Known(), "%+v", facts)
}

func TestAListingWithoutEndIsNotTakenForWhole(t *testing.T) {
	l := newLook(t.Context(), newAccount().collector(), Input{Snapshot: seen()})
	calls := 0
	list := func(context.Context, *request, ...func(*options)) (*reply, error) {
		calls++
		next := "more"
		return &reply{NextToken: &next}, nil
	}
	all, end := pages(l.action("x:List"), 3, list, &request{}, func(*reply) []int { return []int{calls} })
	expect.That(t, all == nil && calls == 3 && strings.Contains(end.why, "x:List"), "%v after %d calls: %q", all, calls, end.why)
}

func TestListingsArePagedToTheirEnd(t *testing.T) {
	a, in := oneOfEach()
	a.page = 1
	got := facts(a.collector().Collect(t.Context(), in))
	b, in := oneOfEach()
	want := facts(b.collector().Collect(t.Context(), in))
	expect.That(t, maps.Equal(got, want), "page by page it is not the same")
	expect.That(t, a.calls["ec2:DescribeRouteTables"] == 2 && a.calls["iam:ListAttachedRolePolicies"] == 2, "calls %v", a.calls)
}
