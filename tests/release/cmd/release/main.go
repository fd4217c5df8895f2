// Command release builds a release: go run ./tests/release/cmd/release VERSION FOLDER URL. The Makefile's
// targets release and release-check prepare what it needs.
package main

import (
	"context"
	"fmt"
	"os"

	"rollcall/tests/release"
	"rollcall/tests/template"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: release VERSION FOLDER URL, from the root of the project")
		os.Exit(1)
	}
	ctx := context.Background()
	transformed, err := template.Transform(ctx, ".", "template.yaml")
	if err == nil {
		err = release.Make(ctx, release.Options{Root: ".", Out: os.Args[2], Version: os.Args[1], URL: os.Args[3], Template: transformed, Targets: release.Targets()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("the release is in " + os.Args[2])
}
