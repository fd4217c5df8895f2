package bundle

import (
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/tests/harness/expect"
)

// fuzzFile opens a bundle in which one file has any content.
func fuzzFile(f *testing.F, file string) {
	all := small(f)
	f.Add(all[file].Data)
	for _, seed := range []string{"", "null", "[[[]]]", `{"Reservations": [{"Instances": [{"InstanceId": 5}]}]}`, `{"items": [{"metadata": {"name": "a"}}]}`, "\xff\xfe{\x00}\x00", `{"a": 1e999, "a": "\ud800"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := fstest.MapFS{}
		for name, kept := range least(t) {
			fsys[name] = kept
		}
		fsys[file] = &fstest.MapFile{Data: data}
		b, err := OpenFS(fsys)
		if err != nil {
			expect.That(t, err.Error() != "", "an error without words")
			return
		}
		if _, err := of(b).ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); err != nil {
			t.Errorf("opened, and yet: %v", err)
		}
		if err := readNodes(b.c.objects(fileNodes).rows); err != nil {
			t.Errorf("opened, and yet: %v", err)
		}
	})
}

func FuzzOpenInstances(f *testing.F)     { fuzzFile(f, fileInstances) }
func FuzzOpenCluster(f *testing.F)       { fuzzFile(f, fileCluster) }
func FuzzOpenNodes(f *testing.F)         { fuzzFile(f, fileNodes) }
func FuzzOpenAccessEntries(f *testing.F) { fuzzFile(f, fileAccessEntries) }
func FuzzOpenLedger(f *testing.F)        { fuzzFile(f, fileLedger) }
