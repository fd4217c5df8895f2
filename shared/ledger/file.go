package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"rollcall/shared/roll"
)

// File is a ledger in one JSON file, for the command line. Every write locks FILE.lock,
// reads the file again and replaces it whole: two commands at once are safe, and a crash
// leaves the old content or the new.
type File struct {
	book

	in *inFile
}

type inFile struct {
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
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("open ledger %s: the folder %s does not exist; create it or name another file", path, filepath.Dir(path))
	}
	f := &inFile{path: path, lock: flock.New(path + ".lock")}
	if _, err := f.load(); err != nil {
		return nil, err
	}
	return &File{book{store: f, Pause: pause}, f}, nil
}

// Persistent implements Ledger.
func (f *File) Persistent() bool { return true }

// Clusters returns the clusters of an account and region in the file, by name.
func (f *File) Clusters(_ context.Context, account, region string) (out []roll.ClusterID, _ error) {
	all, err := f.in.load()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if name, ok := strings.CutPrefix(key, partition(roll.ClusterID{Account: account, Region: region})); ok {
			out = append(out, roll.ClusterID{Account: account, Region: region, Name: name})
		}
	}
	return out, err
}

func (f *inFile) read(_ context.Context, partition, prefix string) ([]record, error) {
	all, err := f.load()
	return all.read(partition, prefix), err
}

func (f *inFile) write(ctx context.Context, partition string, writes []write, guard *write) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.lock.TryLockContext(ctx, lockInterval); err != nil {
		return 0, fmt.Errorf("lock ledger %s.lock (another rollcall may hold it): %w", f.path, err)
	}
	defer func() { err = errors.Join(err, f.lock.Unlock()) }()

	all, err := f.load()
	if err != nil {
		return 0, err
	}
	if n, err = all.write(partition, writes, guard); err != nil {
		return 0, err
	}
	return n, f.replace(all)
}

type content struct {
	Version int        `json:"version"`
	Records partitions `json:"records"`
}

func (f *inFile) load() (partitions, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return partitions{}, nil
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
func parse(data []byte) (partitions, error) {
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
	if c.Records == nil {
		c.Records = partitions{}
	}
	return c.Records, nil
}

func (f *inFile) replace(all partitions) error {
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
