package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
)

// table is the content of one file, by key.
type table[T any] struct {
	file string
	// held reports whether the file exists and is not empty. Only then does a missing row count as
	// absent.
	held  bool
	empty bool // the file is empty: the command that writes it failed
	// single reports whether the file holds one object by itself, where the CLI prints a list.
	// Somebody requested that one, so nothing is known of others.
	single bool
	// trimmed are the incomplete rows, with the missing field that the tool always prints.
	trimmed map[string]string
	rows    []T
	at      map[string]int // key -> index of rows
	key     func(*T) string
}

func newTable[T any](file string, key func(*T) string) table[T] {
	return table[T]{file: file, at: map[string]int{}, key: key}
}

// put adds rows. A later row of the same key replaces an earlier one.
func (t *table[T]) put(rows ...T) {
	t.held = true
	for i := range rows {
		k := t.key(&rows[i])
		delete(t.trimmed, k)
		if at, ok := t.at[k]; ok {
			t.rows[at] = rows[i]
			continue
		}
		t.at[k] = len(t.rows)
		t.rows = append(t.rows, rows[i])
	}
}

// has reports whether there is a row for the key.
func (t *table[T]) has(key string) bool { _, ok := t.at[key]; return ok }

// missing returns an error if the file does not exist.
func (t *table[T]) missing() error {
	if t.held {
		return nil
	}
	if t.empty {
		return &awserr.NotCaptured{What: t.file, Why: "is empty in the bundle"}
	}
	return &awserr.NotCaptured{What: t.file}
}

// find returns the row of a key, or an empty one with an error. In a file that names its rows one
// by one, a missing row does not count as "there is none".
func (t *table[T]) find(key string) (*T, error) {
	if err := t.missing(); err != nil {
		return new(T), err
	}
	if err := t.cutDown(key); err != nil {
		return new(T), err
	}
	if at, ok := t.at[key]; ok {
		return &t.rows[at], nil
	}
	return new(T), t.lacks(key)
}

// keys returns the keys of the rows, in order.
func (t *table[T]) keys() []string {
	out := []string{}
	for i := range t.rows {
		out = append(out, t.key(&t.rows[i]))
	}
	return out
}

// listing returns an error if the file does not exist, if it does not show what else exists, or if
// something was removed from it.
func (t *table[T]) listing() error {
	if t.single {
		return &awserr.NotCaptured{What: t.file, Why: "holds one thing in the bundle, and not the list of all"}
	}
	if err := t.missing(); err != nil {
		return err
	}
	return t.anyCutDown()
}

func (t *table[T]) lacks(key string) error {
	return &awserr.NotCaptured{What: key, Why: fmt.Sprintf("is not in %s of the bundle", t.file)}
}

// filtered returns the rows of the keys, or all rows if there are none, that the filters select. A
// key without a row is an error, as in find.
func filtered[T any](t *table[T], keys []string, filters []types.Filter) ([]T, error) {
	if err := t.missing(); err != nil {
		return nil, err
	}
	if len(keys) == 0 && t.listing() != nil {
		return nil, t.listing()
	}
	for _, k := range keys {
		if !t.has(k) {
			return nil, t.lacks(k)
		}
		if err := t.cutDown(k); err != nil {
			return nil, err
		}
	}
	var out []T
	for i := range t.rows {
		r := &t.rows[i]
		if len(keys) > 0 && !slices.Contains(keys, t.key(r)) {
			continue
		}
		ok, err := matches(filters, r)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, *r)
		}
	}
	return out, nil
}

// sorted returns the rows in the order of their keys.
func (t *table[T]) sorted() []T {
	rows := slices.Clone(t.rows)
	slices.SortStableFunc(rows, func(a, b T) int { return strings.Compare(t.key(&a), t.key(&b)) })
	return rows
}
