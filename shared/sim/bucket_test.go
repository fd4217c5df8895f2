package sim

import (
	"testing"
	"time"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestEvidenceIsKeptWholeOrPutAgain(t *testing.T) {
	key := archive.Key{Cluster: roll.ClusterID{Account: accountID, Region: region, Name: "demo"}, Instance: "i-0123456789abcdef0", Kind: roll.Unknown, At: dawn, Stage: archive.StageWarned}
	files := map[string][]byte{archive.Findings: []byte("{}")}
	a := bare(t, false)
	v := a.environment(inspect)
	put := func(dies int, after bool, key archive.Key, files map[string][]byte) (link string, err error) {
		v.within(dies, after, func() { link, err = evidenceStore{v}.Put(t.Context(), key, files) })
		return link, err
	}
	for _, step := range []struct {
		dies  int
		after bool
		holds bool
	}{{1, false, false}, {1, true, false}, {2, false, false}, {2, true, true}} {
		if _, err := put(step.dies, step.after, key, files); err != nil || a.dep.bucket.holds(key) != step.holds {
			t.Errorf("killed at put %d, after it %v: whole %v, %v", step.dies, step.after, a.dep.bucket.holds(key), err)
		}
	}
	link, err := put(0, false, key, files)
	want := "s3://" + bucketName + "/111122223333/eu-west-1/demo/i-0123456789abcdef0/20260310T120000Z-" + string(roll.Unknown) + "-warned/"
	expect.That(t, err == nil && link == want, "kept in %q, %v; want %s", link, err, want)
	if _, err := put(0, false, key, nil); err == nil {
		t.Error("evidence without findings is kept")
	}
	key.At = time.Time{}
	if _, err := put(0, false, key, files); err == nil {
		t.Error("evidence without a time is kept")
	}
}

// holds reports whether all of the evidence of a key is stored.
func (b *bucket) holds(key archive.Key) bool {
	where, err := key.Path()
	return err == nil && b.whole[where]
}
