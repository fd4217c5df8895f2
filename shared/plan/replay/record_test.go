package replay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// A small file may expand to any size. The bound is of what it expands to, and a record that ends at it is read.
func TestARecordExpandsToABound(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	must.Succeed(t, err)
	for range 3 {
		must.Succeed(t, w.Write(Recorded{Snapshot: &roll.Snapshot{}}))
	}
	long := Recorded{Snapshot: &roll.Snapshot{}}
	long.Policy.Text = strings.Repeat("a", 1<<20)
	must.Succeed(t, w.Write(long))
	must.Succeed(t, w.Close())
	if file.Len() > 1<<16 {
		t.Fatalf("it does not expand: %d bytes", file.Len())
	}
	for most, fits := range map[int64]bool{1 << 10: false, 1 << 20: false, 2 << 20: true} {
		checks, err := read(bytes.NewReader(file.Bytes()), most)
		if fits != (err == nil) || fits != (len(checks) == 4) || !fits && !strings.Contains(err.Error(), fmt.Sprintf("it expands to more than %d bytes", most)) {
			t.Errorf("%d bytes: %d checks, %v", most, len(checks), err)
		}
	}
}
