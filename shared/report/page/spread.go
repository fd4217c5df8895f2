package page

// spread moves positions, which are in order, to the right until they stand at low or
// beyond and neighbours are gap apart: nothing is drawn before it happened. What would
// then stand beyond high is moved back; where all do not fit, they come closer together
// than gap.
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
