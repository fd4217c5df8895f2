package testbed

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package with a bed, which use gets before the first of them, and returns the exit code for
// os.Exit. When all tests passed, after is called unless it is nil: its error fails the package.
func Main(m *testing.M, options Options, use func(*Bed), after func() error) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bed, err := Start(context.Background(), options)
	if err != nil {
		return fail(err)
	}
	use(bed)
	code := m.Run()
	if code == 0 && after != nil {
		if err := after(); err != nil {
			code = fail(err)
		}
	}
	if err := bed.Close(); err != nil {
		return fail(err)
	}
	return code
}
