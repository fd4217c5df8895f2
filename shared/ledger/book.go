package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// store keeps records: JSON documents under keys, in partitions. A store only reads and
// writes. What may be written is decided in this file, once for all stores.
type store interface {
	// read returns the records of a partition whose keys begin with a prefix. They include
	// every earlier write, but perhaps only a part of a write in progress.
	read(ctx context.Context, partition, prefix string) ([]record, error)
	// write makes as many of the writes as fit in one step, in order, and returns their
	// number. The guard, if any, is part of each step. A step is made as a whole or not at
	// all: it fails with errMoved if a condition does not hold, and with errBusy if it met
	// another writer or exceeded the store's rate, and may be tried again.
	write(ctx context.Context, partition string, writes []write, guard *write) (int, error)
}

type record struct {
	key     string
	value   string
	version int64 // 0 if it was written without one
}

type write struct {
	key     string
	value   json.RawMessage // nil deletes the record
	version int64           // that the record gets
	expires time.Time       // when it is no longer needed; zero if it is until it is deleted
	// read is the version that the record must have, 0 if it must not exist. nil means any.
	read *int64
}

var (
	errMoved = errors.New("the ledger was changed at the same time")
	errBusy  = errors.New("the records are busy")
)

// book is a ledger over a store.
type book struct {
	store store
	// forgets reports whether the store deletes expired records by itself.
	forgets bool
	// Pause waits before the next try of a write that met another writer or was throttled. conflicts
	// counts from 1. The default waits for a random time with a limit that grows from 25 ms to one
	// second.
	Pause func(ctx context.Context, conflicts int) error
}

const (
	shortPause = 25 * time.Millisecond
	longPause  = time.Second
	// tries is the maximum number of tries of a write that meets another writer each time.
	// Each round lets one writer through, and there are seldom more than two. The pauses last for
	// about five seconds, in which a partition of DynamoDB takes a dozen transactions.
	tries = 16
)

// pause waits with jitter, so that two writers do not meet again.
func pause(ctx context.Context, conflicts int) error {
	limit := min(shortPause<<(conflicts-1), longPause)
	waiting, cancel := context.WithTimeout(ctx, rand.N(limit))
	defer cancel()
	<-waiting.Done()
	return ctx.Err()
}

// retry repeats try while it meets another writer or is throttled.
func (b *book) retry(ctx context.Context, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if !errors.Is(err, errMoved) && !errors.Is(err, errBusy) {
			return err
		}
		if n == tries {
			return fmt.Errorf("gave up after %d tries: %w", n, err)
		}
		if ended := b.Pause(ctx, n); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

func partition(c roll.ClusterID) string { return "cluster#" + c.String() }

// Read implements Ledger. It may miss an act that begins at the same time; Begin does not
// rely on it.
func (b *book) Read(ctx context.Context, cluster roll.ClusterID) (state State, err error) {
	err = b.retry(ctx, func() error {
		records, err := b.store.read(ctx, partition(cluster), "")
		if err == nil {
			state, err = stateOf(records)
		}
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("read ledger of %s: %w", cluster, err)
	}
	return state, nil
}

// Record implements Ledger. README.md explains what a crash between two steps leaves, and
// why it loses nothing.
func (b *book) Record(ctx context.Context, cluster roll.ClusterID, changes Changes) error {
	all, err := changes.writes()
	if err != nil {
		return fmt.Errorf("record changes of %s: %w", cluster, err)
	}
	var guard *write
	if v := changes.NoticesVersion; v != 0 {
		guard = noticesWrite(v, v)
	}
	for left := all; len(left) > 0; {
		err := b.retry(ctx, func() error {
			n, err := b.store.write(ctx, partition(cluster), left, guard)
			left = left[n:]
			return noticesMoved(err)
		})
		if err != nil {
			return fmt.Errorf("record changes of %s, %d of %d made: %w", cluster, len(all)-len(left), len(all), err)
		}
	}
	return nil
}

// RaiseNotices implements Ledger.
func (b *book) RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error {
	err := b.retry(ctx, func() error {
		_, err := b.store.write(ctx, partition(cluster), []write{*noticesWrite(read, read+1)}, nil)
		return noticesMoved(err)
	})
	if err != nil {
		return fmt.Errorf("raise the version of the notices of %s: %w", cluster, err)
	}
	return nil
}

// noticesKey is the key of the record whose version is that of a cluster's notices.
const noticesKey = "notices"

func noticesWrite(read, next int64) *write {
	return &write{key: noticesKey, value: json.RawMessage(`{}`), version: next, read: &read}
}

// noticesMoved returns ErrNoticesMoved for a condition that does not hold: the notices'
// version is the only one.
func noticesMoved(err error) error {
	if errors.Is(err, errMoved) {
		return fmt.Errorf("%w: %s", ErrNoticesMoved, err.Error())
	}
	return err
}

// Begin implements Ledger. After any error other than its four refusals, it is unknown
// whether the intent was recorded. Then nothing may be done, and a later check settles the
// intent.
//
// It reads, decides, and writes only if no other act began since it read.
func (b *book) Begin(ctx context.Context, cluster roll.ClusterID, intent Action, budget Budget) error {
	pk := partition(cluster)
	return b.retry(ctx, func() error {
		// Read the last turn first: an act that begins after this changes its version.
		last, err := b.lastTurn(ctx, pk)
		if err != nil {
			return err
		}
		acts, err := b.acts(ctx, pk)
		if err != nil {
			return err
		}
		if err := last.among(acts, intent.At); err != nil {
			return err
		}
		if err := (State{Actions: actionsOf(acts)}).refuse(intent, budget); err != nil {
			return err
		}
		next := last.version + 1
		if n := len(acts); n > 0 { // the record may have been deleted by hand
			next = max(next, acts[n-1].Turn+1)
		}
		intent.Outcome = nil
		began := act{Action: intent, Turn: next}
		put, err := began.write(0)
		if err != nil {
			return err
		}
		raised, err := encode(turnKey, none{}, turn{Last: put.key, LastAt: intent.At})
		if err != nil {
			return err
		}
		raised.version, raised.read = next, &last.version
		if _, err := b.store.write(ctx, pk, append(b.expired(acts, intent.At), put), &raised); err != nil {
			return fmt.Errorf("begin %s of %s: %w", intent.Do, intent.Instance, err)
		}
		return nil
	})
}

// expired returns the deletes of acts that are no longer needed, unless the store deletes
// them.
func (b *book) expired(acts []act, now time.Time) (writes []write) {
	for _, a := range acts {
		if !b.forgets && a.Outcome != nil && now.Sub(a.At) >= ActionRetention {
			writes = append(writes, write{key: a.key()})
		}
	}
	return writes
}

// Finish implements Ledger.
func (b *book) Finish(ctx context.Context, cluster roll.ClusterID, actionID string, outcome Outcome) error {
	pk := partition(cluster)
	return b.retry(ctx, func() error {
		acts, err := b.acts(ctx, pk)
		if err != nil {
			return err
		}
		for _, a := range slices.Backward(acts) {
			if a.ID != actionID {
				continue
			}
			if a.Outcome != nil {
				return nil // only the first outcome is recorded
			}
			a.Outcome = &outcome
			put, err := a.write(a.version)
			if err == nil {
				_, err = b.store.write(ctx, pk, []write{put}, nil)
			}
			if err != nil {
				return fmt.Errorf("record outcome of order %s: %w", actionID, err)
			}
			return nil
		}
		return fmt.Errorf("outcome of order %s: %w", actionID, ErrNotBegun)
	})
}
