package observe

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestReadsTheCluster(t *testing.T) {
	a := newAccount(t)
	a.cluster.Id = aws.String("8ee9f1a4-52d6-4d2e-a6a5-0a1b2c3d4e5f") // of a local cluster on an Outpost
	c, gap := a.observer().Cluster(t.Context(), "demo")
	if gap != nil {
		t.Fatal(gap)
	}
	expect.Equal(t, c.LocalID, "8ee9f1a4-52d6-4d2e-a6a5-0a1b2c3d4e5f", "id of a local cluster")
	expect.That(t, c.ID == (roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}) && c.Status == roll.ClusterActive && c.Version == "1.36" &&
		c.Endpoint == a.server.URL && c.ModeTag == "notify" && strings.HasPrefix(string(c.CA), "-----BEGIN CERTIFICATE-----"), "got %+v", c)
}

func TestSaysWhyTheClusterCannotBeRead(t *testing.T) {
	tests := map[string]struct {
		spoil  func(*account)
		kind   roll.GapKind
		detail string
	}{
		"not found": {
			func(a *account) { a.cluster.Name = aws.String("Demo") }, roll.GapClusterGone,
			`there is no EKS cluster "demo" in this account and region: check the name, AWS_REGION and the profile (names are case-sensitive; aws eks list-clusters shows them)`,
		},
		"denied": {
			func(a *account) {
				a.fail["eks:DescribeCluster"] = apiError("EKS", "DescribeCluster", "AccessDeniedException", "User: "+principal+" is not authorized to perform: eks:DescribeCluster on resource: arn:aws:eks:eu-west-1:111122223333:cluster/demo because no identity-based policy allows the eks:DescribeCluster action")
			}, roll.GapDenied,
			"eks:DescribeCluster was denied to " + principal + " because no identity-based policy allows the eks:DescribeCluster action: allow eks:DescribeCluster on arn:aws:eks:eu-west-1:111122223333:cluster/demo for that role",
		},
		"denied without a word": {
			func(a *account) {
				a.fail["eks:DescribeCluster"] = apiError("EKS", "DescribeCluster", "AccessDeniedException", "")
			}, roll.GapDenied,
			"eks:DescribeCluster was denied to " + principal + ": allow eks:DescribeCluster for that role",
		},
		"throttled": {
			func(a *account) {
				a.fail["eks:DescribeCluster"] = apiError("EKS", "DescribeCluster", "ThrottlingException", "Rate exceeded")
			}, roll.GapThrottled,
			"eks:DescribeCluster was throttled (ThrottlingException): the next check tries again",
		},
		"late": {
			func(a *account) { a.fail["eks:DescribeCluster"] = context.DeadlineExceeded }, roll.GapTimeout,
			"eks:DescribeCluster got no answer in time: the next check tries again",
		},
		"a CA that is not base64": {
			func(a *account) { a.cluster.CertificateAuthority.Data = aws.String("-----BEGIN CERTIFICATE-----") }, roll.GapFailed,
			"eks:DescribeCluster of demo: the certificate authority data is not base64: illegal base64 data at input byte 0",
		},
		"a strange ARN": {
			func(a *account) { a.cluster.Arn = aws.String("arn:aws:eks:eu-west-1:111122223333:demo") }, roll.GapFailed,
			`eks:DescribeCluster of demo: the ARN "arn:aws:eks:eu-west-1:111122223333:demo" has not the form arn:<partition>:eks:<region>:<account>:cluster/<name>`,
		},
		"an empty answer": {
			func(a *account) { a.cluster = nil }, roll.GapFailed,
			"eks:DescribeCluster of demo: the answer holds no cluster",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.launch(1, owned)
			a.join(1)
			tt.spoil(a)
			s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
			want := []roll.Gap{{Scope: roll.ScopeCluster, Kind: tt.kind, Call: "eks:DescribeCluster", Detail: tt.detail}}
			expect.That(t, slices.Equal(s.Gaps, want), "gaps\n got %+v\nwant %+v", s.Gaps, want)
			calls := []string{"eks:DescribeCluster"}
			if tt.kind == roll.GapClusterGone {
				calls = append(calls, "ec2:DescribeInstances")
			}
			expect.That(t, !s.Whole() && s.Cluster.ID.Name == "demo" && len(s.Instances) == 0 && len(s.Nodes) == 0 && slices.Equal(a.log, calls), "a cluster that was not read is looked at further: %+v, calls %v", s, a.log)
		})
	}
}

