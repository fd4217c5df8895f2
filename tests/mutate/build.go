package mutate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the binary with all mutations in a temporary directory. It gives the compiler
// an overlay, so the work tree does not change.
func Build(ctx context.Context, root, dir string, all []Mutation) (*Binary, error) {
	root, err := filepath.Abs(root) // the compiler does not run in the current directory
	if err != nil {
		return nil, err
	}
	woven, err := Weave(root, all)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for name, text := range woven {
		as := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(as, text, 0o600); err != nil {
			return nil, err
		}
		replace[filepath.Join(root, name)] = as
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "runs")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", file, "-ldflags", "-s -w", "-o", binary, "./tests/mutate/cmd/runs")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the product with its mutations: %w\n%s", err, out)
	}
	return &Binary{path: binary, right: map[string]Outcome{}}, nil
}
