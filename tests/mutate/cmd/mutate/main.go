// Command mutate tries all mutations of the product in the simulator, and prints by which rule
// each is caught. It exits with 1 if one is not what the table says.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"

	"rollcall/tests/mutate"
)

func main() {
	only := flag.String("only", "", "a regular expression: those whose name or file it matches")
	atOnce := flag.Int("j", runtime.GOMAXPROCS(0), "how many are tried at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := try(ctx, *only, *atOnce)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if !ok {
		stop()
		os.Exit(1)
	}
}

// try reports whether all are what the table says.
func try(ctx context.Context, only string, atOnce int) (bool, error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	began := time.Now()
	all := mutate.Table()
	b, err := mutate.Build(ctx, root, dir, all)
	if err != nil {
		return false, err
	}
	fmt.Printf("built with %d mutations in %s\n\n", len(all), time.Since(began).Round(time.Second))
	type tried struct {
		mutate.Verdict
		took time.Duration
		err  error
	}
	slots := make(chan struct{}, max(1, atOnce))
	var queue []chan tried
	for i, m := range all {
		if !chosen.MatchString(m.Name) && !chosen.MatchString(m.File) {
			continue
		}
		done := make(chan tried, 1)
		queue = append(queue, done)
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			at := time.Now()
			v, err := b.Try(ctx, i+1, m)
			done <- tried{v, time.Since(at), err}
		}()
	}
	caught, survived, wrong := 0, 0, 0
	fmt.Printf("%-72s %-20s %5s %6s\n", "mutation", "caught by", "runs", "time")
	for _, done := range queue {
		t := <-done
		if t.err != nil {
			return false, t.err
		}
		by := "survives"
		switch {
		case t.Caught != nil:
			by = string(t.Caught.Rule)
			caught++
		case t.Missed != "":
			by = "not caught yet"
			survived++
		default:
			survived++
		}
		fmt.Printf("%-72s %-20s %5d %5.0fs\n", t.Name, by, t.Runs, t.took.Seconds())
		if t.Caught == nil {
			fmt.Printf("    %s%s; something else happens in %d of %d runs\n", t.Survives, t.Missed, t.Differ, t.Runs)
		}
		if t.Fault != "" {
			wrong++
			fmt.Printf("    WRONG: %s\n", t.Fault)
		}
	}
	fmt.Printf("\n%d mutations: %d caught, %d survive, of %d the table is wrong; %s\n", len(queue), caught, survived, wrong, time.Since(began).Round(time.Second))
	return wrong == 0, nil
}
