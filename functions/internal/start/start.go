// Package start prepares a function before it serves: it reads the environment, loads the
// AWS configuration, and sets up the log.
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

	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/observe/apistats"
)

// Version is the version of the release, set by its build.
var Version = "development"

// Function holds what a function starts with.
type Function struct {
	Settings config.Settings
	AWS      aws.Config
	Log      *slog.Logger
	// Calls counts the requests to AWS made with the configuration.
	Calls *apistats.Counter
}

// Begin reads the variables that the function needs. A fault ends the process before it
// takes any work, and is reported in the initialization log.
func Begin(name string, variables ...string) Function {
	f, err := begin(context.Background(), name, append(variables, config.DetailedMetrics))
	if err != nil {
		Fatal(name, err)
	}
	return f
}

func begin(ctx context.Context, name string, variables []string) (Function, error) {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil)).With("function", name)
	runtime(ambient.Ambient{Log: log})
	settings, err := config.Read(os.LookupEnv, variables...)
	if err != nil {
		return Function{}, fmt.Errorf("settings of %s: %w", name, err)
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(sdk(ambient.Ambient{Log: log})))
	if err != nil {
		return Function{}, fmt.Errorf("load the AWS configuration of %s: %w", name, err)
	}
	f := Function{Settings: settings, AWS: cfg, Log: log, Calls: &apistats.Counter{}}
	f.Calls.Watch(&f.AWS)
	ambient.Ambient{Log: log}.Started(Version)
	hook(&f.AWS)
	return f, nil
}

// runtime redirects the log of Lambda's runtime to the functions' JSON log. By default it
// writes plain text when an invocation fails.
func runtime(around ambient.Ambient) {
	text.SetFlags(0)
	text.SetOutput(said(around.Failed))
}

// said is a writer of text lines.
type said func(line string)

func (s said) Write(line []byte) (int, error) {
	s(strings.TrimSpace(string(line)))
	return len(line), nil
}

// Fatal ends a function that cannot start.
func Fatal(name string, err error) {
	ambient.Ambient{Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("function", name)}.CannotStart(err)
	os.Exit(1)
}

// Nobody returns "" as the principal in messages: AWS's own messages name the function's
// role where it matters.
func Nobody(context.Context) string { return "" }

// Ambient returns what the function's handler shares: clock, log, metrics, call counts.
func (f Function) Ambient() ambient.Ambient {
	return ambient.Ambient{Clock: Clock, Log: f.Log, Metrics: os.Stdout, Detailed: f.Settings.DetailedMetrics, Calls: f.Calls}
}
