// Command generate writes the corpus anew: the folder cases and the table of the README.
// It is run in the folder of the corpus, by make corpus.
package main

import (
	"fmt"
	"os"

	"rollcall/tests/corpus/generate"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "write the corpus:", err)
		os.Exit(1)
	}
}

func write() error {
	if err := generate.Write("cases"); err != nil {
		return err
	}
	old, err := os.ReadFile("README.md")
	if err != nil {
		return fmt.Errorf("read what stands above the table: %w", err)
	}
	text, err := generate.Readme(old)
	if err != nil {
		return err
	}
	return os.WriteFile("README.md", text, 0o644)
}
