// Package memo caches computed values. Instances of one launch template have the same user data,
// and a check a minute later reads the same texts again.
//
// The cache keeps only the hash of a text, a [Key], since a text may hold secrets.
package memo

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Key is the hash of one or more texts.
type Key [sha256.Size]byte

// Of returns the key of the texts. Their order matters.
func Of[T string | []byte](texts ...T) (k Key) {
	if len(texts) == 1 {
		return sha256.Sum256([]byte(texts[0]))
	}
	h := sha256.New()
	for _, t := range texts {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(t))))
		_, _ = h.Write([]byte(t))
	}
	return Key(h.Sum(nil))
}

// Memo keeps at least the Most values that were used last, and at most twice that number. It is
// safe for concurrent use. Values are shared and must not be changed.
type Memo[K comparable, V any] struct {
	Most int

	mu           sync.Mutex
	young, older map[K]V
}

// Get returns the value for the key. It calls compute if the value is not cached.
func (m *Memo[K, V]) Get(k K, compute func() V) V {
	v, ok := m.Find(k)
	if !ok {
		v = compute()
		m.Put(k, v)
	}
	return v
}

// Find returns the value for the key, if it is cached.
func (m *Memo[K, V]) Find(k K) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok = m.young[k]; ok {
		return v, true
	}
	if v, ok = m.older[k]; ok {
		m.put(k, v)
	}
	return v, ok
}

// Put caches the value for the key.
func (m *Memo[K, V]) Put(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(k, v)
}

func (m *Memo[K, V]) put(k K, v V) {
	if m.young == nil || len(m.young) >= m.Most {
		m.older, m.young = m.young, make(map[K]V, 16)
	}
	m.young[k] = v
}
