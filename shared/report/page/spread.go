package page

// spread moves sorted positions to the right until all are at least low and neighbours are
// gap apart, so that no mark is drawn before its time. Positions beyond high are then moved
// back. If there is not enough room, the gap shrinks.
func spread(at []float64, gap, low, high float64) []float64 {
	out := make([]float64, len(at))
	if n := float64(len(at) - 1); n*gap > high-low {
		gap = (high - low) / n
	}
	for i, x := range at {
		out[i] = max(x, low)
		if i > 0 {
			out[i] = max(x, out[i-1]+gap)
		}
	}
	for i := len(out) - 1; i >= 0; i-- {
		if most := high - float64(len(out)-1-i)*gap; out[i] > most {
			out[i] = most
		}
	}
	return out
}
