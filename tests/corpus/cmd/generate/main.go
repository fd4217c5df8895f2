// Command generate writes the committed part of the corpus, which is the table of verdicts and
// the examples, and all cases to .build/corpus. make corpus runs it in the folder of the
// corpus.
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
	if err := generate.Write("../../.build/corpus", generate.All()); err != nil {
		return err
	}
	if err := generate.Write("examples", generate.Examples()); err != nil {
		return err
	}
	return os.WriteFile("verdicts.jsonl", generate.Table(), 0o644)
}
