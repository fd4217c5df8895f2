package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rollcall/shared/report"
	"rollcall/shared/report/page"
)

// placeable returns an error if a page could not be written to the path. It runs before
// anything is read or done, and checks what can be known by then.
func placeable(path string) error {
	if path == "" {
		return nil
	}
	if at, err := os.Stat(path); err == nil && at.IsDir() {
		return fmt.Errorf("--html %s: it is a folder; name a file", path)
	}
	switch in, err := os.Stat(filepath.Dir(path)); {
	case err != nil:
		return fmt.Errorf("--html %s: the folder of the file: %w", path, err)
	case !in.IsDir():
		return fmt.Errorf("--html %s: %s is no folder", path, filepath.Dir(path))
	}
	return nil
}

// writePage writes the checks as a page. A concurrent reader of the file sees the old page
// or the new one, never a part.
func writePage(path, command string, results []report.Check) error {
	d := report.Page(results)
	d.Footer = []string{"Made by: rollcall " + command + " --html FILE, version " + version() + ". All times are in UTC."}
	data, err := page.Render(d)
	if err != nil {
		return fmt.Errorf("--html %s: %w", path, err)
	}
	if err := replace(path, data); err != nil {
		return fmt.Errorf("--html %s: %w", path, err)
	}
	return nil
}

// replace replaces a file atomically.
func replace(path string, data []byte) error {
	draft := fmt.Sprintf("%s.new-%d", path, os.Getpid())
	err := os.WriteFile(draft, data, 0o644)
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err == nil {
		return nil
	}
	if gone := os.Remove(draft); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		return errors.Join(err, gone)
	}
	return err
}
