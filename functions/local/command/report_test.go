package command

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// result returns what check prints of a cluster with an AMI that is at fault.
func result(account, name string) string {
	return fmt.Sprintf(`{"at": "2026-03-02T12:00:00Z", "cluster": %q, "account": %q, "region": "eu-west-1", "mode": "observe", "complete": true, "nodes": 3, "ready": 2,
"findings": [{"instance": "i-00000000000000001", "kind": "NotReady", "stage": "overdue", "since": "2026-03-02T11:00:00Z", "due": "2026-03-02T11:15:00Z", "summary": "the node is not ready",
  "causes": [{"code": "RootVolumeFull", "confidence": "decisive", "summary": "its AMI fills the volume", "subject": "ami/ami-0123456789abcdef0", "fix": "aws ec2 describe-images"}]}]}
`, name, account)
}

// twoAccounts returns results of clusters in two accounts.
func twoAccounts() map[string]string {
	return map[string]string{
		"dev/a.json":       result("111122223333", "dev"),
		"prod.json":        result("123456789012", "shop") + result("123456789012", "media"),
		"audit/today.json": strings.Replace(result("123456789012", "log"), `"stage": "overdue"`, `"stage": "watching"`, 1),
		"README.md":        "no result",
	}
}

// theAMI is what the table says of the cause of twoAccounts.
const theAMI = "RootVolumeFull, ami/ami-0123456789abcdef0: 3 clusters in 2 accounts, 3 instances"

