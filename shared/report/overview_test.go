package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/policy"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

// in returns the check as that of a cluster elsewhere. Each of its findings gets the cause.
func in(c Check, account, name string, cause *roll.Cause) Check {
	s := *c.Snapshot
	s.Cluster.ID = roll.ClusterID{Account: account, Region: "eu-west-1", Name: name}
	c.Snapshot = &s
	if cause != nil {
		c.Diagnoses = map[roll.FindingKey]roll.Diagnosis{}
		for _, f := range c.Findings() {
			c.Diagnoses[f.Key()] = roll.Diagnosis{Causes: []roll.Cause{*cause}}
		}
	}
	return c
}

func accused(code, subject string) *roll.Cause {
	return &roll.Cause{Code: code, Confidence: roll.Decisive, Subject: subject, Summary: code + " of " + subject, Fix: "aws fix " + subject}
}

const otherAccount = "123456789012"

// organization returns the overview of two accounts: an AMI in three clusters, roles of two, and
// what could not be read.
func organization() Overview {
	all := checks()
	ami := accused("RootVolumeFull", "ami/ami-0123456789abcdef0")
	return Overview{At: now.Add(time.Hour), Unread: []string{"profile c: no AWS credentials for profile c"}, Checks: []Check{
		in(all["healthy"], cluster.Account, "calm", nil),
		in(all["incomplete"], cluster.Account, "shop", ami),
		in(all["kinds"], otherAccount, "shop", ami),
		in(all["findings"], otherAccount, "media", ami),
		in(all["unreadable"], "", "closed", nil),
		in(all["findings"], cluster.Account, "pay", accused("NodeRoleNotMapped", "role/arn:aws:iam::111122223333:role/pay")),
		in(all["incomplete"], "123456789012", "pay", accused("NodeRoleNotMapped", "role/arn:aws:iam::123456789012:role/pay")),
		in(all["findings"], otherAccount, "alone", accused("RootVolumeFull", "ami/ami-0fedcba9876543210")),
	}}
}

func TestAnOverviewOfAccounts(t *testing.T) {
	o := organization()
	for _, width := range []int{0, 80} {
		var b bytes.Buffer
		must.Succeed(t, o.Write(&b, Layout{Columns: width}))
		golden.File(t, fmt.Sprintf("testdata/overview-%d.golden", width), b.String())
	}
	d := o.Document()
	d.Clusters = nil // those of TestDocuments
	data, err := json.Marshal(d)
	must.Succeed(t, err)
	golden.File(t, "testdata/overview-json.golden", indented(t, data))
	html, err := page.Render(o.Page())
	must.Succeed(t, err)
	for _, want := range []string{"Roll call of 8 clusters in 2 accounts", "RootVolumeFull, ami/ami-0123456789abcdef0: 3 clusters in 2 accounts", "profile c: no AWS credentials", "shop (eu-west-1, account 123456789012)", "Causes that several clusters share"} {
		expect.That(t, strings.Contains(string(html), want), "the page lacks %q", want)
	}
}

func TestCausesAreSharedByWhatMeansTheSameElsewhere(t *testing.T) {
	c := checks()["incomplete"]
	for name, tt := range map[string]struct {
		causes [2]*roll.Cause
		want   string
	}{
		"an AMI":             {[2]*roll.Cause{accused("A", "ami/ami-1"), accused("A", "ami/ami-1")}, "ami/ami-1"},
		"two AMIs":           {[2]*roll.Cause{accused("A", "ami/ami-1"), accused("A", "ami/ami-2")}, "none"},
		"roles":              {[2]*roll.Cause{accused("A", "role/x"), accused("A", "role/y")}, "role"},
		"a role and a group": {[2]*roll.Cause{accused("A", "role/x"), accused("A", "nodegroup/x")}, "none"},
		"the instances":      {[2]*roll.Cause{accused("A", ""), accused("A", "")}, ""},
		"two codes":          {[2]*roll.Cause{accused("A", "role/x"), accused("B", "role/x")}, "none"},
		"one only suggested": {[2]*roll.Cause{accused("A", "role/x"), {Code: "A", Subject: "role/x", Confidence: roll.Suggestive}}, "none"},
		"one without causes": {[2]*roll.Cause{accused("A", "role/x"), nil}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			got := "none"
			for _, s := range (Overview{Checks: []Check{in(c, cluster.Account, "a", tt.causes[0]), in(c, otherAccount, "b", tt.causes[1])}}).Document().Shared {
				got = s.Subject
				if len(s.Clusters) != 2 || s.Instances != 2 || s.Fix == "" && s.Subject != "" {
					t.Errorf("%+v", s)
				}
			}
			expect.Equal(t, got, tt.want, "shared")
		})
	}
}

