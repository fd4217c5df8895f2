//go:build !unix

package command

import "time"

// processorTime is not known where there is no getrusage.
func processorTime() time.Duration { return 0 }
