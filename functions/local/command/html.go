package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

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
		return fmt.Errorf("--html %s: %s is not a folder", path, filepath.Dir(path))
	}
	return nil
}

// writePage writes a page, unless the path is "". A concurrent reader of the file sees the old page
// or the new one, never a part.
func writePage(path, command string, made func() page.Document) error {
	if path == "" {
		return nil
	}
	d := made()
	d.Footer = []string{"Made by: rollcall " + command + " --html FILE, version " + version() + ". All times are in UTC."}
	data, err := page.Render(d)
	if err == nil {
		err = replace(path, data)
	}
	return ofFlag("--html "+path, err)
}

// openers are the commands that open a file with the program that a person uses for it.
var openers = map[string][]string{"darwin": {"open"}, "windows": {"cmd", "/c", "start", ""}}

// show opens a page in the browser of an operating system, by its runtime.GOOS.
func show(ctx context.Context, system, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("--open: %w", err)
	}
	command, ok := openers[system]
	if !ok {
		command = []string{"xdg-open"}
	}
	// Some openers are the browser itself, and end with it: it must outlive the command.
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], path)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ended := make(chan error, 1)
	if err = cmd.Start(); err == nil {
		go func() { ended <- cmd.Wait() }()
		select {
		case err = <-ended:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(opening):
			return nil // it shows the page
		}
	}
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(out.String()); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return fmt.Errorf("--open: %s could not open %s: %w", command[0], path, err)
}

// opening is how long an opener may take to fail.
const opening = 3 * time.Second

// replace writes a file by a draft beside it. The draft has an unpredictable name and is the user's alone, as
// the folder may be one that others write to. The file keeps the permissions of the one that it replaces.
func replace(path string, data []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	_, err = draft.Write(data)
	if old, missing := os.Lstat(path); missing == nil && old.Mode().IsRegular() {
		err = errors.Join(err, os.Chmod(draft.Name(), old.Mode().Perm()))
	}
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(draft.Name()))
	}
	return err
}
