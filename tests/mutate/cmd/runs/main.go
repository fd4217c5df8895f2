// Command runs reads simulator runs as JSON, executes them up to the first that breaks a
// rule, and writes the outcome of each. The mutations are built into it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"rollcall/tests/mutate"
)

func main() {
	var runs []mutate.Run
	err := json.NewDecoder(os.Stdin).Decode(&runs)
	if err == nil {
		var outcomes []mutate.Outcome
		if outcomes, err = mutate.Simulate(runs); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(outcomes)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
