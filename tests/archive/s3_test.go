package archive

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"rollcall/shared/evidence/archive"
	"rollcall/tests/harness/archivetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

const (
	packed   = archivetest.Place + "/" + archivetest.Packed
	findings = archivetest.Place + "/" + archive.Findings
)

func TestContract(t *testing.T) {
	archivetest.Contract(t, func(t *testing.T) (archivetest.Archive, func() archivetest.Kept) {
		name := newBucket(t)
		return archive.NewS3(client(), name), func() archivetest.Kept { return kept(t, name) }
	})
}

// The role has only the permission to put objects, so no other call may be made.
func TestOnlyPutObjectIsCalled(t *testing.T) {
	a := archive.NewS3(client(), newBucket(t))
	files := archivetest.Files("a")
	files[archive.Findings] = []byte(`{"Action": "DeleteObject", "Key": "x"}`) // stored data is not a request
	for range 2 {
		_, err := a.Put(t.Context(), archivetest.Key(), files)
		must.Succeed(t, err)
	}
	calls, err := account.Calls(t.Context())
	must.Succeed(t, err)
	var got []string
	for _, c := range calls {
		got = append(got, c.Service+":"+c.Action+" "+c.Params["Key"]+" "+c.ErrorCode)
	}
	want := []string{"s3:PutObject " + packed + " ", "s3:PutObject " + findings + " ", "s3:PutObject " + packed + " PreconditionFailed", "s3:PutObject " + findings + " PreconditionFailed"}
	expect.That(t, slices.Equal(got, want), "calls %q, want %q", got, want)
}

func TestTheObjectsCarryTheirChecksum(t *testing.T) {
	name := newBucket(t)
	_, err := archive.NewS3(client(), name).Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
	must.Succeed(t, err)
	for key, content := range objects(t, name) {
		out, err := client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &name, Key: aws.String(key), ChecksumMode: types.ChecksumModeEnabled})
		must.Succeed(t, err)
		sum := sha256.Sum256(content)
		expect.Equal(t, aws.ToString(out.ChecksumSHA256), base64.StdEncoding.EncodeToString(sum[:]), "%s has the checksum", key)
	}
}

// An expired object has a delete marker on top of it and is stored again.
func TestWhatExpiredCanBeKeptAgain(t *testing.T) {
	name := newBucket(t)
	a := archive.NewS3(client(), name)
	_, err := a.Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
	must.Succeed(t, err)
	for _, key := range []string{packed, findings} {
		_, err := client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &name, Key: aws.String(key)})
		must.Succeed(t, err)
	}
	_, err = a.Put(t.Context(), archivetest.Key(), archivetest.Files("b"))
	must.Succeed(t, err)
	out, err := client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &name, Key: aws.String(findings)})
	must.Succeed(t, err)
	defer func() { _ = out.Body.Close() }()
	expect.That(t, aws.ToInt64(out.ContentLength) == int64(len("findings b")), "%d bytes", aws.ToInt64(out.ContentLength))
}

func TestAnErrorSaysWhatIsNeededAndWhere(t *testing.T) {
	name := newBucket(t)
	for kind, want := range map[string]string{"denied": "s3:PutObject was denied", "throttle": "s3:PutObject was throttled (SlowDown)"} {
		must.Succeed(t, account.Inject(t.Context(), testbed.Fault{Service: "s3", Action: "PutObject", Kind: testbed.FaultKind(kind)}))
		var err error
		for range 3 {
			_, err = archive.NewS3(client(), name).Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
			if err == nil || !strings.Contains(err.Error(), "closed network connection") { // the emulator may close before its answer is read
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s3://"+name+"/"+packed) {
			t.Errorf("%s: %v", kind, err)
		}
		must.Succeed(t, account.ClearFaults(t.Context()))
	}
	if all := objects(t, name); len(all) != 0 {
		t.Errorf("there are %v", all)
	}
	_, err := archive.NewS3(client(), "no-such-bucket").Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
	if err == nil || !strings.Contains(err.Error(), "s3://no-such-bucket/") || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("no bucket: %v", err)
	}
}
