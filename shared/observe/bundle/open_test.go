package bundle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf16"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// small returns the handwritten bundle with all files, for tests to change.
func small(t testing.TB) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	root := os.DirFS("testdata/small")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	must.Succeed(t, err)
	return out
}

// least are the three required files.
func least(t testing.TB) fstest.MapFS {
	all := small(t)
	out := fstest.MapFS{}
	for _, name := range []string{fileCluster, fileInstances, fileNodes} {
		out[name] = all[name]
	}
	return out
}

// with adds a file to a bundle, or replaces it.
func with(fsys fstest.MapFS, name, data string) fstest.MapFS {
	fsys[name] = &fstest.MapFile{Data: []byte(data)}
	return fsys
}

func opened(t testing.TB, fsys fs.FS) *Bundle {
	t.Helper()
	b, err := OpenFS(fsys)
	must.Succeed(t, err)
	return b
}

func TestOpensAHandMadeBundle(t *testing.T) {
	b, err := Open("testdata/small")
	must.Succeed(t, err)
	if at, ok := b.At(); !ok || !at.Equal(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("At is %v, %v", at, ok)
	}
	id := b.ClusterID()
	expect.That(t, id.Name == "demo" && id.Region == "eu-west-1" && id.Account == "111122223333", "the cluster is %+v", id)
	if len(b.Ignored()) > 0 {
		t.Errorf("ignored %v", b.Ignored())
	}
	nodes, ok := b.Remembered()
	r := nodes["ip-10-0-1-6.eu-west-1.compute.internal"]
	c, found := r.Condition("MemoryPressure")
	expect.That(t, ok && found && c.Status == "True" && c.Since.Minute() == 50 && len(r.ReadyFlips) == 1 && !r.At.IsZero(), "remembered %+v", nodes)
}

func TestThreeFilesAreEnough(t *testing.T) {
	b := opened(t, least(t))
	if _, ok := b.At(); ok {
		t.Error("nobody told the time")
	}
	_, ok := b.Remembered()
	expect.That(t, !ok, "nothing was remembered")
}

func TestTellsAllThatIsWrongAtOnce(t *testing.T) {
	_, err := OpenFS(fstest.MapFS{
		"cluster.json":         {Data: []byte(`{"clusters": ["demo"]}`)},
		"nodes.json":           {Data: []byte("{\"items\": [\n")},
		"instance-status.json": {Data: []byte(`[1]`)},
		"at.txt":               {Data: []byte("yesterday\n")},
	})
	want := strings.Join([]string{
		`at.txt:1:1: "yesterday" is not a time in RFC 3339, such as 2026-01-02T15:04:05Z`,
		`cluster.json:1:1: there is no "cluster" with an arn in this: it should be what aws eks describe-cluster --name CLUSTER --output json prints`,
		`instance-status.json:1:2: this is a number, not what aws ec2 describe-instance-status --include-all-instances --output json prints`,
		`instances.json: there is no such file, and it must be there: write it with: aws ec2 describe-instances --output json`,
		`nodes.json:2:1: the JSON breaks off: the file is not whole, so write it again with: kubectl get nodes -o json`,
	}, "\n")
	expect.That(t, err != nil && err.Error() == want, "got\n%v\nwant\n%s", err, want)
	_, ok := errors.AsType[Faults](err)
	expect.That(t, ok, "the error is a %T", err)
}

