package approve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// two is the memory of two clusters, of which the second has a question.
type two struct {
	*ledger.Memory
	broken error
}

func (m two) Clusters(_ context.Context, account, region string) ([]roll.ClusterID, error) {
	return []roll.ClusterID{{Account: account, Region: region, Name: "a"}, {Account: account, Region: region, Name: "b"}}, m.broken
}

func asked(t *testing.T, order string, until time.Time) two {
	t.Helper()
	m := two{Memory: ledger.NewMemory()}
	f := ledger.Finding{Instance: "i-0123456789abcdef0", Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue, FirstSeen: now, Since: now, Began: now}
	q := ledger.ApprovalRequest{Order: order, Instance: f.Instance, Node: "ip-10-0-0-1", Group: f.Group, Kind: f.Kind, Acts: []string{"reboot", "terminate"}, At: now, Until: until}
	id := roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "b"}
	put := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, Questions: map[string]ledger.ApprovalRequest{order: q}}
	must.Succeed(t, m.Record(t.Context(), id, ledger.Changes{Put: put}))
	return m
}

func (m two) approvals(t *testing.T) map[string]ledger.Approval {
	t.Helper()
	s, err := m.Read(t.Context(), roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "b"})
	must.Succeed(t, err)
	return s.Approvals
}

func handle(t *testing.T, m two, order string) (string, error) {
	t.Helper()
	var log bytes.Buffer
	h := Approver{Ambient: ambient.Ambient{Clock: func() time.Time { return now }, Log: slog.New(slog.NewJSONHandler(&log, nil)), Metrics: &bytes.Buffer{}}, Ledger: m}
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{InvokedFunctionArn: "arn:aws:lambda:eu-west-1:111122223333:function:rollcall-approve"})
	answer, err := h.Handle(ctx, Request{Order: order})
	expect.That(t, !strings.Contains(log.String(), "secret"), "the log holds what somebody typed: %s", &log)
	return answer, err
}

func TestApprovesWhatIsAsked(t *testing.T) {
	const order = "0123456789abcdef"
	m := asked(t, order, now.Add(time.Hour))
	answer, err := handle(t, m, " "+order+"\n")
	if err != nil || !strings.HasPrefix(answer, "Approved: reboot, terminate of i-0123456789abcdef0, node ip-10-0-0-1 in b, order "+order) {
		t.Errorf("%q, %v", answer, err)
	}
	if got, want := m.approvals(t)[order], (ledger.Approval{By: member, How: ledger.WayChat, At: now}); got != want {
		t.Errorf("on record is %v, want %v", got, want)
	}
}

func TestAnswersWhatItDoesNotApprove(t *testing.T) {
	const order = "0123456789abcdef"
	for name, tt := range map[string]struct {
		until time.Time
		order string
		want  string
	}{
		"forged":        {now.Add(time.Hour), "fedcba9876543210", "no notice asked"},
		"a secret":      {now.Add(time.Hour), "secret", "no notice asked"},
		"nothing":       {now.Add(time.Hour), "", "no notice asked"},
		"a part of one": {now.Add(time.Hour), order[:8], "no notice asked"},
		"too late":      {now, order, "the time to approve it is over since 2026-03-02 12:00"},
	} {
		m := asked(t, order, tt.until)
		answer, err := handle(t, m, tt.order)
		if err != nil || !strings.HasPrefix(answer, "Not approved: ") || !strings.Contains(answer, tt.want) {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		if got := m.approvals(t); len(got) > 0 {
			t.Errorf("%s: %v was recorded", name, got)
		}
	}
	m := asked(t, order, now.Add(time.Hour))
	for _, want := range []string{"Approved: ", "Not approved: it was approved already: a member of the chat channel, by chat, at 2026-03-02 12:00"} {
		if answer, err := handle(t, m, order); err != nil || !strings.HasPrefix(answer, want) {
			t.Errorf("%q, %v; want %q", answer, err, want)
		}
	}
}

func TestFailsWhereTheLedgerDoes(t *testing.T) {
	m := asked(t, "0123456789abcdef", now.Add(time.Hour))
	m.broken = errors.New("throttled")
	if _, err := handle(t, m, "0123456789abcdef"); err == nil || !strings.Contains(err.Error(), "nothing was approved: throttled") {
		t.Error(err)
	}
	m.broken = nil
	h := Approver{Ambient: ambient.Ambient{Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler), Metrics: &bytes.Buffer{}}, Ledger: m}
	if _, err := h.Handle(t.Context(), Request{Order: "0123456789abcdef"}); err == nil {
		t.Error("an invocation that names no function is answered")
	}
}
