package sim

import (
	"math"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The values are part of what a seed means: other values would make each seed another run.
func TestDiceFallAsTheyAlwaysDid(t *testing.T) {
	d := newDice(7)
	for _, tt := range []struct {
		what string
		got  dice
		want dice
	}{
		{"a seed", d, 0x63cbe1e459320dd7},
		{"a name", d.of("cluster"), 0xace89828b965b9f1},
		{"a number", d.nth(3), 0x9aaf21d8296e1e3d},
		{"a name's number's name", d.of("group").nth(0).of("zone"), 0x9c847ace1724c13f},
	} {
		expect.That(t, tt.got == tt.want, "%s: %#x, want %#x", tt.what, uint64(tt.got), uint64(tt.want))
	}
}

// Decisions with another name, number or seed are independent.
func TestDiceOfOtherNamesFallIndependently(t *testing.T) {
	seen := map[dice]string{}
	note := func(what string, d dice) {
		other, ok := seen[d]
		expect.That(t, !ok, "%s and %s are the same", what, other)
		seen[d] = what
	}
	for seed := range uint64(50) {
		d := newDice(seed)
		note("a seed", d)
		for _, name := range []string{"", "a", "b", "ab", "ba", "cluster", "clustes"} {
			note(name, d.of(name))
			for n := range 20 {
				note("nth of "+name, d.of(name).nth(n))
			}
		}
	}
	// Neighbours are independent: of two, a quarter are both below a half.
	both, n := 0, 20_000
	d := newDice(1)
	for i := range n {
		if d.nth(i).share() < 0.5 && d.nth(i+1).share() < 0.5 {
			both++
		}
	}
	share := float64(both) / float64(n)
	expect.That(t, math.Abs(share-0.25) <= 0.02, "two neighbours are low together in %.3f", share)
}

func TestDiceFallEvenlyAndWithinTheirBounds(t *testing.T) {
	const n = 20_000
	d := newDice(2)
	var sum float64
	hits := 0
	sides := map[int]int{}
	for i := range n {
		x := d.nth(i)
		s := x.share()
		must.That(t, s >= 0 && s < 1, "share %v", s)
		sum += x.share()
		if x.chance(0.1) {
			hits++
		}
		sides[x.below(6)]++
		at := x.between(2*time.Second, 5*time.Second)
		must.That(t, at >= 2*time.Second && at <= 5*time.Second && at%time.Millisecond == 0, "between %s", at)
	}
	mean := sum / n
	expect.That(t, math.Abs(mean-0.5) <= 0.01, "the mean is %.3f", mean)
	if share := float64(hits) / n; math.Abs(share-0.1) > 0.01 {
		t.Errorf("a chance of 0.1 comes in %.3f", share)
	}
	for side := range 6 {
		share := float64(sides[side]) / n
		expect.That(t, math.Abs(share-1.0/6) <= 0.015, "side %d comes in %.3f", side, share)
	}
	expect.That(t, len(sides) == 6, "sides %v", sides)
}

func TestDiceAtTheirEdges(t *testing.T) {
	d := newDice(3)
	expect.That(t, !d.chance(0) && d.chance(1) && d.below(0) == 0 && d.below(-1) == 0 && d.below(1) == 0 && d.between(time.Second, time.Second) == time.Second, "an edge is crossed")
}
