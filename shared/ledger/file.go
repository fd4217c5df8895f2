package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"rollcall/shared/roll"
)

// File is a ledger in one JSON file, for the command line: readable, and safe
// against two commands at once. Every write takes a lock on FILE.lock, reads the
// file again, and replaces it whole, so that a crash leaves the old content or
// the new one, never half of it.
type File struct {
	path string
	mu   sync.Mutex // flock excludes processes, not the goroutines of one
	lock *flock.Flock
}

// formatVersion of the files that are written. What an earlier version wrote is read,
// and lacks what that did not know; a later one is refused, not guessed at.
//
//	1  what findings, notices, rests and acts need
//	2  checked, missing, flips, pressures, groups, trouble, refusals; new attributes of
//	   findings, nodes that are not ready, notices and acts
const formatVersion = 2

// lockPatience is how often the lock is tried again while another process has it.
const lockPatience = 50 * time.Millisecond

// OpenFile opens the ledger in the file, which need not exist yet; its folder
// must. A file that is not a ledger is an error, and is left as it is.
func OpenFile(path string) (*File, error) {
	// A link is followed once, here: replacing the file would otherwise replace the
	// link, and split the memory in two.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f := &File{path: path, lock: flock.New(path + ".lock")}
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
	states, err := f.load()
	if err != nil {
		return State{}, err
	}
	s := states[cluster.String()]
	if s == nil {
		s = new(State)
	}
	s.init()
	return *s, nil
}

// Record implements Ledger.
func (f *File) Record(ctx context.Context, cluster roll.ClusterID, changes Changes) error {
	if changes.Empty() {
		return nil
	}
	return f.update(ctx, cluster, func(s *State) error {
		if err := s.may(changes); err != nil {
			return err
		}
		s.Apply(changes)
		return nil
	})
}

// RaiseNotices implements Ledger.
func (f *File) RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error {
	return f.update(ctx, cluster, func(s *State) error { return s.raiseNotices(read) })
}

// Begin implements Ledger.
func (f *File) Begin(ctx context.Context, cluster roll.ClusterID, intent Action, budget Budget) error {
	return f.update(ctx, cluster, func(s *State) error { return s.begin(intent, budget) })
}

// Finish implements Ledger.
func (f *File) Finish(ctx context.Context, cluster roll.ClusterID, actionID string, outcome Outcome) error {
	return f.update(ctx, cluster, func(s *State) error { return s.finish(actionID, outcome) })
}

// Persistent implements Ledger.
func (f *File) Persistent() bool { return true }

func (f *File) update(ctx context.Context, cluster roll.ClusterID, change func(*State) error) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.lock.TryLockContext(ctx, lockPatience); err != nil {
		return fmt.Errorf("lock ledger %s.lock (another rollcall may hold it): %w", f.path, err)
	}
	defer func() { err = errors.Join(err, f.lock.Unlock()) }()

	states, err := f.load()
	if err != nil {
		return err
	}
	s := states[cluster.String()]
	if s == nil {
		s = new(State)
	}
	s.init()
	if err := change(s); err != nil {
		return err
	}
	states[cluster.String()] = s
	return f.store(states)
}

// fileForm is the file's content. Maps whose keys are structs become sorted
// lists, so that the file reads well and changes little from write to write.
type fileForm struct {
	Version  int                     `json:"version"`
	Clusters map[string]*clusterForm `json:"clusters"`
}

type clusterForm struct {
	RemediateSince  map[roll.Group]time.Time     `json:"remediateSince,omitempty"`
	Findings        []Finding                    `json:"findings,omitempty"`
	NotReady        map[roll.InstanceID]NotReady `json:"notReady,omitempty"`
	Rests           map[roll.InstanceID]Rest     `json:"rests,omitempty"`
	GroupsWithNodes map[roll.Origin]time.Time    `json:"groupsWithNodes,omitempty"`
	Notices         []noticeForm                 `json:"notices,omitempty"`
	NoticesVersion  int64                        `json:"noticesVersion,omitempty"`
	Actions         []Action                     `json:"actions,omitempty"`

	First     time.Time                       `json:"first,omitzero"`
	Checked   time.Time                       `json:"checked,omitzero"`
	Missing   map[roll.InstanceID]time.Time   `json:"missing,omitempty"`
	Flips     map[roll.InstanceID][]time.Time `json:"flips,omitempty"`
	Pressures map[roll.InstanceID]Pressure    `json:"pressures,omitempty"`
	Groups    map[roll.Group]GroupMemory      `json:"groups,omitempty"`
	Trouble   *Trouble                        `json:"trouble,omitempty"`
	Refusals  []refusalForm                   `json:"refusals,omitempty"`
	Spot      []spotForm                      `json:"spot,omitempty"`
}

type noticeForm struct {
	Group roll.Group `json:"group"`
	Kind  roll.Kind  `json:"kind"`
	Cause string     `json:"cause,omitempty"`
	Notice
}

