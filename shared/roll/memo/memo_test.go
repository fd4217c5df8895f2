package memo

import (
	"fmt"
	"sync"
	"testing"

	"rollcall/tests/harness/expect"
)

func TestWhatWasAskedForLastIsRemembered(t *testing.T) {
	m := Memo[Key, string]{Most: 3}
	computed := 0
	get := func(text string) {
		t.Helper()
		got := m.Get(Of(text), func() string {
			computed++
			return "of " + text
		})
		expect.That(t, got == "of "+text, "%s is %q", text, got)
	}
	for i := range 20 {
		get("often")
		get(fmt.Sprint(i))
		if n := len(m.young) + len(m.older); n > 6 {
			t.Fatalf("%d are remembered", n)
		}
	}
	expect.That(t, computed == 21, "computed %d times, want each text once", computed)
	if get("0"); computed != 22 {
		t.Error("what was not asked for in a long time is remembered")
	}
}

func TestTextsAreToldApart(t *testing.T) {
	seen := map[Key]bool{}
	for _, texts := range [][]string{{""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"ab", ""}, {"", "ab"}} {
		k := Of(texts...)
		if seen[k] {
			t.Errorf("%q has the key of another", texts)
		}
		seen[k] = true
	}
	expect.That(t, Of("ab") == Of([]byte("ab")), "bytes have another key than the same text")
}

func TestManyMayAskAtOnce(t *testing.T) {
	m := Memo[Key, int]{Most: 4}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 400 {
				if got := m.Get(Of(fmt.Sprint(i%9)), func() int { return i % 9 }); got != i%9 {
					t.Errorf("%d is %d", i%9, got)
				}
			}
		})
	}
	all.Wait()
}
