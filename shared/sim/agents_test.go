package sim

import (
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// Reading the logs of hosts breaks no rule, whether their agents answer, hang or are absent: an act in
// time stays in time, and a machine that hangs is acted on. Without the setting nothing is asked.
func TestHostLogsBreakNoRule(t *testing.T) {
	sent, read := 0, 0
	for seed := uint64(1); seed <= 4; seed++ {
		for _, on := range []bool{true, false} {
			sc := Random(Options{Seed: seed, Hours: 12, Clusters: 1, Nodes: 12})
			sc.HostLogs = on
			r, err := Run(sc, Watch{})
			must.Succeed(t, err)
			for _, v := range r.Violations {
				t.Errorf("seed %d, host logs %v: %s: %s", seed, on, v.Rule, v.Detail)
			}
			if calls := r.Usage.Calls; on {
				sent, read = sent+calls["ssm:SendCommand"], read+calls["ssm:GetCommandInvocation"]
			} else if calls["ssm:SendCommand"]+calls["ssm:ListCommandInvocations"]+calls["ssm:DescribeInstanceInformation"] > 0 {
				t.Errorf("seed %d: without the setting: %v", seed, calls)
			}
		}
	}
	expect.That(t, sent >= 10 && read >= 10, "%d commands were sent, and %d times their output was read", sent, read)
}

func TestTheDaysOfTheDemoAskNoHost(t *testing.T) {
	expect.That(t, !Day().HostLogs, "the demo reads the logs of hosts")
}
