//go:build !unix

package command

import "time"

// processorTime returns 0 (unknown): there is no getrusage.
func processorTime() time.Duration { return 0 }
