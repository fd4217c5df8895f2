package archive

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"rollcall/shared/evidence/archive/archivetest"
	"rollcall/tests/emulator"
)

// account is the emulated AWS.
var account *emulator.Emulator

func TestMain(m *testing.M) { os.Exit(start(m)) }

func start(m *testing.M) int {
	var err error
	root := filepath.Join("..", "..")
	if account, err = emulator.Start(root, filepath.Join(root, "tests", "emulator", "emulator.py")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer account.Close()
	return m.Run()
}

// client is a client as the functions have it, but for its endpoint, and that it does not
// try again.
func client() *s3.Client {
	return s3.NewFromConfig(aws.Config{
		Region: "eu-west-1", BaseEndpoint: &account.Endpoint,
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDARCHIVE", SecretAccessKey: "secret"}, nil
		}),
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var buckets atomic.Int64

// newBucket makes a bucket like the template's, as far as the emulator goes.
func newBucket(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("evidence-%d", buckets.Add(1))
	_, err := client().CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: &name, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"},
	})
	must(t, err)
	_, err = client().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	must(t, err)
	must(t, account.Control(http.MethodDelete, "calls", nil, nil))
	t.Cleanup(func() {
		if err := account.Control(http.MethodDelete, "faults", nil, nil); err != nil {
			t.Error(err)
		}
		if err := account.Unexpected(); err != nil {
			t.Error(err)
		}
	})
	return name
}

// objects reads a bucket. Every object must have one version, and no deletion.
func objects(t *testing.T, bucket string) map[string][]byte {
	t.Helper()
	out, err := client().ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &bucket})
	must(t, err)
	if len(out.DeleteMarkers) > 0 || aws.ToBool(out.IsTruncated) {
		t.Fatalf("deletions: %v, more than a page: %v", out.DeleteMarkers, aws.ToBool(out.IsTruncated))
	}
	all := map[string][]byte{}
	for _, v := range out.Versions {
		key := aws.ToString(v.Key)
		if _, twice := all[key]; twice {
			t.Errorf("%s was overwritten", key)
		}
		got, err := client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: v.Key, VersionId: v.VersionId})
		must(t, err)
		all[key], err = io.ReadAll(got.Body)
		must(t, err)
		must(t, got.Body.Close())
	}
	return all
}

func kept(t *testing.T, bucket string) archivetest.Kept {
	t.Helper()
	all, err := archivetest.Unpack(objects(t, bucket))
	must(t, err)
	return all
}
