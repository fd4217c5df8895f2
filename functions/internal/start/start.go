// Package start holds what every function does before it serves: read its
// environment, load the AWS configuration, and set up its log.
package start

import (
	"context"
	"fmt"
	text "log"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"rollcall/shared/lambdas"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/observe/apistats"
)

// Function is what a function starts with.
type Function struct {
	Settings config.Settings
	AWS      aws.Config
	Log      *slog.Logger
	// Calls counts what is sent to AWS with the configuration.
	Calls *apistats.Counter
}

// Begin reads the variables that the function needs. A fault ends the process before it takes
// any work, with the error in the initialization log.
func Begin(ctx context.Context, name string, variables ...string) (Function, error) {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil)).With("function", name)
	runtime(lambdas.Ambient{Log: log})
	settings, err := config.Read(os.LookupEnv, variables...)
	if err != nil {
		return Function{}, fmt.Errorf("settings of %s: %w", name, err)
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(sdk(lambdas.Ambient{Log: log})))
	if err != nil {
		return Function{}, fmt.Errorf("load the AWS configuration of %s: %w", name, err)
	}
	f := Function{Settings: settings, AWS: cfg, Log: log, Calls: &apistats.Counter{}}
	f.Calls.Watch(&f.AWS)
	hook(&f.AWS)
	return f, nil
}

// runtime has Lambda's runtime log as the functions do. By itself it writes lines of text when
// an invocation fails.
func runtime(around lambdas.Ambient) {
	text.SetFlags(0)
	text.SetOutput(said(around.Failed))
}

// said takes lines of text.
type said func(line string)

func (s said) Write(line []byte) (int, error) {
	s(strings.TrimSpace(string(line)))
	return len(line), nil
}

// Fatal ends a function that cannot start.
func Fatal(name string, err error) {
	lambdas.Ambient{Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("function", name)}.CannotStart(err)
	os.Exit(1)
}

// Nobody stands for whose credentials are used, in messages: a function's own role is
// in AWS's messages where it matters.
func Nobody(context.Context) string { return "" }

// Ambient is what is around the function's handler.
func (f Function) Ambient() lambdas.Ambient {
	return lambdas.Ambient{Clock: Clock, Log: f.Log, Metrics: os.Stdout, Calls: f.Calls}
}
