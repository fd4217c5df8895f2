// Command cost prints the table of infra/README.md: what a month costs, by the size of the fleet.
package main

import (
	"fmt"
	"os"

	"rollcall/tests/cost"
)

func main() {
	table, err := cost.Table()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(table)
}
