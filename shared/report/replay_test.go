package report_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/plan/replay"
	"rollcall/shared/report"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// twoPolicies compares a policy that terminated one instance with one that would have rebooted it,
// and held another act.
func twoPolicies() report.Replay {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	act := func(id string, do plan.Action, after time.Duration) replay.TakenAct {
		return replay.TakenAct{Order: plan.Order{ID: id, ClusterID: roll.ClusterID{Name: "payments"}, Instance: "i-00000000000000001", Group: "asg/w", Kind: roll.Unknown, Action: do, At: at.Add(after)}}
	}
	ended, both := act("a", plan.Terminate, time.Hour), act("b", plan.Cordon, time.Minute)
	ended.Result, both.Result, ended.Cause = ledger.Done, ledger.Done, "KubeletSilent"
	rebooted := act("c", plan.Reboot, 40*time.Minute)
	rebooted.Assumed = true
	held := func(reason plan.Reason, instance roll.InstanceID, lasted time.Duration) replay.Hold {
		return replay.Hold{Held: plan.Held{Instance: instance, Action: plan.Terminate, Refusal: plan.Refusal{Reason: reason, Detail: "because of " + string(instance)}}, From: at, Lasted: lasted}
	}
	return report.Replay{
		From: at, To: at.Add(4 * time.Hour), Clusters: []string{"payments"}, Checks: 48,
		Outcomes: []replay.Replayed{
			{Name: "as it ran", Acts: []replay.TakenAct{both, ended}, Notices: 3, Lost: 90 * time.Minute},
			{Name: "gentle.yaml", Acts: []replay.TakenAct{both, rebooted}, Notices: 4, Lost: 3 * time.Hour, Holds: []replay.Hold{held(plan.SharedCause, "i-1", time.Hour), held(plan.SharedCause, "i-2", 2*time.Hour), held(plan.SharedCause, "i-1", 0), held(plan.OneAtATime, "i-3", 4*time.Hour)}},
		},
		Idle: replay.Replayed{Lost: 4 * time.Hour},
	}
}

func TestAReplayAsText(t *testing.T) {
	var out strings.Builder
	must.Succeed(t, twoPolicies().Write(&out, report.Layout{}))
	const want = `Replay of 48 checks of 1 cluster from 2026-03-02 12:00:00Z to 2026-03-02
16:00:00Z

                      as it ran gentle.yaml
  acts                2         2 (1 assumed)
    cordon            1         1
    reboot            0         1
    terminate         1         0
  notices             3         4
  machine-hours lost  1.5       3.0
  machine-hours saved 2.5       1.0
  held: OneAtATime    -         1 for 4.0 h
  held: SharedCause   -         2 for 3.0 h

  acts that differ
  CLUSTER  GROUP               INSTANCE            ACT       CAUSE         AS IT RAN                  GENTLE.YAML
  payments asg/w               i-00000000000000001 reboot    Unknown       -                          2026-03-02 12:40:00Z, assumed
  payments asg/w               i-00000000000000001 terminate KubeletSilent 2026-03-02 13:00:00Z, done -

An act that the record does not have is assumed to take effect, and its machine
to be replaced within five minutes. A machine on which only the record acted is
assumed to stay as it was.
`
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	expect.That(t, got.String() == want, "%s", out.String())
}

func TestAReplayAsJSONAndAsAPage(t *testing.T) {
	d := twoPolicies().Document()
	gentle := d.Policies[1]
	if gentle.MachineHoursLost != 3 || gentle.MachineHoursSaved != 1 || gentle.Acts[1].Result != "assumed" || d.Policies[0].Acts[1].Result != "done" ||
		len(gentle.Holds) != 2 || gentle.Holds[1] != (report.ReplayedHold{Reason: plan.SharedCause, Instances: 2, Hours: 3, Detail: "because of i-2"}) {
		t.Errorf("%+v", d)
	}
	data, err := page.Render(twoPolicies().Page())
	expect.That(t, err == nil && strings.Contains(string(data), "gentle.yaml") && strings.Contains(string(data), "Acts that differ"), "%v: %d bytes", err, len(data))
}
