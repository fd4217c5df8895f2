package archive

import (
	"bytes"
	"context"
	"path"
	"strings"
	"time"

	"rollcall/shared/plan/replay"
)

// Checks returns where a bucket keeps the recorded checks of a cluster, or of all clusters of the
// region for the name "".
func Checks(account, region, cluster string) string {
	return path.Join("checks", account, region, cluster) + "/"
}

// Record keeps a check for a replay. The objects of a cluster are named by the times of its checks.
func (s *S3) Record(ctx context.Context, c replay.Recorded) error {
	var content bytes.Buffer
	w, err := replay.NewWriter(&content)
	if err != nil {
		return err
	}
	if err = w.Write(c); err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	id := c.Cluster()
	name := Checks(id.Account, id.Region, id.Name) + c.Now.UTC().Format(timestamp) + replay.Extension
	return s.put(ctx, id.Account, name, "application/gzip", content.Bytes())
}

// RecordedAt returns the time of a recorded check by the name of its object.
func RecordedAt(object string) (time.Time, bool) {
	at, err := time.Parse(timestamp, strings.TrimSuffix(path.Base(object), replay.Extension))
	return at, err == nil
}
