//go:build !testclock

package start

import "time"

// Clock is the functions' clock.
func Clock() time.Time { return time.Now() }
