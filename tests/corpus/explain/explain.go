// Package explain runs the tool on cases of the corpus.
package explain

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"rollcall/functions/local/command"
	"rollcall/shared/observe/bundle"
	"rollcall/tests/corpus/generate"
)

// Case runs the tool's explain on the bundle of a case, in mode remediate. It returns the document that it
// printed, and its exit code.
func Case(ctx context.Context, c generate.Made) (document []byte, code int, err error) {
	var out, fault bytes.Buffer
	code = command.Run(ctx, []string{"explain", "--bundle", c.Name, "--output", "json", "--mode", "remediate"}, command.Environment{
		Stdout: &out, Stderr: &fault, Now: time.Now,
		OpenBundle: func(string) (*bundle.Bundle, error) { return bundle.OpenFS(c.FS()) },
	})
	if out.Len() == 0 {
		return nil, code, fmt.Errorf("explain %s: exit %d: %s", c.Name, code, fault.String())
	}
	return out.Bytes(), code, nil
}