func TestAReportOfStoredResults(t *testing.T) {
	noAWS(t)
	dir, html := home(t, twoAccounts()), filepath.Join(t.TempDir(), "report.html")
	code, stdout, stderr := rollcall(t, "report", "--from", dir, "--html", html)
	if code != ExitFindings || stderr != "" || !strings.Contains(stdout, "Roll call of 4 clusters in 2 accounts.") || !strings.Contains(strings.Join(strings.Fields(stdout), " "), theAMI) {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if data, err := os.ReadFile(html); err != nil || !strings.Contains(string(data), theAMI) || !strings.Contains(string(data), "rollcall report --html FILE") {
		t.Errorf("%v: %s", err, data)
	}
	code, stdout, _ = rollcall(t, "report", "--from", dir, "-o", "json")
	var d struct {
		report.OverviewDocument
		Clusters []report.Document `json:"clusters"`
	}
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != ExitFindings || len(d.Accounts) != 2 || len(d.Shared) != 1 || len(d.Clusters) != 4 || len(d.Clusters[3].Findings) != 1 || d.At.IsZero() {
		t.Errorf("exit %d, %v: %s", code, err, stdout)
	}
	if code, stdout, _ := rollcall(t, "report", "--from", home(t, map[string]string{"a.json": twoAccounts()["audit/today.json"]})); code != ExitOK {
		t.Errorf("no finding: exit %d: %s", code, stdout)
	}
}

func TestWhatCannotBeReadIsSaidBesideTheRest(t *testing.T) {
	noAWS(t)
	files := twoAccounts()
	files["dev/b.json"] = "{}\n"
	dir := home(t, files)
	for _, form := range []string{"table", "json"} {
		code, stdout, _ := rollcall(t, "report", "--from", dir, "-o", form)
		expect.That(t, code == ExitError && strings.Contains(stdout, "dev/b.json:1: ") && strings.Contains(stdout, "RootVolumeFull"), "exit %d: %s", code, stdout)
	}
	again := result("111122223333", "dev")
	code, _, stderr := rollcall(t, "report", "--from", home(t, map[string]string{"a.json": again + again}))
	expect.That(t, code == ExitFindings && strings.Contains(stderr, "1 older result is left out"), "exit %d: %s", code, stderr)
}

func TestWhatAReportCannotBeAsked(t *testing.T) {
	noAWS(t)
	empty := t.TempDir()
	for want, args := range map[string][]string{
		"give either --profiles NAMES or --from DIR": nil,
		"either --profiles":                          {"--profiles", "a", "--from", empty},
		"--regions, --all-regions":                   {"--from", empty, "--regions", "eu-west-1"},
		"--profile is for --from":                    {"--profiles", "a", "--profile", "b"},
		"--output":                                   {"--from", empty, "-o", "wide"},
		"no file that ends in .json":                 {"--from", empty},
		"no such file or directory":                  {"--from", filepath.Join(empty, "none")},
		"it takes a folder, or s3://BUCKET/PREFIX":   {"--from", "s3://"},
		"no AWS region":                              {"--from", "s3://results/"},
	} {
		refused(t, append([]string{"report"}, args...), want)
	}
}

// A profile that cannot be read is an error, and the others are reported.
func TestAReportOfProfiles(t *testing.T) {
	w := twoRegions()
	w.serve(t)
	home(t, map[string]string{".aws/config": awsConfig + "[profile other]\naws_access_key_id = fromother\naws_secret_access_key = x\n"})
	code, stdout, stderr := rollcall(t, "report", "--profiles", "prod,broken,other", "--regions", "us-east-1,eu-west-1", "-o", "json")
	var d struct {
		Clusters []report.Document `json:"clusters"`
		Unread   []string          `json:"unread"`
	}
	err := json.Unmarshal([]byte(stdout), &d)
	must.That(t, err == nil && code == ExitError, "exit %d, %v: %s%s", code, err, stdout, stderr)
	if len(d.Clusters) != 6 || len(d.Unread) != 1 || !strings.HasPrefix(d.Unread[0], "profile broken: no AWS credentials for profile broken") {
		t.Errorf("%d clusters, %q", len(d.Clusters), d.Unread)
	}
	for _, key := range []string{"fromprofile", "fromother"} {
		expect.That(t, slices.Contains(w.keys, key), "%s was not used, but %q", key, w.keys)
	}
	refused(t, []string{"report", "--profiles", "broken"}, "profile broken: ")
}

// bucket serves objects as S3 does, two to a page, and the stack that has the bucket. https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
func bucket(t *testing.T, objects map[string]string, denied string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.Method == http.MethodPost {
			_, _ = fmt.Fprint(out, stackOf("results"))
			return
		}
		key, isObject := strings.CutPrefix(in.URL.Path, "/results/")
		if isObject && key != "" {
			if key == denied {
				out.WriteHeader(http.StatusForbidden)
				_, _ = fmt.Fprint(out, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
				return
			}
			_, _ = fmt.Fprint(out, objects[key])
			return
		}
		type object struct{ Key string }
		var page struct {
			XMLName               xml.Name `xml:"ListBucketResult"`
			IsTruncated           bool
			NextContinuationToken string `xml:",omitempty"`
			Contents              []object
		}
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			if !strings.HasPrefix(key, in.URL.Query().Get("prefix")) || key <= in.URL.Query().Get("continuation-token") {
				continue
			}
			if page.IsTruncated = len(page.Contents) == 2; page.IsTruncated {
				page.NextContinuationToken = page.Contents[1].Key
				break
			}
			page.Contents = append(page.Contents, object{key})
		}
		_ = xml.NewEncoder(out).Encode(page)
	}))
	t.Cleanup(server.Close)
	useEndpoint(t, server.URL)
}

func TestAReportOfABucket(t *testing.T) {
	objects := map[string]string{"old/z.json": "never read"}
	for name, text := range twoAccounts() {
		objects["today/"+name] = text
	}
	for name, tt := range map[string]struct {
		from, denied string
		code         int
		want         string
	}{
		"a prefix":                {"s3://results/today/", "", ExitFindings, theAMI},
		"the whole bucket":        {"s3://results", "", ExitError, "s3://results/old/z.json:1: "},
		"one object may not be":   {"s3://results/today/", "today/dev/a.json", ExitError, "s3://results/today/dev/a.json: s3:GetObject was denied"},
		"nothing has this prefix": {"s3://results/none", "", ExitError, "no file that ends in .json"},
	} {
		t.Run(name, func(t *testing.T) {
			noAWS(t)
			bucket(t, objects, tt.denied)
			code, stdout, stderr := rollcall(t, "report", "--from", tt.from)
			said := strings.Join(strings.Fields(stdout+stderr), " ")
			expect.That(t, code == tt.code && strings.Contains(said, tt.want), "exit %d: %s%s", code, stdout, stderr)
		})
	}
}
