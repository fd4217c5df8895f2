package bench

import (
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"

	"rollcall/tests/harness/must"
)

// The benchmark is only meaningful if its data resembles real data.
func TestCannedSizes(t *testing.T) {
	workers := pages(1_000, 1_000)[0]
	page := instancePage(workers, "1")
	if err := xml.Unmarshal(page, new(struct{})); err != nil {
		t.Errorf("the page of instances is not XML: %v", err)
	}
	if each := len(page) / len(workers); each < 7_300 || each > 7_700 {
		t.Errorf("%d bytes of XML per instance, want about 7,500", each)
	}
	encoded, err := encodeNodes(nodePage(workers, "1", 1, noTrouble))
	must.Succeed(t, err)
	if !strings.HasPrefix(string(encoded), "k8s\x00") {
		t.Errorf("the page of nodes begins with %q, want the mark of protobuf", encoded[:4])
	}
	if each := len(encoded) / len(workers); each < 16_000 || each > 18_000 {
		t.Errorf("%d bytes of protobuf per node, want 16,000 to 18,000", each)
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for w := range worker(mostNodes) {
		ids[w.instanceID()], names[w.name()] = true, true
	}
	if len(ids) != mostNodes || len(names) != mostNodes {
		t.Errorf("%d ids and %d names of %d workers: not each has its own", len(ids), len(names), mostNodes)
	}
}

// 2,500 nodes are three pages of instances and five of nodes.
func TestFloorAndObservationSeeAll(t *testing.T) {
	s := prepare(t, 2_500, noTrouble)
	found, err := s.floor(t.Context())
	must.Succeed(t, err)
	if want := (seen{2_500, 2_500}); found != want {
		t.Errorf("the floor found %+v, want %+v", found, want)
	}
	snapshot := s.observe(t.Context())
	must.Succeed(t, s.complaint(snapshot))
	for i, n := range snapshot.Nodes[:2] {
		inst := snapshot.Instances[i]
		if inst.Owner != n.Owner || inst.Group != n.Group || inst.Zone != n.Zone {
			t.Errorf("instance %s is of %s in %s (%s), its node of %s in %s (%s)", inst.ID, inst.Group, inst.Zone, inst.Owner, n.Group, n.Zone, n.Owner)
		}
	}
}

// A request that differs from the benchmark's must be refused: answering it would measure
// something else.
func TestRefusesOtherRequests(t *testing.T) {
	s := prepare(t, 1, noTrouble)
	for _, body := range []string{
		"Action=DescribeInstances&InstanceId.1=i-00000000",
		"Action=DescribeInstances&Filter.1.Name=tag-key&Filter.1.Value.1=kubernetes.io/cluster/other&MaxResults=1000",
		"Action=DescribeInstances&Filter.1.Name=tag-key&Filter.1.Value.1=kubernetes.io/cluster/bench&MaxResults=1000&NextToken=1",
	} {
		answer, err := http.Post(s.aws, "application/x-www-form-urlencoded", strings.NewReader(body))
		must.Succeed(t, err)
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: answered %s: %.80s", body, answer.Status, text)
		}
	}
}