func (f noticeForm) key() NoticeKey { return NoticeKey{Group: f.Group, Kind: f.Kind, Cause: f.Cause} }

type refusalForm struct {
	Order  string `json:"order"`
	Reason string `json:"reason"`
	Refusal
}

type spotForm struct {
	Instance roll.InstanceID `json:"instance"`
	Event    roll.SpotEvent  `json:"event"`
	At       time.Time       `json:"at"`
}

func (f *File) load() (map[string]*State, error) {
	states := map[string]*State{}
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return states, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	form, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", f.path, err)
	}
	for name, c := range form.Clusters {
		if c != nil {
			states[name] = c.state()
		}
	}
	return states, nil
}

// parse reads a file's content.
func parse(data []byte) (form fileForm, err error) {
	var format struct {
		Version int `json:"version"`
	}
	// The version first: in a later one, everything else may be unknown.
	if err := json.Unmarshal(data, &format); err == nil && format.Version > formatVersion {
		return form, fmt.Errorf("it has format version %d, this program knows 1 to %d; name another file or use a later program", format.Version, formatVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&form); err != nil {
		return form, fmt.Errorf("it is not a ledger (%w); name another file, or move it away if its memory may be lost", err)
	}
	if form.Version < 1 {
		return form, fmt.Errorf("it is not a ledger (its format version is %d); name another file, or move it away if its memory may be lost", form.Version)
	}
	return form, nil
}

func (c *clusterForm) state() *State {
	s := &State{
		RemediateSince: c.RemediateSince, NotReady: c.NotReady, Rests: c.Rests, GroupsWithNodes: c.GroupsWithNodes, Actions: c.Actions, NoticesVersion: c.NoticesVersion,
		First: c.First, Checked: c.Checked, Missing: c.Missing, Flips: c.Flips, Pressures: c.Pressures, Groups: c.Groups, Trouble: c.Trouble,
	}
	s.init()
	for _, finding := range c.Findings {
		s.Findings[finding.Key()] = finding
	}
	for _, n := range c.Notices {
		s.Notices[n.key()] = n.Notice
	}
	for _, r := range c.Refusals {
		s.Refusals[RefusalKey{Order: r.Order, Reason: r.Reason}] = r.Refusal
	}
	for _, a := range c.Spot {
		s.Spot[SpotKey{a.Instance, a.Event}] = a.At
	}
	return s
}

func formOf(s *State) *clusterForm {
	c := &clusterForm{
		RemediateSince: s.RemediateSince, NotReady: s.NotReady, Rests: s.Rests, GroupsWithNodes: s.GroupsWithNodes, Actions: s.Actions, NoticesVersion: s.NoticesVersion,
		First: s.First, Checked: s.Checked, Missing: s.Missing, Flips: s.Flips, Pressures: s.Pressures, Groups: s.Groups, Trouble: s.Trouble,
	}
	c.Findings = slices.SortedFunc(maps.Values(s.Findings), func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Kind, b.Kind))
	})
	for k, n := range s.Notices {
		c.Notices = append(c.Notices, noticeForm{Group: k.Group, Kind: k.Kind, Cause: k.Cause, Notice: n})
	}
	slices.SortFunc(c.Notices, func(a, b noticeForm) int { return a.key().Compare(b.key()) })
	for k, r := range s.Refusals {
		c.Refusals = append(c.Refusals, refusalForm{Order: k.Order, Reason: k.Reason, Refusal: r})
	}
	slices.SortFunc(c.Refusals, func(a, b refusalForm) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Reason, b.Reason))
	})
	for _, k := range slices.SortedFunc(maps.Keys(s.Spot), SpotKey.compare) {
		c.Spot = append(c.Spot, spotForm{k.Instance, k.Event, s.Spot[k]})
	}
	return c
}

func (f *File) store(states map[string]*State) error {
	form := fileForm{Version: formatVersion, Clusters: map[string]*clusterForm{}}
	for name, s := range states {
		form.Clusters[name] = formOf(s)
	}
	data, err := json.MarshalIndent(form, "", "  ")
	if err != nil {
		return fmt.Errorf("encode ledger: %w", err)
	}
	return replaceFile(f.path, append(data, '\n'))
}

// replaceFile writes beside the file, makes sure that the bytes are on the disk,
// and renames: an intent that a crash loses would be an act nobody knows of.
func replaceFile(path string, data []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return errors.Join(fmt.Errorf("write ledger: %w", err), tmp.Close())
	}
	if err := tmp.Sync(); err != nil {
		return errors.Join(fmt.Errorf("write ledger: %w", err), tmp.Close())
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename in the folder survive a power cut.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync the ledger's folder: %w", err)
	}
	if err := dir.Sync(); err != nil {
		return errors.Join(fmt.Errorf("sync the ledger's folder: %w", err), dir.Close())
	}
	return dir.Close()
}
