package page

// spread moves positions, which are in order, as little as it takes for neighbours to be
// gap apart and all of them to stay between low and high. Where they do not fit, they
// come closer together than gap.
//
// It is the pooling of adjacent violators: those that stand too close form a block that
// is centred on where its members belong.
func spread(at []float64, gap, low, high float64) []float64 {
	if len(at) == 0 {
		return nil
	}
	if n := float64(len(at) - 1); n*gap > high-low {
		gap = (high - low) / n
	}
	type block struct {
		sum float64 // of where the first would stand for each member
		n   int
	}
	start := func(b block) float64 { return b.sum / float64(b.n) }
	var blocks []block
	for i, x := range at {
		b := block{x - float64(i)*gap, 1}
		for len(blocks) > 0 && start(blocks[len(blocks)-1]) >= start(b) {
			last := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			b = block{last.sum + b.sum, last.n + b.n}
		}
		blocks = append(blocks, b)
	}
	out := make([]float64, 0, len(at))
	highest := high - float64(len(at)-1)*gap
	for _, b := range blocks {
		first := min(highest, max(low, start(b)))
		for range b.n {
			out = append(out, first+float64(len(out))*gap)
		}
	}
	return out
}
