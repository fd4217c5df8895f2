package start

// This file replaces functions/internal/start/hooks.go in binaries for the end-to-end tests; see
// overlay.json.

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
)

// Clock returns the real time plus the duration in the file that ROLLCALL_TEST_CLOCK names.
func Clock() time.Time {
	data, err := os.ReadFile(os.Getenv("ROLLCALL_TEST_CLOCK"))
	if err != nil {
		return time.Now()
	}
	ahead, err := time.ParseDuration(strings.TrimSpace(string(data)))
	if err != nil {
		panic("ROLLCALL_TEST_CLOCK: " + err.Error())
	}
	return time.Now().Add(ahead)
}

// PageInterval is almost zero: the emulated EC2 has no quota to protect.
const PageInterval = time.Nanosecond

// hook ends the process before or after its n-th AWS call, as ROLLCALL_TEST_DIE=before:n or
// after:n says, like a function whose machine fails. It writes the name of each call to the
// file that ROLLCALL_TEST_CALLS names, in the order in which they are counted.
func hook(cfg *aws.Config) {
	if path := os.Getenv("ROLLCALL_TEST_CALLS"); path != "" {
		tell(cfg, path)
		return
	}
	when, count, ok := strings.Cut(os.Getenv("ROLLCALL_TEST_DIE"), ":")
	if !ok {
		return
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		panic("ROLLCALL_TEST_DIE: " + err.Error())
	}
	var calls atomic.Int64
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("RollcallTestDeath", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			mine := calls.Add(1) == n
			if mine && when == "before" {
				os.Exit(137)
			}
			out, metadata, err := next.HandleInitialize(ctx, in)
			if mine && when == "after" {
				os.Exit(137)
			}
			return out, metadata, err
		}), middleware.Before)
	})
}

// tell appends the name of each call to a file, a line each.
func tell(cfg *aws.Config, path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic("ROLLCALL_TEST_CALLS: " + err.Error())
	}
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("RollcallTestCalls", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, err := file.WriteString(stack.ID() + "\n"); err != nil {
				panic("ROLLCALL_TEST_CALLS: " + err.Error())
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
}
