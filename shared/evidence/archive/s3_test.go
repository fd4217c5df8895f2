package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/plan/replay"
	"rollcall/shared/roll"
	"rollcall/tests/harness/archivetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// bucket is an S3 bucket that belongs to an account and can be set to fail.
type bucket struct {
	name, owner string

	mu      sync.Mutex
	objects map[string][]byte
	puts    []s3.PutObjectInput // in order
	fail    func(n int, key string) error
}

func newBucket() *bucket {
	return &bucket{name: "evidence", owner: "123456789012", objects: map[string][]byte{}}
}

func refuse(code, message string) error {
	return &smithy.OperationError{ServiceID: "S3", OperationName: "PutObject", Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

func (b *bucket) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	content, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.puts = append(b.puts, *in)
	key := aws.ToString(in.Key)
	if b.fail != nil {
		if err := b.fail(len(b.puts), key); err != nil {
			return nil, err
		}
	}
	if aws.ToString(in.Bucket) != b.name {
		return nil, refuse("NoSuchBucket", "The specified bucket does not exist")
	}
	if in.ExpectedBucketOwner != nil && *in.ExpectedBucketOwner != b.owner {
		return nil, refuse("AccessDenied", "Access Denied")
	}
	if _, ok := b.objects[key]; ok && aws.ToString(in.IfNoneMatch) == "*" {
		return nil, refuse("PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	}
	b.objects[key] = content
	return &s3.PutObjectOutput{}, nil
}

func (b *bucket) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.objects))
}

func (b *bucket) kept(t *testing.T) archivetest.Kept {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	kept, err := archivetest.Unpack(b.objects)
	must.Succeed(t, err)
	return kept
}

// put keeps evidence in the bucket and returns where.
func (b *bucket) put(t *testing.T) string {
	t.Helper()
	link, err := archive.NewS3(b, b.name).Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
	must.Succeed(t, err)
	return link
}

// anyAccount lets the contract use keys of several accounts. Each has a bucket.
type anyAccount struct{ *bucket }

func (a anyAccount) PutObject(ctx context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	other := *in
	other.ExpectedBucketOwner = aws.String(a.owner)
	return a.bucket.PutObject(ctx, &other, opts...)
}

func TestContractOfS3(t *testing.T) {
	archivetest.Contract(t, func(t *testing.T) (archivetest.Archive, func() archivetest.Kept) {
		b := newBucket()
		return archive.NewS3(anyAccount{b}, b.name), func() archivetest.Kept { return b.kept(t) }
	})
}

const (
	packed   = archivetest.Place + "/" + archivetest.Packed
	findings = archivetest.Place + "/" + archive.Findings
)

func TestEachObjectIsPutOnceCheckedAndIntoItsOwnersBucket(t *testing.T) {
	b := newBucket()
	expect.Equal(t, b.put(t), "s3://evidence/"+archivetest.Place+"/", "kept in")
	must.That(t, len(b.puts) == 2, "%d puts", len(b.puts))
	for i, want := range []struct{ key, kind string }{{packed, "application/gzip"}, {findings, "application/json"}} {
		in := b.puts[i]
		expect.That(t, aws.ToString(in.Key) == want.key && aws.ToString(in.ContentType) == want.kind, "put %d is of %s as %s", i, aws.ToString(in.Key), aws.ToString(in.ContentType))
		expect.That(t, in.ChecksumAlgorithm == types.ChecksumAlgorithmSha256 && aws.ToString(in.IfNoneMatch) == "*" && aws.ToString(in.ExpectedBucketOwner) == "123456789012", "put %d: %+v", i, in)
	}
}

func TestFindingsMeanThatTheBundleIsThere(t *testing.T) {
	denied := refuse("AccessDenied", "Access Denied")
	for n, left := range [][]string{{}, {packed}} {
		b := newBucket()
		b.fail = func(put int, _ string) error {
			if put == n+1 {
				return denied
			}
			return nil
		}
		s := archive.NewS3(b, b.name)
		link, err := s.Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
		expect.That(t, err != nil && link == "", "put %d fails: %v, %v", n+1, link, err)
		expect.List(t, b.keys(), left, "put %d fails: objects", n+1)
		_, err = s.Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
		expect.Succeed(t, err)
		expect.List(t, b.keys(), []string{packed, findings}, "again: objects")
	}
}

func TestAnErrorSaysWhatIsNeededAndWhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bucket)
		want   []string
	}{
		"denied": {
			func(b *bucket) { b.fail = func(int, string) error { return refuse("AccessDenied", "Access Denied") } },
			[]string{"s3://evidence/" + packed, "s3:PutObject was denied", "allow s3:PutObject"},
		},
		"the bucket is somebody else's": {func(b *bucket) { b.owner = "111122223333" }, []string{"s3://evidence/", "s3:PutObject was denied"}},
		"the bucket is gone":            {func(b *bucket) { b.name = "other" }, []string{"s3://evidence/", "NoSuchBucket"}},
		"throttled": {
			func(b *bucket) {
				b.fail = func(int, string) error { return refuse("SlowDown", "Please reduce your request rate.") }
			},
			[]string{"s3://evidence/", "s3:PutObject was throttled (SlowDown)"},
		},
		"interrupted": {func(b *bucket) { b.fail = func(int, string) error { return context.Canceled } }, []string{"s3:PutObject was interrupted"}},
		"no answer":   {func(b *bucket) { b.fail = func(int, string) error { return context.DeadlineExceeded } }, []string{"s3:PutObject got no answer in time"}},
		"another writer, without end": {
			func(b *bucket) {
				b.fail = func(int, string) error {
					return refuse("ConditionalRequestConflict", "The conditional request cannot succeed")
				}
			},
			[]string{"s3://evidence/", "ConditionalRequestConflict"},
		},
	} {
		b := newBucket()
		c.change(b)
		_, err := archive.NewS3(b, "evidence").Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
		for _, want := range c.want {
			expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: the error lacks %q: %v", name, want, err)
		}
		expect.That(t, len(b.objects) == 0 && len(b.puts) <= 3, "%s: there are %v after %d puts", name, b.keys(), len(b.puts))
	}
}

