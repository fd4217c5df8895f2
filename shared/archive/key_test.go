package archive_test

import (
	"path"
	"testing"

	"rollcall/shared/archive"
	"rollcall/shared/archive/archivetest"
)

// Whoever looks for all evidence about an instance finds that of each key.
func TestAKeyLiesInTheFolderOfItsInstance(t *testing.T) {
	key := archivetest.Key()
	place, err := key.Path()
	if err != nil || place != archivetest.Place {
		t.Fatalf("%q, %v", place, err)
	}
	if got := archive.Folder(key.Cluster, key.Instance); got != path.Dir(place) {
		t.Errorf("the folder is %q, the key lies in %q", got, path.Dir(place))
	}
}
