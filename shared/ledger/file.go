package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"rollcall/shared/roll"
)

// File is a ledger in one JSON file, for the command line. Every write locks FILE.lock,
// reads the file again and replaces it whole: two commands at once are safe, and a crash
// leaves the old content or the new.
type File struct {
	states

	path string
	mu   sync.Mutex // flock excludes processes, not the goroutines of one
	lock *flock.Flock
}

// formatVersion is the version of the file format. Files of a later version are refused.
const formatVersion = 1

// lockInterval is the time between two tries to take the lock.
const lockInterval = 50 * time.Millisecond

// OpenFile opens the ledger in a file. The file need not exist, but its folder must.
// OpenFile returns an error for a file that is not a ledger, and leaves it unchanged.
func OpenFile(path string) (*File, error) {
	// Follow a link: otherwise replacing the file would replace the link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f := &File{path: path, lock: flock.New(path + ".lock")}
	f.states = states{f.update}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("open ledger %s: the folder %s does not exist; create it or name another file", path, filepath.Dir(path))
	}
	if _, err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// Read implements Ledger.
func (f *File) Read(_ context.Context, cluster roll.ClusterID) (State, error) {
	all, err := f.load()
	if err != nil {
		return State{}, err
	}
	return *stateIn(all, cluster), nil
}

// Persistent implements Ledger.
func (f *File) Persistent() bool { return true }

func (f *File) update(ctx context.Context, cluster roll.ClusterID, change func(*State) error) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.lock.TryLockContext(ctx, lockInterval); err != nil {
		return fmt.Errorf("lock ledger %s.lock (another rollcall may hold it): %w", f.path, err)
	}
	defer func() { err = errors.Join(err, f.lock.Unlock()) }()

	all, err := f.load()
	if err != nil {
		return err
	}
	s := stateIn(all, cluster)
	if err := change(s); err != nil {
		return err
	}
	all[cluster.String()] = s
	return f.store(all)
}

func stateIn(all map[string]*State, cluster roll.ClusterID) *State {
	s := all[cluster.String()]
	if s == nil {
		s = new(State)
	}
	s.init()
	return s
}

// content is the content of the file: states by cluster.
type content struct {
	Version  int               `json:"version"`
	Clusters map[string]*State `json:"clusters"`
}

func (f *File) load() (map[string]*State, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]*State{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	all, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", f.path, err)
	}
	return all, nil
}

// parse decodes a file's content.
func parse(data []byte) (map[string]*State, error) {
	var format struct {
		Version int `json:"version"`
	}
	// Decode the version first: in a later version everything else may differ.
	if err := json.Unmarshal(data, &format); err == nil && format.Version > formatVersion {
		return nil, fmt.Errorf("it has format version %d, this program knows %d; name another file or use a later program", format.Version, formatVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var c content
	err := dec.Decode(&c)
	if err == nil && c.Version < 1 {
		err = fmt.Errorf("its format version is %d", c.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not a ledger (%w); name another file, or move it away if its memory may be lost", err)
	}
	if c.Clusters == nil {
		c.Clusters = map[string]*State{}
	}
	return c.Clusters, nil
}

func (f *File) store(all map[string]*State) error {
	data, err := json.MarshalIndent(content{formatVersion, all}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode ledger: %w", err)
	}
	return replaceFile(f.path, append(data, '\n'))
}

// replaceFile writes a temporary file, syncs it to disk and renames it: a lost intent would
// be an act without a record.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write ledger: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder syncs the folder to disk, so that a rename in it survives a power failure.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return fmt.Errorf("sync the ledger's folder: %w", err)
	}
	return nil
}
