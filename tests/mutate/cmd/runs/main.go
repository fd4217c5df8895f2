// Command runs reads runs of the simulator as JSON, carries them out, up to the first that
// breaks a rule, and writes what came of each. It is what the mutations are built into.
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