func TestSaysWhatIsWrongWithAFile(t *testing.T) {
	const instances = "aws ec2 describe-instances --output json"
	cases := map[string]struct{ file, data, want string }{
		"empty":               {"instances.json", " \n", `instances.json: it is empty: the command that was to write it failed; write it again with: ` + instances},
		"broken off":          {"instances.json", `{"Reservations": [{"Inst`, `instances.json:1:25: the JSON breaks off: the file is not whole, so write it again with: ` + instances},
		"no JSON":             {"instances.json", `{"Reservations": [,]}`, `instances.json:1:19: this is not JSON (invalid character ',' looking for beginning of value); write it again with: ` + instances},
		"two documents":       {"instances.json", "{\"Reservations\": []}\n{\"Reservations\": []}", `instances.json:2:1: more follows after the end of the JSON: a file holds one answer, so write it again with: ` + instances},
		"YAML":                {"nodes.json", "apiVersion: v1\nitems:\n- kind: Node\n", `nodes.json:1:1: this looks like YAML, and JSON is needed: write it again with: kubectl get nodes -o json`},
		"a table":             {"nodes.json", "NAME   STATUS   ROLES\nip-1   Ready    <none>\n", `nodes.json:1:1: this is not JSON but begins with "NAME   STATUS   ROLES": write it again with: kubectl get nodes -o json`},
		"an error's text":     {"nodeclaims.json", "error: the server doesn't have a resource type \"nodeclaims\"\n", `nodeclaims.json:1:1: this is not JSON but begins with "error: the server doesn't have a resource type \"nodeclaims\"": write it again with: kubectl get nodeclaims -o json`},
		"null":                {"instances.json", "null", `instances.json:1:1: this is null, not what ` + instances + ` prints`},
		"another list":        {"instances.json", `{"Subnets": []}`, `instances.json:1:1: there is no array "Reservations" in this: it should be what ` + instances + ` prints`},
		"a page":              {"instances.json", "{\"Reservations\": [],\n \"NextToken\": \"abc\"}", `instances.json:2:15: NextToken says that this is not all: write it again without --no-paginate and --max-items: ` + instances},
		"a page of kubectl":   {"nodes.json", `{"kind": "NodeList", "metadata": {"continue": "abc"}, "items": []}`, `nodes.json:1:47: metadata.continue says that this is not all: write it again with: kubectl get nodes -o json`},
		"a bad time":          {"instances.json", "{\"Reservations\": [{\"Instances\": [{\"InstanceId\": \"i-1\", \"State\": {\"Name\": \"running\"},\n  \"LaunchTime\": \"2026-01-02 15:04:05\"}]}]}", `instances.json:2:17: Instances[0].LaunchTime: "2026-01-02 15:04:05" is no time with its zone, such as 2026-01-02T15:04:05Z`},
		"milliseconds":        {"instances.json", `[{"InstanceId": "i-1", "LaunchTime": 1767366245000, "State": {"Name": "running"}}]`, `instances.json:1:38: LaunchTime: 1767366245000 is no time in seconds since 1970`},
		"a bad kind":          {"instances.json", `[{"InstanceId": "i-1", "Tags": {"Name": "x"}, "LaunchTime": 1, "State": {"Name": "running"}}]`, `instances.json:1:32: Tags is an object, not an array`},
		"a bad number":        {"subnets.json", `{"Subnets": [{"SubnetId": "subnet-1", "AvailableIpAddressCount": 1.5}]}`, `subnets.json:1:66: AvailableIpAddressCount: 1.5 is no whole number of 32 bits`},
		"no id":               {"instances.json", `{"Reservations": [{"Instances": [{"ImageId": "ami-1"}]}]}`, `instances.json:1:19: an instance in this has no InstanceId`},
		"a status of success": {"nodes.json", `{"kind": "Status", "status": "Success"}`, `nodes.json:1:1: this is a Status without a failure and its code: the file should hold what kubectl get nodes -o json prints`},
		"one of many nodes":   {"nodes.json", `{"kind": "Node", "metadata": {"name": "a", "creationTimestamp": "2026-03-02T11:19:40Z"}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T11:19:40Z"}]}}`, `nodes.json: this is one Node, and instances.json has 3 instances, which would be taken for unregistered: write all Nodes with: kubectl get nodes -o json`},
		"another object":      {"nodes.json", `{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]}`, `nodes.json:1:28: this is a Pod, which does not belong here: the file should hold what kubectl get nodes -o json prints`},
		"another version":     {"k8s-events.json", `{"kind": "List", "items": [{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"}}]}`, `k8s-events.json:1:28: this Event is of events.k8s.io/v1, not of v1: write it again with: kubectl get events -A -o json`},
		"a nameless node":     {"nodes.json", `{"kind": "List", "items": [{"kind": "Node", "metadata": {}}]}`, `nodes.json:1:28: this is no Node: it has no metadata.name`},
		"no cluster ARN":      {"cluster.json", `{"cluster": {"name": "demo", "arn": "demo"}}`, `cluster.json:1:37: arn: "demo" has not the form arn:<partition>:eks:<region>:<account>:cluster/<name>`},
		"whose policies":      {"attached-policies.json", `{"AttachedPolicies": []}`, `attached-policies.json:1:1: whose AttachedPolicies is this? Put it under its name: {"NAME": {"AttachedPolicies": ...}}`},
		"one access entry":    {"access-entries.json", `{"accessEntry": {"principalArn": "x"}}`, `access-entries.json:1:1: this is one access entry, and nothing would tell of the others: put all of them into {"accessEntries": [...]}`},
		"a bad ledger":        {"ledger.json", `{"ip-1": {}}`, `ledger.json:1:1: there is no object "nodes" in this: it should be {"nodes": {"NODE": {"conditions": [...], "at": "...", "readyFlips": [...]}}}`},
		"characters count":    {"instances.json", `{"Name": "äöü", "Reservations": 5}`, `instances.json:1:1: there is no array "Reservations" in this: it should be what ` + instances + ` prints`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := OpenFS(with(least(t), c.file, c.data))
			expect.That(t, err != nil && err.Error() == c.want, "got\n%v\nwant\n%s", err, c.want)
		})
	}
}

