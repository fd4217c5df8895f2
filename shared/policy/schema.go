package policy

import (
	_ "embed"
	"slices"
)

//go:embed policy.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a policy document, for editors and other
// checkers. Parse refuses everything that the schema refuses. It refuses more, such as a deadline
// before its warning, two overrides with one match, or a pattern that can match nothing.
func Schema() []byte { return slices.Clone(schema) }
