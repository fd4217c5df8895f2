package archive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Dir keeps evidence in a local folder, for the command line. Only the owner can access the folders
// it creates.
type Dir struct{ root string }

// NewDir returns a Dir that keeps evidence below a folder. The folder need not exist yet.
func NewDir(root string) *Dir { return &Dir{root: root} }

// Put writes files, which must include Findings, to the folder of the key. The bundle gets a folder
// of its own, unpacked. All files appear at once or not at all. Put succeeds if the key is already
// kept. It returns the folder's URI, file:///path/.
func (d *Dir) Put(ctx context.Context, key Key, files map[string][]byte) (string, error) {
	e, err := newEvidence(key, files)
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(d.root)
	if err != nil {
		return "", fmt.Errorf("keep evidence in %s: %w", d.root, err)
	}
	place := filepath.Join(root, filepath.FromSlash(e.path))
	if err = ctx.Err(); err == nil && !exists(place) {
		err = e.write(place)
	}
	if err != nil {
		return "", fmt.Errorf("keep evidence in %s: %w", place, err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(place) + "/"}).String(), nil
}

// write creates a folder beside the place and renames it once it is complete.
func (e evidence) write(place string) (err error) {
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(place), ".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }()
	for _, name := range e.names() {
		if err := writeFile(filepath.Join(draft, folder, filepath.FromSlash(name)), e.bundle[name]); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(draft, Findings), e.findings); err != nil {
		return err
	}
	// Another process may have been first. Its evidence is as good.
	if err := os.Rename(draft, place); err != nil && !exists(place) {
		return err
	}
	return nil
}

// writeFile writes a new file and syncs it to disk, because an act may follow.
func writeFile(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
