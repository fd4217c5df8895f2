//go:build !testclock

package start

import "time"

// Clock returns the current time.
func Clock() time.Time { return time.Now() }
