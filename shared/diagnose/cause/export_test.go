package cause

// Unknown returns codes in the relation that the catalogue does not have.
func Unknown() (out []Code) {
	for symptom, roots := range explainedBy {
		for _, c := range append([]Code{symptom}, roots...) {
			if !Known(c) {
				out = append(out, c)
			}
		}
	}
	return out
}
