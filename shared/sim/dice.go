package sim

import "time"

// dice decides by chance: the same for the same seed and the same names, whatever else
// was decided before.
type dice uint64

// newDice are the dice of a run.
func newDice(seed uint64) dice { return dice(mix(seed + 0x9e3779b97f4a7c15)) }

// of are the dice for what has that name.
func (d dice) of(name string) dice {
	h := uint64(d) ^ 0xcbf29ce484222325
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3 // FNV-1a
	}
	return dice(mix(h))
}

// nth are the dice for the n-th of several.
func (d dice) nth(n int) dice { return dice(mix(uint64(d) + uint64(n+1)*0x9e3779b97f4a7c15)) }

// mix spreads what differs little over all bits: the finalizer of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// share is a number from 0 up to, and without, 1.
func (d dice) share() float64 { return float64(uint64(d)>>11) / (1 << 53) }

// chance is true with that probability.
func (d dice) chance(p float64) bool { return d.share() < p }

// below is a number from 0 up to, and without, n.
func (d dice) below(n int) int {
	if n <= 0 {
		return 0
	}
	return int(uint64(d) % uint64(n))
}

// between is a time from one up to another, in whole milliseconds.
func (d dice) between(least, most time.Duration) time.Duration {
	span := int((most-least)/time.Millisecond) + 1
	return least + time.Duration(d.below(span))*time.Millisecond
}

// oneOf is one of several.
func oneOf[T any](d dice, all ...T) T { return all[d.below(len(all))] }
