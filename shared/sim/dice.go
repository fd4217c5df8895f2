package sim

import "time"

// dice makes random decisions: the same for the same seed and names, whatever else was decided.
type dice uint64

func newDice(seed uint64) dice { return dice(mix(seed + 0x9e3779b97f4a7c15)) }

func (d dice) of(name string) dice {
	h := uint64(d) ^ 0xcbf29ce484222325
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3 // FNV-1a
	}
	return dice(mix(h))
}

func (d dice) nth(n int) dice { return dice(mix(uint64(d) + uint64(n+1)*0x9e3779b97f4a7c15)) }

// mix spreads small differences over all bits: the finalizer of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (d dice) share() float64 { return float64(uint64(d)>>11) / (1 << 53) }

func (d dice) chance(p float64) bool { return d.share() < p }

// below returns a number in [0, n), or 0 if n is not positive.
func (d dice) below(n int) int {
	if n <= 0 {
		return 0
	}
	return int(uint64(d) % uint64(n))
}

// between returns a duration from least to most, in whole milliseconds.
func (d dice) between(least, most time.Duration) time.Duration {
	span := int((most-least)/time.Millisecond) + 1
	return least + time.Duration(d.below(span))*time.Millisecond
}

func oneOf[T any](d dice, all ...T) T { return all[d.below(len(all))] }
