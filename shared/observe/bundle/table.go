package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
)

// table is the content of one file, by key.
type table[T any] struct {
	presence
	// trimmed are the incomplete rows, with the missing field that the tool always prints.
	trimmed map[string]string
	rows    []T
	keys    []string       // of the rows
	at      map[string]int // key -> index of rows
	key     func(*T) string
}

// newTable returns an empty table. key returns the key of a row; nil if the rows do not contain it.
func newTable[T any](file string, key func(*T) string) *table[T] {
	return &table[T]{presence: presence{file: file}, at: map[string]int{}, key: key}
}

// presence is what is known of a file itself.
type presence struct {
	file string
	// held reports whether the file exists and is not empty. Only then does a missing row count as
	// absent.
	held  bool
	empty bool // the file is empty: the command that writes it failed
	// single reports whether the file has one object where the CLI prints a list. Somebody
	// requested only that one, so nothing is known of others.
	single bool
}

func (p *presence) itself() *presence { return p }

// filed is a table of any rows.
type filed interface{ itself() *presence }

// keyed returns the key of a row: the fields that the pattern names, separated by : or /.
func keyed[T any](pattern string) func(*T) string {
	at := strings.IndexAny(pattern, ":/")
	if at < 0 {
		f, _ := reflect.TypeFor[T]().FieldByName(pattern)
		return func(row *T) string { return plainText(reflect.ValueOf(row).Elem().FieldByIndex(f.Index)) }
	}
	first, second := keyed[T](pattern[:at]), keyed[T](pattern[at+1:])
	return func(row *T) string { return first(row) + pattern[at:at+1] + second(row) }
}

func plainText(v reflect.Value) string {
	switch v := v.Interface().(type) {
	case *string:
		return aws.ToString(v)
	case *int64:
		return strconv.FormatInt(aws.ToInt64(v), 10)
	}
	panic(fmt.Sprintf("no key is a %s", v.Type()))
}

// put adds rows. A later row of the same key replaces an earlier one.
func (t *table[T]) put(rows ...T) {
	t.held = true
	for i := range rows {
		t.set(t.key(&rows[i]), rows[i])
	}
}

func (t *table[T]) set(key string, row T) {
	t.held = true
	delete(t.trimmed, key)
	if at, ok := t.at[key]; ok {
		t.rows[at] = row
		return
	}
	t.at[key] = len(t.rows)
	t.rows, t.keys = append(t.rows, row), append(t.keys, key)
}

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

// known is find for a file that lists everything: for a key without a row it returns the error absent.
func (t *table[T]) known(key string, absent error) (*T, error) {
	row, err := t.find(key)
	if t.held && !t.has(key) {
		err = absent
	}
	return row, err
}

// listing returns an error if the file does not exist, if it does not show what else exists, or if
// something was removed from it.
func (t *table[T]) listing() error {
	if t.single {
		return &awserr.NotCaptured{What: t.file, Why: "holds one thing in the bundle, and not the list of all"}
	}
	if err := t.missing(); err != nil || len(t.trimmed) == 0 {
		return err
	}
	for _, key := range t.keys {
		if err := t.cutDown(key); err != nil {
			return err
		}
	}
	return nil
}

func (t *table[T]) lacks(key string) error {
	return &awserr.NotCaptured{What: key, Why: fmt.Sprintf("is not in %s of the bundle", t.file)}
}

// trim records which field that the tool always prints is missing in the object of a key, "" if
// none.
func (t *table[T]) trim(key, lacks string) {
	if lacks == "" {
		return
	}
	if t.trimmed == nil {
		t.trimmed = map[string]string{}
	}
	t.trimmed[key] = lacks
}

// cutDown returns an error that names what was removed from the object of a key, nil if nothing
// was.
func (t *table[T]) cutDown(key string) error {
	if lacks, ok := t.trimmed[key]; ok {
		return &awserr.NotCaptured{What: key, Why: fmt.Sprintf("lacks %s in %s of the bundle, which is always printed, so it was taken out", lacks, t.file)}
	}
	return nil
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
		if _, err := t.find(k); err != nil {
			return nil, err
		}
	}
	var out []T
	for i := range t.rows {
		if len(keys) > 0 && !slices.Contains(keys, t.keys[i]) {
			continue
		}
		ok, err := matches(filters, &t.rows[i])
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, t.rows[i])
		}
	}
	return out, nil
}

func (t *table[T]) sorted() []T {
	return roll.Map(slices.Sorted(slices.Values(t.keys)), func(key string) T { return t.rows[t.at[key]] })
}

// contents holds all files of a bundle, in the types of the clients that return them.
type contents struct {
	at      time.Time          // zero if unknown
	files   map[string]filed   // each a *table of the rows that its spec names
	refused map[string]refusal // what the API server answered instead, by file
	entries bool               // whether all access entries were listed
}

func newContents() *contents {
	c := &contents{files: map[string]filed{}, refused: map[string]refusal{}}
	for i := range specs {
		c.files[specs[i].name] = specs[i].table()
	}
	for _, folder := range []string{folderUserData, folderConsole, folderHostLogs} {
		c.files[folder] = newTable[[]byte](folder, nil)
	}
	return c
}

func tableOf[T any](c *contents, file string) *table[T] { return c.files[file].(*table[T]) }

// instance is an instance with the data of its reservation.
type instance struct {
	types.Instance
	reservation types.Reservation // without its instances
}

// accessEntry is an access entry as describe-access-entry prints it, or only the ARN from
// list-access-entries.
type accessEntry struct {
	ekstypes.AccessEntry
	listed bool // only PrincipalArn is known
}

func (c *contents) cluster() *table[ekstypes.Cluster] {
	return tableOf[ekstypes.Cluster](c, fileCluster)
}
func (c *contents) instances() *table[instance] { return tableOf[instance](c, fileInstances) }
func (c *contents) accessEntries() *table[accessEntry] {
	return tableOf[accessEntry](c, fileAccessEntries)
}
func (c *contents) nodeGroups() *table[ekstypes.Nodegroup] {
	return tableOf[ekstypes.Nodegroup](c, fileNodeGroups)
}
func (c *contents) objects(file string) *table[item] { return tableOf[item](c, file) }
