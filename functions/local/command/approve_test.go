package command

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var asked = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// refusing is a ledger in which nothing can be written.
type refusing struct{ shelf }

func (refusing) Approve(context.Context, roll.ClusterID, string, ledger.Approval) (ledger.ApprovalRequest, error) {
	return ledger.ApprovalRequest{Order: "0123456789abcdef", Acts: []string{"terminate"}}, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User: arn:aws:iam::111122223333:user/oncall is not authorized to perform: dynamodb:PutItem on resource: arn:aws:dynamodb:eu-west-1:111122223333:table/ledger"}
}

// withQuestion is a ledger of two clusters, the second of which asks about an order.
func withQuestion(t *testing.T) shelf {
	t.Helper()
	s := shelf{Memory: ledger.NewMemory()}
	for _, name := range []string{"orders", "search"} {
		s.clusters = append(s.clusters, roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: name})
	}
	f := ledger.Finding{Instance: "i-0123456789abcdef0", Kind: roll.Unknown, Node: "ip-10-0-0-1", Group: "asg/w", Stage: roll.Overdue, FirstSeen: asked, Since: asked, Began: asked}
	q := ledger.ApprovalRequest{
		Order: "0123456789abcdef", Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind, Acts: []string{"reboot", "terminate"},
		Why: "node ip-10-0-0-1 is silent since 11:20", Cause: "MemoryPressurePreceded", At: asked, Until: asked.Add(2 * time.Hour),
	}
	put := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, Questions: map[string]ledger.ApprovalRequest{q.Order: q}}
	must.Succeed(t, s.Record(t.Context(), s.clusters[1], ledger.Changes{Put: put}))
	return s
}

func TestApprove(t *testing.T) {
	d := deployment{stack: "rollcall", account: "111122223333", region: "eu-west-1"}
	d.settings.Table = "ledger"
	by := func(who string, after time.Duration) ledger.Approval {
		return ledger.Approval{By: "arn:aws:iam::111122223333:user/" + who, How: ledger.WayCommand, At: asked.Add(after)}
	}
	s := withQuestion(t)
	show := func(m ledger.OfClusters, order string, a ledger.Approval) (string, error) {
		told, err := approve(t.Context(), m, d, order, a)
		var out bytes.Buffer
		must.Succeed(t, told.print(Environment{Stdout: &out}, form{output: outputTable}))
		return out.String(), err
	}
	for _, tt := range []struct {
		name, order string
		a           ledger.Approval
		want        error
		says        string
	}{
		{"forged", "fedcba9876543210", by("oncall", time.Minute), ledger.ErrNotAsked, `of order "fedcba9876543210"`},
		{"too late", "0123456789abcdef", by("oncall", 2*time.Hour), ledger.ErrTooLate, "since 2026-03-02 14:00"},
		{"in time", "0123456789abcdef", by("oncall", time.Minute), nil, ""},
		{"twice", "0123456789abcdef", by("another", 2*time.Minute), ledger.ErrApproved, "user/oncall, by command, at 2026-03-02 12:01"},
	} {
		out, err := show(s, tt.order, tt.a)
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.says)
		}
		shown := []string{"reboot, terminate", "i-0123456789abcdef0", "ip-10-0-0-1", "search", "MemoryPressurePreceded", "0123456789abcdef"}
		for _, part := range shown {
			expect.That(t, strings.Contains(out, part) != (tt.name == "forged"), "%s: %q, want %q in it unless it is forged", tt.name, out, part)
		}
		expect.That(t, strings.HasPrefix(out, "approved: ") == (err == nil), "%s: %q", tt.name, out)
	}
	state, err := s.Memory.Read(t.Context(), s.clusters[1])
	expect.That(t, err == nil && len(state.Approvals) == 1 && state.Approvals["0123456789abcdef"] == by("oncall", time.Minute), "on record is %v, %v", state.Approvals, err)
	if _, err := show(refusing{s}, "0123456789abcdef", by("oncall", time.Minute)); err == nil || !strings.Contains(err.Error(), "dynamodb:PutItem was denied to arn:aws:iam::111122223333:user/oncall") {
		t.Errorf("without the permission: %v", err)
	}
}
