package start

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// The end-to-end tests build the functions with another form of this file, which sets the time and
// lets a function die (tests/serverless/testdata). A deployed function has none of it.

// Clock returns the current time.
func Clock() time.Time { return time.Now() }

// PageInterval is the minimum time between two pages of instances; zero is the default.
const PageInterval time.Duration = 0

// hook does nothing.
func hook(*aws.Config) {}
