package roll

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// TrueFirst compares two booleans for a sort that puts true before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earlier returns the earlier of two times, the second if the first is zero.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// InTurn returns the order in which suspects are read if a check reads only some of them: first the
// most urgent, up to the given number, then the others in rotation. The rotation ensures that a
// long hold on some does not delay the others forever. It starts at a position drawn from the
// minute of the check: with any fixed step per minute, some interval of checks would always leave
// out the same ones.
func InTurn[T any](asked []T, urgent int, at time.Time) []T {
	if len(asked) <= urgent {
		return asked
	}
	rest := asked[urgent:]
	drawn := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/60)))
	from := int(binary.BigEndian.Uint64(drawn[:]) % uint64(len(rest)))
	return slices.Concat(asked[:urgent], rest[from:], rest[:from])
}