func TestAnOverviewSaysWhatWasNotJudged(t *testing.T) {
	c := checks()["healthy"]
	c.Assessment.Unjudged = []roll.InstanceID{instanceID(1)}
	var b bytes.Buffer
	err := (Overview{Checks: []Check{c}}).Write(&b, Layout{})
	expect.That(t, err == nil && strings.Contains(b.String(), "1 instance could not be"), "%v: %s", err, b.String())
}

func TestEveryListOfAnOverviewIsThere(t *testing.T) {
	data, err := json.Marshal(Overview{}.Document())
	want := `{"at":"0001-01-01T00:00:00Z","accounts":[],"shared":[],"clusters":[],"unread":[]}`
	expect.That(t, err == nil && string(data) == want, "%s, %v", data, err)
}

// printed returns a document as check prints it.
func printed(t *testing.T, c Check) string {
	t.Helper()
	data, err := json.Marshal(c.Document())
	must.Succeed(t, err)
	return indented(t, data)
}

// A document says everything that the page of its check shows, but for the groups.
func TestAStoredCheckShowsTheSame(t *testing.T) {
	for name, c := range checks() {
		if name == "gone" {
			continue // its document does not say that the cluster is gone, only that it could not be judged
		}
		t.Run(name, func(t *testing.T) {
			found, err := Stored("a.json", []byte(printed(t, c)))
			if err != nil || len(found) != 1 {
				t.Fatal(err)
			}
			made := Page([]Check{c})
			made.Clusters[0].Groups = nil
			want, err := page.Render(made)
			must.Succeed(t, err)
			diff := cmp.Diff(string(want), rendered(t, found))
			expect.That(t, diff == "", "(-made +stored)\n%s", diff)
		})
	}
}

func TestStoredDocumentsAreReportedUnchanged(t *testing.T) {
	text := strings.Replace(printed(t, checks()["diagnosed"]), `"nodes"`, `"later": {"field": "1"}, "nodes"`, 1)
	found, err := Stored("a.json", []byte(text+"\n"+text))
	must.That(t, err == nil && len(found) == 2, "%d results, %v", len(found), err)
	latest, older := Latest(found)
	expect.That(t, older == 1, "%d older ones", older)
	data, err := json.Marshal(Overview{Checks: latest}.Document().Clusters[0])
	must.Succeed(t, err)
	if diff := cmp.Diff(indented(t, []byte(text)), indented(t, data)+"\n"); diff != "" {
		t.Error(diff)
	}
}

func TestTheLatestResultOfEachClusterCounts(t *testing.T) {
	c := checks()["healthy"]
	at := func(c Check, name string, minutes int) Check {
		c = in(c, cluster.Account, name, nil)
		c.Snapshot.At = now.Add(time.Duration(minutes) * time.Minute)
		return c
	}
	elsewhere := in(c, "", "a", nil)
	got, older := Latest([]Check{at(c, "a", 1), at(c, "b", 5), at(c, "a", 3), at(c, "a", 2)})
	if unknown, older := Latest([]Check{elsewhere, elsewhere}); older != 0 || len(unknown) != 2 {
		t.Errorf("%d clusters of unknown accounts count", len(unknown))
	}
	expect.That(t, older == 2 && len(got) == 2 && got[0].Snapshot.At.Equal(now.Add(3*time.Minute)) && got[1].Snapshot.Cluster.ID.Name == "b", "%d older, %+v", older, got)
}

func TestABadFileNamesTheLine(t *testing.T) {
	good := `{"at": "2026-03-02T12:00:00Z", "cluster": "a", "mode": "observe", "complete": true, "findings": []}` + "\n"
	for name, tt := range map[string]struct {
		text, want string
		read       int
	}{
		"empty":                  {"", "a.json:1: not a result of rollcall check --output json: it is empty", 0},
		"no JSON":                {"hello\n", "a.json:1: ", 0},
		"no JSON after a result": {good + "{\n  \"at\": now}\n", "a.json:3: ", 1},
		"it breaks off":          {good + good + `{"at":`, "a.json:3: ", 2},
		"of another type":        {good + "\n{\"at\": \"2026-03-02T12:00:00Z\",\n\"cluster\": 7}\n", "a.json:4: ", 1},
		"no cluster":             {good + "\n\n" + `{"at": "2026-03-02T12:00:00Z", "mode": "observe", "findings": []}`, "a.json:4: not a result of rollcall check --output json: at, cluster, mode or findings is missing", 1},
		"of explain":             {strings.Replace(good, "{", `{"answers": [], `, 1), "a.json:1: not a result of rollcall check --output json: it is one of rollcall explain", 0},
	} {
		found, err := Stored("a.json", []byte(tt.text))
		expect.That(t, err != nil && strings.HasPrefix(err.Error(), tt.want) && len(found) == tt.read, "%s: %d results, %v, want %s", name, len(found), err, tt.want)
	}
	found, err := Stored("a.json", []byte(good+good+"\n"))
	expect.That(t, err == nil && len(found) == 2 && found[0].Mode == policy.Observe, "%v", err)
}