func TestANodeThatCannotBeReadIsTold(t *testing.T) {
	fsys := with(least(t), "nodes.json", "{\"kind\": \"List\", \"items\": [\n{\"kind\": \"Node\", \"metadata\": {\"name\": \"a\", \"creationTimestamp\": \"2026-03-02T11:19:40Z\"}, \"status\": {\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\", \"lastTransitionTime\": \"2026-03-02T11:19:40Z\"}]}},\n{\"kind\": \"Node\", \"metadata\": {\"name\": \"b\", \"creationTimestamp\": \"soon\"}, \"status\": {\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\", \"lastTransitionTime\": \"2026-03-02T11:19:40Z\"}]}}]}")
	_, err := OpenFS(fsys)
	expect.That(t, err != nil && strings.HasPrefix(err.Error(), "nodes.json:3:1: the Node b cannot be read: "), "got %v", err)
}

func TestManyFaultsOfOneFileAreBounded(t *testing.T) {
	_, err := OpenFS(with(least(t), "subnets.json", `{"Subnets": [`+strings.Repeat(`{"SubnetId": 5.5, "VpcId": []},`, 20)+`{}]}`))
	expect.That(t, err != nil && strings.Count(err.Error(), "\n") == maxFaults-1 && strings.HasSuffix(err.Error(), "(and 16 more faults in the file)"), "got %v", err)
}

func TestAcceptsTheFormsThatFilesReallyHave(t *testing.T) {
	instance := `{"InstanceId": "i-0f100000000000001", "LaunchTime": "2026-03-02T11:19:40Z", "State": {"Name": "running"}}`
	node := `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "creationTimestamp": "2026-03-02T11:19:40Z"}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T11:19:40Z"}]}}`
	cases := map[string]struct {
		file string
		data []byte
	}{
		"a byte order mark":        {"instances.json", []byte("\xef\xbb\xbf{\"Reservations\": [{\"Instances\": [" + instance + "]}]}")},
		"UTF-16 of PowerShell":     {"instances.json", utf16Of("\ufeff{\"Reservations\": [{\"Instances\": ["+instance+"]}]}\r\n", binary.LittleEndian)},
		"UTF-16 without a mark":    {"instances.json", utf16Of("{\"Reservations\": [{\"Instances\": ["+instance+"]}]}", binary.LittleEndian)},
		"UTF-16, big end first":    {"instances.json", utf16Of("\ufeff{\"Reservations\": [{\"Instances\": ["+instance+"]}]}", binary.BigEndian)},
		"one reservation":          {"instances.json", []byte(`{"ReservationId": "r-1", "Instances": [` + instance + `]}`)},
		"a query for reservations": {"instances.json", []byte(`[{"Instances": [` + instance + `]}]`)},
		"a query for instances":    {"instances.json", []byte(`[` + instance + `]`)},
		"a nested query":           {"instances.json", []byte(`[[` + instance + `], []]`)},
		"one instance":             {"instances.json", []byte(instance)},
		"slurped pages":            {"instances.json", []byte(`[{"Reservations": [{"Instances": [` + instance + `]}]}, {"Reservations": []}]`)},
		"an empty token":           {"instances.json", []byte(`{"NextToken": "", "Reservations": [{"Instances": [` + instance + `]}]}`)},
		"a list of the API server": {"nodes.json", []byte(`{"apiVersion": "v1", "kind": "NodeList", "metadata": {"continue": ""}, "items": [{"metadata": {"name": "n1", "creationTimestamp": "2026-03-02T11:19:40Z"}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T11:19:40Z"}]}}]}`)},
		"one node":                 {"nodes.json", []byte(node)},
		"items by jq":              {"nodes.json", []byte(`[` + node + `]`)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fsys := with(least(t), "instances.json", instance)
			fsys[c.file] = &fstest.MapFile{Data: c.data}
			b := opened(t, fsys)
			switch c.file {
			case "instances.json":
				if len(b.c.instances().rows) != 1 || *b.c.instances().rows[0].InstanceId != "i-0f100000000000001" {
					t.Errorf("got %+v", b.c.instances().rows)
				}
			case "nodes.json":
				rows := b.c.objects(fileNodes).rows
				expect.That(t, len(rows) == 1 && rows[0].Metadata.Name == "n1" && rows[0].Kind == "Node" && readNodes(rows) == nil, "got %+v", rows)
			}
		})
	}
}