func TestAnotherWriterInTheWayIsWaitedOut(t *testing.T) {
	b := newBucket()
	b.fail = func(n int, _ string) error {
		if n%3 != 0 {
			return refuse("ConditionalRequestConflict", "The conditional request cannot succeed")
		}
		return nil
	}
	b.put(t)
	expect.That(t, len(b.puts) == 6 && len(b.objects) == 2, "there are %v after %d puts", b.keys(), len(b.puts))
	if kept := b.kept(t); kept[findings] != "findings a" { // each try has the whole body
		t.Errorf("kept %v", kept)
	}
}

func TestTheBundleIsTheSameEachTime(t *testing.T) {
	var first []byte
	for i := range 5 {
		b := newBucket()
		b.put(t)
		if i == 0 {
			first = b.objects[packed]
		}
		expect.That(t, bytes.Equal(b.objects[packed], first), "the same files make another bundle")
	}
}

func TestTheBundleUnpacksIntoAFolderForItsOwner(t *testing.T) {
	b := newBucket()
	b.put(t)
	entries, err := archivetest.Entries(b.objects[packed])
	must.Succeed(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%o %s", e.Mode, e.Name))
		if want := archivetest.Key().At.Truncate(1e9); !e.ModTime.Equal(want) {
			t.Errorf("%s is of %s, want %s", e.Name, e.ModTime, want)
		}
		expect.That(t, e.Uid == 0 && e.Gid == 0 && e.Uname == "" && e.Gname == "", "%s names its owner", e.Name)
	}
	want := []string{"700 bundle/", "600 bundle/at.txt", "600 bundle/cluster.json", "700 bundle/console/", "600 bundle/console/i-123.txt", "700 bundle/user-data/", "600 bundle/user-data/i-123.txt"}
	expect.That(t, slices.Equal(got, want), "the bundle holds %q, want %q", got, want)
}

// noise is data that compression does not shrink.
func noise(n int) []byte {
	data := make([]byte, n)
	state := uint64(1)
	for i := range data {
		state = state*6364136223846793005 + 1442695040888963407
		data[i] = byte(state >> 56)
	}
	return data
}

func TestWhatIsTooLargeIsNotKept(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string // "" if it is kept
	}{
		"much that shrinks": {files: map[string][]byte{archive.Findings: nil, "pods.json": make([]byte, 2*archive.MaxSize)}},
		"nearly too much":   {files: map[string][]byte{archive.Findings: nil, "pods.json": noise(archive.MaxSize - 64<<10)}},
		"too much": {
			map[string][]byte{archive.Findings: nil, "nodes.json": noise(9 << 20), "pods.json": noise(12 << 20), "at.txt": nil},
			"larger than 20971520 bytes after compression and is not kept: its largest file is pods.json with 12582912 bytes",
		},
		"findings up to the limit": {files: map[string][]byte{archive.Findings: make([]byte, archive.MaxSize), "at.txt": nil}},
		"findings beyond it":       {map[string][]byte{archive.Findings: make([]byte, archive.MaxSize+1), "at.txt": nil}, "findings.json has 20971521 bytes, more than 20971520"},
	} {
		b := newBucket()
		_, err := archive.NewS3(b, b.name).Put(t.Context(), archivetest.Key(), c.files)
		switch {
		case c.want == "" && (err != nil || len(b.objects) != 2):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(b.puts) != 0):
			t.Errorf("%s: %d puts, %v", name, len(b.puts), err)
		}
	}
}

func TestARecordedCheckIsAnObject(t *testing.T) {
	b := newBucket()
	s := archive.NewS3(b, "evidence")
	at := time.Date(2026, 3, 2, 12, 30, 0, 500, time.UTC)
	c := replay.Recorded{Now: at, Snapshot: &roll.Snapshot{Cluster: roll.Cluster{ID: roll.ClusterID{Account: "123456789012", Region: "eu-west-1", Name: "demo"}}}}
	for range 2 { // a second delivery changes nothing
		must.Succeed(t, s.Record(t.Context(), c))
	}
	const name = "checks/123456789012/eu-west-1/demo/20260302T123000Z.rollcall"
	checks, err := replay.Read(bytes.NewReader(b.objects[name]))
	expect.That(t, err == nil && len(b.objects) == 1 && len(checks) == 1 && checks[0].Now.Equal(at), "%v: %d objects, %+v", err, len(b.objects), checks)
	if got, ok := archive.RecordedAt(name); !ok || !got.Equal(at.Truncate(time.Second)) {
		t.Errorf("recorded at %s", got)
	}
	if _, ok := archive.RecordedAt("123456789012/eu-west-1/demo/i-1/findings.json"); ok {
		t.Error("evidence is taken for a check")
	}
	b.fail = func(int, string) error { return refuse("AccessDenied", "Access Denied") }
	if err := s.Record(t.Context(), c); err == nil || !strings.Contains(err.Error(), "s3:PutObject was denied") {
		t.Errorf("denied: %v", err)
	}
}
