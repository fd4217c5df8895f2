package ledger

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// stored is a record in memory or in a file.
type stored struct {
	Version int64           `json:"version,omitempty"`
	Value   json.RawMessage `json:"value"`
}

// partitions are the records of a store in memory or in a file, by partition and key.
type partitions map[string]map[string]stored

func (p partitions) read(partition, prefix string) (out []record) {
	for _, key := range slices.Sorted(maps.Keys(p[partition])) {
		if strings.HasPrefix(key, prefix) {
			r := p[partition][key]
			out = append(out, record{key, string(r.Value), r.Version})
		}
	}
	return out
}

// write makes all writes and returns their number, or none if a condition does not hold.
func (p partitions) write(partition string, writes []write, guard *write) (int, error) {
	in := p[partition]
	n := len(writes)
	if guard != nil {
		writes = append(slices.Clip(writes), *guard)
	}
	for _, w := range writes {
		r, exists := in[w.key]
		if w.read != nil && (*w.read != r.Version || *w.read == 0 && exists) {
			return 0, errMoved
		}
	}
	if in == nil {
		in = map[string]stored{}
		p[partition] = in
	}
	for _, w := range writes {
		if in[w.key] = (stored{w.version, w.value}); w.value == nil {
			delete(in, w.key)
		}
	}
	return n, nil
}

// Memory is a ledger in memory.
type Memory struct{ book }

// NewMemory returns an empty ledger.
func NewMemory() *Memory {
	return &Memory{book{store: &inMemory{all: partitions{}}, Pause: pause}}
}

// Persistent implements Ledger.
func (m *Memory) Persistent() bool { return false }

type inMemory struct {
	mu  sync.Mutex
	all partitions
}

func (m *inMemory) read(_ context.Context, partition, prefix string) ([]record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all.read(partition, prefix), nil
}

func (m *inMemory) write(_ context.Context, partition string, writes []write, guard *write) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all.write(partition, writes, guard)
}
