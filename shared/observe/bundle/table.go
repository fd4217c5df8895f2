package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
)

// table is what one file holds, by key.
type table[T any] struct {
	file string
	// held: the file is there and says something. Only then what it lacks may be taken
	// for absent.
	held  bool
	empty bool // the file is there, and empty: the command that was to write it failed
	// single: the file holds one thing by itself, where the CLI prints a list. Somebody
	// asked for that one, so nothing is known of others.
	single bool
	// trimmed are the rows that lack something which the tool always prints, and what.
	trimmed map[string]string
	rows    []T
	at      map[string]int // key -> index of rows
	key     func(*T) string
}

func newTable[T any](file string, key func(*T) string) table[T] {
	return table[T]{file: file, at: map[string]int{}, key: key}
}

// put keeps rows; a later one of the same key replaces an earlier one.
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

// has reports whether there is a row of the key.
func (t *table[T]) has(key string) bool { _, ok := t.at[key]; return ok }

// missing says that the file is not there.
func (t *table[T]) missing() error {
	if t.held {
		return nil
	}
	if t.empty {
		return &awserr.NotCaptured{What: t.file, Why: "is empty in the bundle"}
	}
	return &awserr.NotCaptured{What: t.file}
}

// find is the row of a key, or an empty one with an error. That a file which names its rows
// one by one lacks one is not taken for "there is none".
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

// keys are those of the rows, in their order.
func (t *table[T]) keys() []string {
	out := []string{}
	for i := range t.rows {
		out = append(out, t.key(&t.rows[i]))
	}
	return out
}

// listing says that the file is not there, that nobody can tell from it what else there
// is, or that something was taken out of it.
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

// filtered are the rows of the keys, or all rows if there are none, that the filters
// choose. A key without a row is an error, as in find.
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

// sorted are the rows in the order of their keys.
func (t *table[T]) sorted() []T {
	rows := slices.Clone(t.rows)
	slices.SortStableFunc(rows, func(a, b T) int { return strings.Compare(t.key(&a), t.key(&b)) })
	return rows
}
