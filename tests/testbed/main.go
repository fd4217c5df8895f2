package testbed

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package with a bed and returns the exit code for os.Exit. It passes the bed to use before
// the first test. If all tests passed and after is not nil, it calls after: an error fails the package.
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
