package archive

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"rollcall/tests/harness/archivetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// account is the emulated AWS.
var account *testbed.Bed

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, testbed.Options{AWSOnly: true}, func(b *testbed.Bed) { account = b }, nil))
}

// client returns a client like the functions', except for its endpoint and that it does
// not retry.
func client() *s3.Client {
	return s3.NewFromConfig(aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(account.AWSEndpoint()),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDARCHIVE", SecretAccessKey: "secret"}, nil
		}),
	})
}

var buckets atomic.Int64

// newBucket creates a bucket like the template's, as far as the emulator supports it.
func newBucket(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("evidence-%d", buckets.Add(1))
	_, err := client().CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: &name, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"},
	})
	must.Succeed(t, err)
	_, err = client().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	must.Succeed(t, err)
	must.Succeed(t, account.ForgetCalls(t.Context()))
	t.Cleanup(func() {
		expect.Succeed(t, account.ClearFaults(context.Background()))
		if answers, err := account.Unexpected(context.Background()); err != nil || len(answers) > 0 {
			t.Errorf("the emulator gave answers that AWS would not give: %+v, %v", answers, err)
		}
	})
	return name
}

// objects returns the objects of a bucket. Every object must have one version, and no
// deletion.
func objects(t *testing.T, bucket string) map[string][]byte {
	t.Helper()
	out, err := client().ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &bucket})
	must.Succeed(t, err)
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
		must.Succeed(t, err)
		all[key], err = io.ReadAll(got.Body)
		must.Succeed(t, err)
		must.Succeed(t, got.Body.Close())
	}
	return all
}

func kept(t *testing.T, bucket string) archivetest.Kept {
	t.Helper()
	all, err := archivetest.Unpack(objects(t, bucket))
	must.Succeed(t, err)
	return all
}
