// Command mutate runs all mutations of the product in the simulator and prints the rule that
// catches each. It exits with 1 if a result differs from the table.
package main

import (
	"cmp"
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
	seeds := flag.Int("seeds", mutate.Seeds, "in how many runs each is tried")
	flag.Parse()
	if *seeds < 1 {
		fmt.Fprintf(os.Stderr, "-seeds %d: at least one run is needed to try a mutation\n", *seeds)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := try(ctx, *only, *atOnce, *seeds)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if !ok {
		stop()
		os.Exit(1)
	}
}

// try runs the mutations and reports whether all results are as the table says.
func try(ctx context.Context, only string, atOnce, seeds int) (bool, error) {
	matches, err := regexp.Compile(only)
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
	var chosen []int
	for i, m := range all {
		if matches.MatchString(m.Name) || matches.MatchString(m.File) {
			chosen = append(chosen, i)
		}
	}
	done := make([]chan tried, len(chosen))
	for n := range done {
		done[n] = make(chan tried, 1)
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for n := range chosen {
			next <- n
		}
	}()
	for range max(1, atOnce) {
		go func() {
			for n := range next {
				at := time.Now()
				v, err := b.Try(ctx, chosen[n]+1, all[chosen[n]], seeds)
				done[n] <- tried{v, time.Since(at), err}
			}
		}()
	}
	caught, wrong := 0, 0
	fmt.Printf("%-72s %-20s %5s %6s\n", "mutation", "caught by", "runs", "time")
	for _, is := range done {
		t := <-is
		if t.err != nil {
			return false, t.err
		}
		by := "survives"
		if t.Caught != nil {
			by = string(t.Caught.Rule)
			caught++
		}
		fmt.Printf("%-72s %-20s %5d %5.0fs\n", t.Name, by, t.Runs, t.took.Seconds())
		if t.Caught == nil {
			fmt.Printf("    %s\n", cmp.Or(t.Survives, "why is not known"))
		}
		if t.Fault != "" {
			wrong++
			fmt.Printf("    WRONG: %s\n", t.Fault)
		}
	}
	fmt.Printf("\n%d mutations: %d caught, %d survive, of %d the table is wrong; %s\n", len(chosen), caught, len(chosen)-caught, wrong, time.Since(began).Round(time.Second))
	return wrong == 0, nil
}
