package command

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var scope = regexp.MustCompile(`Credential=(\w+)/\d+/([a-z0-9-]+)/`)

// world is an account with clusters in several regions, none of which exists when it is looked at.
type world struct {
	clusters map[string]string // by region, as JSON
	denied   string            // the region in which nothing may be listed
	account  string            // whose credentials these are; "" if STS does not say

	mu   sync.Mutex
	keys []string // the access keys that were used
}

func (w *world) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	said := scope.FindStringSubmatch(in.Header.Get("Authorization"))
	if said == nil {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	key, region := said[1], said[2]
	w.mu.Lock()
	w.keys = append(w.keys, key)
	w.mu.Unlock()
	_ = in.ParseForm()
	switch {
	case in.URL.Path == "/clusters" && region == w.denied:
		out.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		out.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(out, `{"message":"User: arn:aws:iam::111122223333:user/jo is not authorized to perform: eks:ListClusters"}`)
	case in.URL.Path == "/clusters":
		_, _ = fmt.Fprintf(out, `{"clusters":[%s]}`, w.clusters[region])
	case strings.HasPrefix(in.URL.Path, "/clusters/"):
		out.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
		out.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(out, `{"message":"No cluster found for name."}`)
	case in.Form.Get("Action") == "GetCallerIdentity" && w.account != "":
		_, _ = fmt.Fprintf(out, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:sts::%s:assumed-role/ops/jo</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`, w.account)
	case in.Form.Get("Action") == "DescribeRegions":
		_, _ = fmt.Fprint(out, `<DescribeRegionsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><regionInfo><item><regionName>us-east-1</regionName></item><item><regionName>eu-west-1</regionName></item></regionInfo></DescribeRegionsResponse>`)
	case in.Form.Get("Action") == "DescribeInstances" && in.Form.Get("Filter.1.Name") == "tag-key":
		_, _ = fmt.Fprint(out, `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><instancesSet><item><instanceId>i-0bad0000000000001</instanceId><instanceType>m6i.large</instanceType><instanceState><name>running</name></instanceState><tagSet><item><key>kubernetes.io/cluster/shop</key><value>owned</value></item></tagSet></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`)
	default:
		_, _ = fmt.Fprint(out, `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/></DescribeInstancesResponse>`)
	}
}

// serve points the SDK to the world.
func (w *world) serve(t *testing.T) {
	t.Helper()
	noAWS(t)
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	useEndpoint(t, server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "fromenvironment")
}

func twoRegions() *world {
	return &world{clusters: map[string]string{"eu-west-1": `"shop","media"`, "us-east-1": `"shop"`}}
}

// check leaves out a cluster that the policy ignores, unless --cluster names it.
func TestAClusterThatThePolicyIgnores(t *testing.T) {
	for name, tt := range map[string]struct {
		policy     string
		args       []string
		code       int
		has, hasNo []string
	}{
		"one of two": {"overrides: [{match: {cluster: media}, mode: ignore}]", nil, ExitError, []string{"shop (eu-west-1)", "rollcall: the policy ignores media: name it with --cluster to check it"}, []string{"media ("}},
		"named":      {"overrides: [{match: {cluster: media}, mode: ignore}]", []string{"--cluster", "media"}, ExitError, []string{"media (eu-west-1)"}, []string{"ignores"}},
		"all":        {"mode: ignore", []string{"--all-regions"}, ExitOK, []string{"the policy ignores media, shop: name"}, []string{"(eu-west-1)", "there is no"}},
	} {
		t.Run(name, func(t *testing.T) {
			twoRegions().serve(t)
			code, stdout, stderr := rollcall(t, append([]string{"check", "--policy", write(t, "apiVersion: rollcall/v1\n"+tt.policy+"\n")}, tt.args...)...)
			expect.Equal(t, code, tt.code, "exit")
			says(t, stdout+stderr, tt.has...)
			for _, no := range tt.hasNo {
				expect.That(t, !strings.Contains(stdout+stderr, no), "%q in\n%s%s", no, stdout, stderr)
			}
		})
	}
}

func TestSeveralRegions(t *testing.T) {
	for name, tt := range map[string]struct {
		args       []string
		denied     string
		code       int
		has, hasNo []string
	}{
		"the environment's":           {nil, "", ExitError, []string{"media (eu-west-1)", "shop (eu-west-1)"}, []string{"us-east-1"}},
		"two":                         {[]string{"--region", "us-east-1", "--region", "eu-west-1"}, "", ExitError, []string{"media (eu-west-1)", "shop (eu-west-1)", "shop (us-east-1)"}, nil},
		"all":                         {[]string{"--all-regions"}, "", ExitError, []string{"media (eu-west-1)", "shop (us-east-1)"}, nil},
		"one of them may not be read": {[]string{"--all-regions"}, "us-east-1", ExitError, []string{"shop (eu-west-1)", "rollcall: us-east-1: eks:ListClusters was denied"}, nil},
		"no one may be read":          {nil, "eu-west-1", ExitError, []string{"rollcall: eks:ListClusters was denied"}, []string{"eu-west-1)"}},
		"a cluster of both":           {[]string{"--all-regions", "--cluster", "shop"}, "", ExitError, []string{"shop (eu-west-1)", "shop (us-east-1)"}, []string{"media"}},
		"a cluster of one":            {[]string{"--all-regions", "--cluster", "media"}, "", ExitError, []string{"media (eu-west-1)"}, []string{"shop"}},
		"a cluster of none":           {[]string{"--all-regions", "--cluster", "madia"}, "", ExitError, []string{`rollcall: there is no EKS cluster "madia" in eu-west-1, us-east-1`}, []string{"shop ("}},
		"no cluster at all":           {[]string{"--region", "eu-north-1"}, "", ExitOK, []string{"there is no EKS cluster in eu-north-1"}, []string{"shop"}},
		"as YAML":                     {[]string{"--all-regions", "-o", "yaml", "--cluster", "shop"}, "", ExitError, []string{"---\nat: ", "cluster: shop\nregion: us-east-1\n"}, []string{"media"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := twoRegions()
			w.denied = tt.denied
			w.serve(t)
			code, stdout, stderr := rollcall(t, append([]string{"check"}, tt.args...)...)
			expect.Equal(t, code, tt.code, "exit")
			says(t, stdout+stderr, tt.has...)
			for _, no := range tt.hasNo {
				expect.That(t, !strings.Contains(stdout+stderr, no), "%q in\n%s%s", no, stdout, stderr)
			}
		})
	}
}

// home writes files below a home directory.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Setenv("HOME", dir)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, ".aws/config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, ".aws/credentials"))
	return dir
}

const awsConfig = `[default]
region = eu-west-1
[profile prod]
region = us-east-1
aws_access_key_id = fromprofile
aws_secret_access_key = x
[profile sso]
region = eu-west-1
sso_session = corp
sso_account_id = 111122223333
sso_role_name = ops
[sso-session corp]
sso_start_url = https://example.awsapps.com/start
sso_region = eu-west-1
[profile broken]
region = eu-west-1
credential_process = false
`

const shopContext = `apiVersion: v1
kind: Config
current-context: shop
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: shop, context: {cluster: c, user: u}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, interactiveMode: Never, args: [--region, us-east-1, eks, get-token, --cluster-name, shop], env: [{name: AWS_PROFILE, value: prod}]}}}]
`

// A profile that is named takes precedence over the keys in the environment, as for aws.
func TestAProfileAndAContext(t *testing.T) {
	for name, tt := range map[string]struct {
		args      []string
		key, want string
	}{
		"the environment's keys": {nil, "fromenvironment", "media (eu-west-1)"},
		"a profile":              {[]string{"--profile", "prod", "--region", "us-east-1"}, "fromprofile", "shop (us-east-1)"},
		"a context":              {[]string{"--context", "shop"}, "fromprofile", "shop (us-east-1)"},
		"the current context":    {[]string{"--kubeconfig", "{home}/.kube/config"}, "fromprofile", "shop (us-east-1)"},
		"a context, elsewhere":   {[]string{"--context", "shop", "--region", "eu-west-1"}, "fromprofile", "shop (eu-west-1)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := twoRegions()
			w.serve(t)
			dir := home(t, map[string]string{".aws/config": awsConfig, ".kube/config": shopContext})
			t.Setenv("KUBECONFIG", filepath.Join(dir, ".kube/config"))
			var args []string
			for _, a := range tt.args {
				args = append(args, strings.ReplaceAll(a, "{home}", dir))
			}
			_, stdout, stderr := rollcall(t, append([]string{"check"}, args...)...)
			if slices.Sort(w.keys); len(slices.Compact(w.keys)) != 1 || w.keys[0] != tt.key || !strings.Contains(stdout, tt.want) {
				t.Errorf("keys %v: %s%s", w.keys, stdout, stderr)
			}
		})
	}
}

// The account of the credentials may have a cluster of the same name, and the context means another.
func TestAContextOfAnotherAccount(t *testing.T) {
	const of, ours = "arn:aws:eks:us-east-1:444455556666:cluster/shop", "arn:aws:eks:us-east-1:111122223333:cluster/shop"
	const refused = "rollcall: --context: its cluster is in account 444455556666, and the credentials are those of arn:aws:sts::111122223333:assumed-role/ops/jo: give --profile NAME of that account\n"
	for name, tt := range map[string]struct {
		cluster, account string
		args             []string
		want             string
	}{
		"another account":               {of, "111122223333", nil, refused},
		"a profile of another account":  {of, "111122223333", []string{"--profile", "prod"}, refused},
		"another region":                {of, "111122223333", []string{"--region", "eu-west-1"}, refused},
		"the account":                   {ours, "111122223333", nil, "shop (us-east-1)"},
		"STS does not tell the account": {of, "", nil, "shop (us-east-1)"},
		"no ARN":                        {"shop.us-east-1.eksctl.io", "111122223333", nil, "shop (us-east-1)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := twoRegions()
			w.account = tt.account
			w.serve(t)
			text := strings.NewReplacer("cluster: c,", `cluster: "`+tt.cluster+`",`, "name: c,", `name: "`+tt.cluster+`",`, "name: AWS_PROFILE, value: prod", "name: AWS_PAGER, value: cat").Replace(shopContext)
			t.Setenv("KUBECONFIG", filepath.Join(home(t, map[string]string{".aws/config": awsConfig, ".kube/config": text}), ".kube/config"))
			code, stdout, stderr := rollcall(t, append([]string{"check", "--context", "shop"}, tt.args...)...)
			expect.That(t, code == ExitError && strings.Contains(stdout+stderr, tt.want), "exit %d: %s%swant %s", code, stdout, stderr, tt.want)
			expect.That(t, tt.want != refused || stdout == "", "it was read: %s", stdout)
		})
	}
}

func TestWhyThereAreNoCredentialsIsOneLineWithTheFix(t *testing.T) {
	for want, args := range map[string][]string{
		"rollcall: the AWS login of profile sso has expired, or there was none: aws sso login --profile sso\n":         {"--profile", "sso"},
		"rollcall: there is no AWS profile \"prodd\": aws configure list-profiles shows those that there are\n":        {"--profile", "prodd"},
		"rollcall: no AWS credentials for the default profile: give --profile NAME or set AWS_PROFILE":                 nil,
		"rollcall: no AWS credentials for profile broken: ":                                                            {"--profile", "broken"},
		"rollcall: no AWS region: give --region, set AWS_REGION, or run aws configure set region REGION --profile x\n": {"--profile", "x"},
	} {
		noAWS(t)
		home(t, map[string]string{".aws/config": awsConfig + "[profile x]\naws_access_key_id = x\naws_secret_access_key = x\n"})
		code, stdout, stderr := rollcall(t, append([]string{"check"}, args...)...)
		expect.That(t, code == ExitError && stdout == "" && strings.HasPrefix(stderr, want) && strings.Count(stderr, "\n") == 1, "exit %d: %s%swant %s", code, stdout, stderr, want)
	}
}

func TestWhatDoesNotGoTogether(t *testing.T) {
	noAWS(t)
	home(t, map[string]string{".kube/config": shopContext})
	t.Setenv("KUBECONFIG", "")
	for want, args := range map[string][]string{
		"--all-regions cannot be combined with --region": {"check", "--all-regions", "--region", "eu-west-1"},
		"--context means one region":                     {"check", "--context", "shop", "--all-regions"},
		"--context cannot be combined with --cluster":    {"explain", failing, "--context", "shop", "--cluster", "a"},
		"--region: the name is empty":                    {"capture", "--region", "", "--out", "x", "--cluster", "a"},
		"--cluster: name the cluster, or give --context": {"capture", "--out", "x"},
		"--profile cannot be combined with --bundle":     {"explain", "--bundle", unmapped, "--profile", "p"},
	} {
		refused(t, args, want)
	}
}

func TestShellsCompleteWhatThereIs(t *testing.T) {
	twoRegions().serve(t)
	t.Setenv("KUBECONFIG", filepath.Join(home(t, map[string]string{".aws/config": awsConfig, ".kube/config": shopContext}), ".kube/config"))
	for want, args := range map[string][]string{
		"broken\ndefault\nprod\nsso\n:4":                     {"check", "--profile", ""},
		"media\nshop\n:4":                                    {"check", "--cluster", ""},
		"shop\n:4":                                           {"capture", "--context", ""},
		"us-east-1\neu-west-1\n:4":                           {"stop", "--region", ""},
		"table\nwide\njson\nyaml\n:4":                        {"check", "-o", ""},
		"i-0bad0000000000001\tshop, m6i.large, running\n:4":  {"explain", "i-0b"},
		"nodepool/\nnodegroup/\nasg/\nnodeclaim/\nnode/\n:6": {"explain", "n"},
		"i-0bad0000000000001\n":                              {"explain", "--bundle", unmapped, "i-0b"},
		"bastion\n":                                          {"simulate", "--fault", ""},
	} {
		code, stdout, _ := rollcall(t, append([]string{"__complete"}, args...)...)
		expect.That(t, code == ExitOK && strings.Contains(stdout, want), "%q: exit %d, %q, want %q", args, code, stdout, want)
	}
}

// What fails completes nothing, and says nothing.
func TestACompletionWithoutAnAccount(t *testing.T) {
	noAWS(t)
	code, stdout, stderr := rollcall(t, "__complete", "check", "--cluster", "")
	expect.That(t, code == ExitOK && stdout == ":4\n" && !strings.Contains(stderr, "credentials"), "exit %d, %q, %q", code, stdout, stderr)
}

func TestWatchChecksAgainUntilInterrupted(t *testing.T) {
	defer func(least time.Duration) { leastWatch = least }(leastWatch)
	leastWatch = time.Millisecond
	for _, width := range []int{0, 80} {
		twoRegions().serve(t)
		out := &signals{text: "third", written: make(chan struct{})}
		var errs bytes.Buffer
		rounds := 0
		now := func() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }
		counted := writer(func(p []byte) (int, error) {
			if strings.Contains(string(p), "again every") {
				if rounds++; rounds == 3 {
					_, _ = out.Write([]byte("third"))
				}
			}
			return out.Write(p)
		})
		code, _, _, _ := interrupt(t, []string{"check", "--watch=20ms", "--cluster", "shop"}, out.written, Environment{Stdout: counted, Stderr: &errs, Now: now, Columns: func() int { return width }})
		if code != ExitInterrupted || !strings.Contains(errs.String(), "interrupted") || strings.Count(out.String(), "shop (eu-west-1)") < 2 {
			t.Errorf("exit %d: %s%s", code, out, &errs)
		}
		expect.Equal(t, strings.Contains(out.String(), "\x1b[2J"), width > 0, "%d columns: the screen is cleared", width)
		expect.That(t, strings.Contains(out.String(), "2026-03-02 12:00:00Z, again every 20ms\n"), "no heading in %s", out)
	}
}

// The first check of a watch ends with an error of the person's.
func TestAWatchThatCannotBegin(t *testing.T) {
	noAWS(t)
	refused(t, []string{"check", "--watch"}, "no AWS region")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestTheManualOfARelease(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	code, stdout, stderr := rollcall(t, "manual", dir)
	must.That(t, code == ExitOK && stdout == "", "exit %d: %s%s", code, stdout, stderr)
	for file, want := range map[string]string{
		"man1/rollcall.1": `"Jan 2026" "rollcall `, "man1/rollcall-check.1": "all-regions", "man1/rollcall-policy-check.1": "instance-tag",
		"completions/rollcall.bash": "complete -o default", "completions/_rollcall": "#compdef rollcall", "completions/rollcall.fish": "complete -c rollcall", "completions/rollcall.ps1": "Register-ArgumentCompleter",
	} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		expect.That(t, err == nil && strings.Contains(string(data), want), "%s: %v, no %q in\n%s", file, err, want, data)
	}
	_, err := os.Stat(filepath.Join(dir, "man1", "rollcall-manual.1"))
	expect.That(t, err != nil, "the hidden command has a page")
}

func TestYAMLHasTheFieldsOfTheJSONInItsOrder(t *testing.T) {
	var b bytes.Buffer
	err := form{output: outputYAML}.print(&b, struct {
		Zone   string   `json:"zone"`
		Number int      `json:"number"`
		Text   string   `json:"text"`
		Empty  []string `json:"empty"`
		Lines  string   `json:"lines"`
	}{"a", 1, "1", []string{}, "a\nb"})
	want := "zone: a\nnumber: 1\ntext: \"1\"\nempty: []\nlines: |-\n  a\n  b\n"
	expect.That(t, err == nil && b.String() == want, "%v\n%s", err, b.String())
}