func utf16Of(s string, order binary.ByteOrder) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		var b [2]byte
		order.PutUint16(b[:], u)
		out = append(out, b[:]...)
	}
	return out
}

func TestReadsTimesOfBothVersionsOfTheCLI(t *testing.T) {
	want := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for written, at := range map[string]time.Time{
		`"2026-01-02T15:04:05+00:00"`:        want,
		`"2026-01-02T16:04:05+01:00"`:        want,
		`"2026-01-02T15:04:05.000Z"`:         want,
		`"2026-01-02T15:04:05.123000+00:00"`: want.Add(123 * time.Millisecond),
		`1767366245`:                         want,
		`1767366245.123`:                     want.Add(123 * time.Millisecond),
		`1767366245.123456`:                  want.Add(123456 * time.Microsecond),
	} {
		got := opened(t, with(least(t), "instances.json", `[{"InstanceId": "i-1", "State": {"Name": "running"}, "LaunchTime": `+written+`}]`)).c.instances().rows[0].LaunchTime
		expect.That(t, got != nil && got.Equal(at), "%s is read as %v, not %v", written, got, at)
	}
}

func TestAnEmptyFileIsNotReadAndNotNothing(t *testing.T) {
	fsys := least(t)
	fsys["nodeclaims.json"] = &fstest.MapFile{}
	with(fsys, "subnets.json", "\n")
	b := opened(t, fsys)
	err := tableOf[types.Subnet](b.c, fileSubnets).missing()
	expect.That(t, err != nil && err.Error() == "subnets.json is empty in the bundle", "got %v", err)
}

func TestTellsFilesThatNoBundleHas(t *testing.T) {
	fsys := with(least(t), "instance_status.json", "{}")
	with(fsys, "user-data/notes.md", "x")
	fsys[".DS_Store"] = &fstest.MapFile{}
	expect.List(t, opened(t, fsys).Ignored(), []string{"instance_status.json", "user-data/notes.md"}, "ignored")
}

func TestOpenNamesTheDirectory(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.HasPrefix(err.Error(), "the bundle "+dir+" cannot be used:\ncluster.json: there is no such file") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	file := filepath.Join(dir, "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(file)
	expect.That(t, err != nil && err.Error() == "open the bundle "+file+": it is a file, and a bundle is a directory", "got %v", err)
}

// A file that is not regular is rejected before it is opened: a pipe would never answer.
func TestRefusesWhatIsNoRegularFile(t *testing.T) {
	for mode, what := range map[fs.FileMode]string{
		fs.ModeNamedPipe: "a named pipe", fs.ModeSocket: "a socket", fs.ModeDevice: "a device", fs.ModeDevice | fs.ModeCharDevice: "a device", fs.ModeDir: "a directory",
	} {
		for _, name := range []string{fileRoles, fileNodes, fileAt, documentName(folderConsole, "i-0123456789abcdef0")} {
			fsys := least(t)
			fsys[name] = &fstest.MapFile{Mode: mode}
			_, err := OpenFS(fsys)
			expect.That(t, err != nil && strings.Contains(err.Error(), name) && strings.Contains(err.Error(), "no regular file but "+what), "%s is %s: %v", name, what, err)
		}
	}
	dir := t.TempDir()
	must.Succeed(t, os.CopyFS(dir, small(t)))
	must.Succeed(t, errors.Join(os.Remove(filepath.Join(dir, fileRoles)), os.Symlink("/dev/zero", filepath.Join(dir, fileRoles))))
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), fileRoles) || !strings.Contains(err.Error(), "a device") {
		t.Errorf("a link to a device: %v", err)
	}
	must.Succeed(t, errors.Join(os.Remove(filepath.Join(dir, fileRoles)), os.Symlink(fileNodes, filepath.Join(dir, fileRoles))))
	_, err := Open(dir)
	expect.That(t, err != nil && !strings.Contains(err.Error(), "regular"), "a link to a file is read: %v", err)
}

// A file of any size would be read into memory as a whole.
func TestRefusesAFileThatIsTooLarge(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.CopyFS(dir, small(t)))
	must.Succeed(t, os.Truncate(filepath.Join(dir, fileNodes), maxFile+1)) // it takes no space on the disk
	_, err := Open(dir)
	want := fmt.Sprintf("%s: it cannot be read: it has %d bytes, and at most %d are read", fileNodes, int64(maxFile)+1, int64(maxFile))
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
}
