package sim

import (
	"context"
	"fmt"

	"rollcall/shared/evidence/archive"
)

// bucket is the evidence bucket. It keeps only the names of its objects.
type bucket struct {
	bundles map[string]bool // by the path of their keys
	whole   map[string]bool // those that also have their findings
}

// evidenceStore is a client of the bucket. Like archive.S3, it writes two objects, the findings last, and overwrites
// none.
type evidenceStore struct{ v *env }

// Put stores files under a key. It succeeds if they are already stored.
func (s evidenceStore) Put(ctx context.Context, key archive.Key, files map[string][]byte) (string, error) {
	where, err := key.Path()
	if err != nil {
		return "", err
	}
	if len(files[archive.Findings]) == 0 {
		return "", fmt.Errorf("evidence %s has no %s", where, archive.Findings)
	}
	b := s.v.a.dep.bucket
	for _, put := range []func(){
		func() { b.bundles[where] = true },
		func() {
			b.whole[where] = b.bundles[where]
			s.v.a.audit.stored(s.v.inv, key, files)
		},
	} {
		if err := s.v.call(ctx, "s3:PutObject", writes, "", func() error { put(); return nil }); err != nil {
			return "", fmt.Errorf("keep evidence s3://%s/%s: %w", bucketName, where, err)
		}
	}
	return "s3://" + bucketName + "/" + where + "/", nil
}
