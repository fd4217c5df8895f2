package sim

import (
	"fmt"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// real lists what happens in real accounts: the fault that causes it, the fault's form, and the words of
// the event that shows it, "" for any.
var real = []struct {
	what   string
	kind   FaultKind
	form   string
	detail string
	// ordered is whether an act on the machine was ordered before.
	ordered bool
}{
	{"machines that join and die again", FaultDiesYoung, "", "", false},
	{"machines that degrade repeatedly: after each reboot", FaultRelapse, relapseRebooted, "silent again", false},
	{"machines that degrade repeatedly: by themselves", FaultRelapse, relapseAlone, "silent again", false},
	{"startup taints that come back", FaultTaintReturns, "node.cilium.io/agent-not-ready:NoSchedule", "is back on", false},
	{"pods that hang in Terminating", FaultHangingPods, "", "are in Terminating", false},
	{"local volumes", FaultSilentServing, keptLocal, "", false},
	{"PDBs at zero", FaultSilentServing, keptBudget, "", false},
	{"stop", FaultStopped, stopsForGood, "", false},
	{"start", FaultStopped, stopsAndStarts, startedAgain, false},
	{"hibernation", FaultStopped, hibernated, "", false},
	{"the same node name reused: on a new Node", FaultNameReused, nameRecreated, "", false},
	{"the same node name reused: on the old Node", FaultNameReused, nameAdopted, "", false},
	{"scale-in protection", FaultSetAside, asideProtected, "", false},
	{"Standby", FaultSetAside, asideStandby, "", false},
	{"warm pools, stopped", FaultSetAside, asideWarm, "", false},
	{"warm pools, running", FaultSetAside, asideWarmRun, "", false},
	{"warm pools, hibernated", FaultSetAside, asideHibernate, "", false},
	{"instance refresh", FaultSetAside, asideRefresh, "", false},
	{"a suspended process: Launch", FaultSuspended, "Launch", "", false},
	{"a suspended process: Terminate", FaultSuspended, "Terminate", "", false},
	{"a suspended process: AddToLoadBalancer", FaultSuspended, "AddToLoadBalancer", "", false},
	{"a suspended process: AlarmNotification", FaultSuspended, "AlarmNotification", "", false},
	{"a suspended process: AZRebalance", FaultSuspended, "AZRebalance", "", false},
	{"a suspended process: HealthCheck", FaultSuspended, "HealthCheck", "", false},
	{"a suspended process: InstanceRefresh", FaultSuspended, "InstanceRefresh", "", false},
	{"a suspended process: ReplaceUnhealthy", FaultSuspended, "ReplaceUnhealthy", "", false},
	{"a suspended process: ScheduledActions", FaultSuspended, "ScheduledActions", "", false},
	{"a terminated member that is not replaced: Terminate", FaultSuspended, "Terminate", "not replaced", false},
	{"a terminated member that is not replaced: HealthCheck", FaultSuspended, "HealthCheck", "not replaced", false},
	{"a terminated member that is not replaced: ReplaceUnhealthy", FaultSuspended, "ReplaceUnhealthy", "not replaced", false},
	{"launches that fail for AMI", FaultUnlaunched, "ami", "InvalidAMIID", false},
	{"launches that fail for KMS", FaultUnlaunched, endedAtLaunch, "InvalidKMSKey", false},
	{"launches that fail for quota", FaultUnlaunched, "quota", "VcpuLimitExceeded", false},
	{"launches that fail for profile", FaultUnlaunched, "profile", "iamInstanceProfile", false},
	{"degraded node groups", FaultNoReplacement, unwellNodeGroup, "DEGRADED", false},
	{"updating node groups", FaultNoReplacement, unwellNodeGroup, "UPDATING", false},
	{"Karpenter's consolidation racing an act", FaultDisrupted, consolidated, "", true},
	{"Karpenter's drift racing an act", FaultDisrupted, drifted, "", true},
	{"Karpenter's expiry racing an act", FaultDisrupted, expired, "", true},
	{"spot's two-minute warning", FaultSpot, "", "two minutes after its warning", false},
	{"spot: Karpenter removes what EC2 takes back", FaultSpot, "", "Karpenter removes", false},
	{"spot: EKS drains what EC2 takes back", FaultSpot, "", "EKS drains", false},
	{"spot: a rebalance recommendation", FaultSpot, spotRebalance, "", false},
	{"spot: a warning racing an act", FaultSpot, spotRaced, "", true},
	{"impaired instance status", FaultImpaired, checksInstance, "", false},
	{"impaired system status", FaultImpaired, checksSystem, "", false},
	{"impaired system status, and the instance's with it", FaultImpaired, checksBoth, "", false},
	{"impaired system status, from which EC2 recovers it", FaultImpaired, checksSystem, "EC2 recovers it", false},
	{"scheduled events: retirement", FaultScheduled, eventRetires, "EC2 stops it", false},
	{"scheduled events: reboot", FaultScheduled, eventReboots, "", false},
	{"scheduled events: reboot of the instance", FaultScheduled, eventRestarts, "instance-reboot", false},
	{"scheduled events: maintenance", FaultScheduled, eventMaintains, "system-maintenance", false},
	{"scheduled events: stop", FaultScheduled, eventStops, "instance-stop", false},
	{"scheduled events: canceled", FaultScheduled, eventCanceled, "", false},
	{"lost EC2 events", FaultLostEvents, "", "", false},
	{"missed sweeps", FaultMissedSweeps, "", "", false},
	{"partial PutEvents", FaultPartialPut, "", "", false},
	{"SDK retries with their backoff", FaultRetries, sdkBackoff, "", false},
	{"429 with Retry-After", FaultRetries, retryAfter, "kubernetes:", false},
	{"Lambda throttling", FaultNotInvoked, "", "", false},
	{"Lambda out-of-memory", FaultMemory, "", "", false},
	{"a regional degradation as one event", FaultDegraded, "", "", false},
	{"rolling upgrades that freeze heartbeats", FaultFrozen, frozenEach, "", false},
	{"upgrades of the control plane that freeze heartbeats", FaultFrozen, frozenAll, "", false},
	{"a policy parameter deleted", FaultKillSwitch, policyDeleted, "", false},
	{"a policy parameter emptied", FaultKillSwitch, policyEmptied, "", false},
	{"a policy parameter replaced by an older one", FaultKillSwitch, policyOlder, "", false},
	{"a lost table", FaultBacklog, tableLost, "", false},
	{"a lost table, while functions run", FaultBacklog, tableHard, "the ledger's table is gone", false},
	{"clusters added with a backlog", FaultBacklog, accessGranted, "", false},
	{"dated holds: a day", FaultDatedHold, holdDay, "", false},
	{"dated holds: a time", FaultDatedHold, holdTime, "", false},
	{"dated holds: a day that is over", FaultDatedHold, holdOver, "", false},
	{"rollcall:ignore on an instance in trouble", FaultPeople, "", "rollcall:ignore", false},
	{"an evening's scale-in", FaultTides, tideEvening, "", false},
	{"bursts", FaultTides, tideBurst, "", false},
	{"jobs in a group that is often empty", FaultTides, tideBatch, "", false},
	{"a group that takes over another's work", FaultTides, tideBlueGreen, "", false},
	{"Cluster Autoscaler's scale-in", FaultTides, tideScaleDown, "", false},
	{"Karpenter's launches for the pods of silent nodes", FaultTides, tideMovedPods, "", false},
	{"nodes without a provider id", FaultNoProviderID, "", "", false},
	{"Auto Mode nodes beside the others", FaultBeside, besideAuto, "", false},
	{"Cluster API nodes beside the others", FaultBeside, besideCAPI, "", false},
	{"Fargate nodes beside the others", FaultBeside, besideFargate, "", false},
	{"Windows nodes beside the others", FaultBeside, besideWindows, "", false},
}

// Each row of the table arises in random accounts, and no rule is broken until then. The accounts are
// small: they are the first seeds that have the fault in its form.
func TestWhatRealAccountsDoArises(t *testing.T) {
	const most = 24 // it must arise in one of this many accounts
	type form struct {
		kind  FaultKind
		value string
	}
	drawn := map[form][]Scenario{}
	for seed := range uint64(8000) {
		sc := Random(Options{Seed: seed, Hours: 12, Clusters: 1, Nodes: 24})
		for _, f := range sc.Faults {
			for _, k := range []form{{f.Kind, f.Value}, {f.Kind, ""}} {
				if len(drawn[k]) < most {
					drawn[k] = append(drawn[k], sc)
				}
			}
		}
	}
	every := 1
	if testing.Short() || raced {
		every = 8
	}
	for i, row := range real {
		if i%every != 0 {
			continue
		}
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			at := form{row.kind, row.form}
			if row.kind == FaultRetries {
				at.value = ""
			}
			arose := false
			for _, sc := range drawn[at] {
				ordered := map[string]bool{}
				r, err := Run(sc, Watch{Stop: func() bool { return arose }, Tell: func(e Event) {
					switch {
					case e.Kind == EventOrder:
						ordered[e.Instance] = true
					case row.detail == startedAgain:
						arose = arose || e.Kind == EventAilment && e.Detail == startedAgain
					case e.Kind == EventArose && e.Stage == string(row.kind) && strings.Contains(e.Detail, row.detail) && (!row.ordered || ordered[e.Instance]):
						arose = arose || row.form == "" || e.Reason == row.form
					}
				}})
				must.Succeed(t, err)
				for _, v := range r.Violations {
					t.Errorf("seed %d breaks %s: %s", sc.Seed, v.Rule, v.Detail)
				}
				if arose {
					return
				}
			}
			t.Errorf("it arises in none of %d accounts that have %s", len(drawn[at]), fmt.Sprint(at.kind, " ", at.value))
		})
	}
}

// A throttled call is retried after a while, as its client does. Calls that terminate or reboot
// instances are sent once.
func TestThrottledCallsAreTriedAgain(t *testing.T) {
	tests := map[string]int{"ec2:DescribeInstances": 3, "dynamodb:Query": 3, "ec2:TerminateInstances": 1, "ec2:RebootInstances": 1, "kubernetes:list nodes": 10}
	for name, want := range tests {
		r := retryOf(name)
		expect.That(t, r.tries == want, "%s is tried %d times, want %d", name, r.tries, want)
	}
}
