package archive_test

import (
	"path"
	"testing"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/roll"
	"rollcall/tests/harness/archivetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A search for all evidence about an instance finds the evidence of each key.
func TestAKeyLiesInTheFolderOfItsInstance(t *testing.T) {
	key := archivetest.Key()
	place, err := key.Path()
	must.That(t, err == nil && place == archivetest.Place, "%q, %v", place, err)
	expect.Equal(t, archive.Folder(key.Cluster, key.Instance), path.Dir(place), "the folder")
}

// A finding about no instance has a folder too, whatever its name.
func TestTheFolderOfWhatIsNoInstance(t *testing.T) {
	for id, want := range map[roll.InstanceID]string{
		roll.SubjectID("nodepool", "general"):   "nodepool-general",
		roll.SubjectID("asg", "../other"):       "asg",
		roll.SubjectID("asg", "blue green"):     "asg",
		roll.SubjectID("eni", "eni-0123456789"): "eni-eni-0123456789",
	} {
		key := archivetest.Key()
		key.Instance = id
		place, err := key.Path()
		expect.That(t, err == nil && path.Base(path.Dir(place)) == want && archive.Folder(key.Cluster, id) == path.Dir(place), "%s: %q, %v", id, place, err)
	}
}
