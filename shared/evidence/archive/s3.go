package archive

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/plan/replay"
)

type s3API interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

// S3 keeps evidence in a bucket, as two objects for each key: first bundle.tar.gz, which unpacks
// into a folder, then findings.json. The bucket belongs to the account and region of the clusters
// and encrypts by default. The caller needs only the permission to put objects that do not exist
// yet.
type S3 struct {
	api    s3API
	bucket string
}

// NewS3 returns an S3 that keeps evidence in the bucket.
func NewS3(api s3API, bucket string) *S3 { return &S3{api: api, bucket: bucket} }

// Put writes files, which must include Findings, under a key. It succeeds if the key is already
// kept. After an error the evidence is incomplete; another Put of the key completes it. It returns
// the folder's URI, s3://bucket/path/, for aws s3 cp --recursive.
func (s *S3) Put(ctx context.Context, key Key, files map[string][]byte) (string, error) {
	e, err := newEvidence(key, files)
	if err != nil {
		return "", err
	}
	if len(e.findings) > MaxSize {
		return "", fmt.Errorf("evidence %s: %s has %d bytes, more than %d, and is not kept", e.path, Findings, len(e.findings), MaxSize)
	}
	packed, err := e.pack(key.At, MaxSize)
	if err != nil {
		return "", err
	}
	if err := s.put(ctx, key.Cluster.Account, e.path+"/bundle.tar.gz", "application/gzip", packed); err != nil {
		return "", err
	}
	if err := s.put(ctx, key.Cluster.Account, e.path+"/"+Findings, "application/json", e.findings); err != nil {
		return "", err
	}
	return "s3://" + s.bucket + "/" + e.path + "/", nil
}

// tries is how often an object is tried. S3 asks for a retry if two writers of a key conflict;
// after that the object exists or it does not.
const tries = 3

// put writes an object unless one of that name exists.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (s *S3) put(ctx context.Context, owner, name, kind string, content []byte) error {
	for try := 1; ; try++ {
		_, err := s.api.PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String(s.bucket), Key: aws.String(name), Body: bytes.NewReader(content), ContentType: aws.String(kind),
			ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
			IfNoneMatch:       aws.String("*"),
			// Anyone can create a bucket under the name of a deleted one.
			ExpectedBucketOwner: aws.String(owner),
		})
		switch {
		case err == nil, awserr.IsPreconditionFailed(err):
			return nil
		case awserr.IsWriteConflict(err) && try < tries:
			continue
		}
		return fmt.Errorf("keep evidence s3://%s/%s: %s", s.bucket, name, awserr.Describe(err, "s3:PutObject", ""))
	}
}

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
