package ledger

// Own makes own available to tests.
func Own[V any](v V) V { return own(v) }