// The ledger is found by the id, so that people are told of a cluster that is never described.
func TestAClusterThatCannotBeDescribedHasItsIDIfTheAccountIsKnown(t *testing.T) {
	for account, want := range map[string]roll.ClusterID{
		"111122223333": {Account: "111122223333", Region: "eu-west-1", Name: "demo"},
		"":             {Name: "demo"},
	} {
		a := newAccount(t)
		a.fail["eks:DescribeCluster"] = apiError("EKS", "DescribeCluster", "AccessDeniedException", "")
		o := a.observer()
		o.Account = account
		for _, s := range []*roll.Snapshot{o.Snapshot(t.Context(), "demo", at, roll.Watch{}), o.Target(t.Context(), "demo", "i-00000001", at, roll.Watch{})} {
			expect.That(t, s.Cluster.ID == want && s.Cluster.ModeTag == roll.ModeTagUnread && s.Cluster.Status == "" && !s.Whole(), "account %q: %+v", account, s.Cluster)
		}
	}
}

// A deleted cluster has no tag, and is of the account of what it left behind.
func TestTheAccountOfADeletedClusterIsThatOfItsInstances(t *testing.T) {
	o := forsaken(t).observer()
	o.Account = "111122223333"
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, s.Cluster.ID == (roll.ClusterID{Region: "eu-west-1", Name: "demo"}) && s.Cluster.ModeTag == "", "%+v", s.Cluster)
}

func TestAClusterThatIsNotActiveIsReadAndSaidToBe(t *testing.T) {
	for _, status := range []ekstypes.ClusterStatus{ekstypes.ClusterStatusCreating, ekstypes.ClusterStatusUpdating, ekstypes.ClusterStatusDeleting, ekstypes.ClusterStatusFailed, "SOMETHING_NEW", ""} {
		a := newAccount(t)
		a.cluster.Status = status
		a.launch(1, owned)
		a.join(1)
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		want := []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapClusterNotActive, Call: "eks:DescribeCluster", Detail: "cluster demo is " + string(status) + ", not ACTIVE: nothing is concluded about its nodes"}}
		expect.That(t, slices.Equal(s.Gaps, want) && !s.Whole(), "%s: gaps %+v", status, s.Gaps)
		expect.Equal(t, s.StatusRead, roll.Unreadable, "%s: status checks", status)
		expect.That(t, len(s.Instances) == 1 && len(s.Nodes) == 1, "%s: %d instances and %d nodes, want what there is to report", status, len(s.Instances), len(s.Nodes))
	}
}

// Every age is measured with this machine's clock.
func TestAClockThatIsWrongIsAGap(t *testing.T) {
	for _, tt := range []struct {
		ahead time.Duration
		gap   bool
	}{{0, false}, {-20 * time.Second, false}, {-10 * time.Minute, true}, {10 * time.Minute, true}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(tt.ahead).UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"cluster": {"name": "demo", "arn": "arn:aws:eks:eu-west-1:111122223333:cluster/demo", "status": "ACTIVE"}}`)
		}))
		t.Cleanup(server.Close)
		o := New(Options{AWS: aws.Config{Region: "eu-west-1", BaseEndpoint: aws.String(server.URL), Credentials: aws.AnonymousCredentials{}}})
		_, gap := o.Cluster(t.Context(), "demo")
		expect.That(t, (gap != nil) == tt.gap, "%s ahead: gap %+v", tt.ahead, gap)
		if gap != nil && (gap.Scope != roll.ScopeCluster || !strings.HasPrefix(gap.Detail, "this machine's clock differs from that of AWS by ")) {
			t.Errorf("%s ahead: %+v", tt.ahead, gap)
		}
	}
}

func TestListsEveryClusterInOrder(t *testing.T) {
	a := newAccount(t)
	a.clusters = []string{"web", "batch", "Demo", "demo", "gpu"}
	got, err := a.observer().Clusters(t.Context())
	expect.That(t, err == nil && slices.Equal(got, []string{"Demo", "batch", "demo", "gpu", "web"}), "got %v, %v", got, err)
	a.fail["eks:ListClusters 5"] = apiError("EKS", "ListClusters", "AccessDeniedException", "no")
	got, err = a.observer().Clusters(t.Context())
	must.That(t, err != nil && got == nil, "page 2 failed, and still: %v", got)
	want := "eks:ListClusters was denied to " + principal + ": allow eks:ListClusters for that role"
	expect.That(t, err.Error() == want, "error\n got %s\nwant %s", err, want)
}
