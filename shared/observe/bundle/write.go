package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Write writes files, by names with slashes, to a directory that it creates or that is empty. Only
// the user can read it: redacted data is still private. Each file is written completely or not at
// all.
func Write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the bundle %s: %w", dir, err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("write the bundle %s: %w", dir, err)
	}
	if len(there) > 0 {
		return fmt.Errorf("write the bundle %s: there is something in it already (%s): name another directory, or empty this one", dir, there[0].Name())
	}
	root, err := os.OpenRoot(dir) // names come from ids; the root keeps them inside
	if err != nil {
		return fmt.Errorf("write the bundle %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(root, filepath.FromSlash(name), files[name]); err != nil {
			return fmt.Errorf("write %s of the bundle %s: %w", name, dir, err)
		}
	}
	return nil
}

func writeFile(root *os.Root, name string, data []byte) error {
	if folder := filepath.Dir(name); folder != "." {
		if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	partial := name + ".partial"
	f, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(partial))
	}
	return root.Rename(partial, name)
}
