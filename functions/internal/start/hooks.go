//go:build !testclock

package start

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// PageInterval is the minimum time between two pages of instances; zero is the default.
const PageInterval time.Duration = 0

// hook does nothing in deployed binaries; see testclock.go.
func hook(*aws.Config) {}
