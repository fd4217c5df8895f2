package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

func indented(t *testing.T, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, json.Indent(&b, data, "", "  "))
	return b.String() + "\n"
}

// posted returns a message as its readers receive it.
func posted(t *testing.T, m Message) string {
	t.Helper()
	a := m.Attributes
	return fmt.Sprintf("Subject: %s\nAttributes: cluster=%s group=%s kind=%s cause=%s severity=%s action=%s news=%s incident=%s\n\n%s\n--- JSON\n%s\n--- chat\n%s",
		m.Subject, a.Cluster, a.Group, a.Kind, a.Cause, a.Severity, a.Action, a.News, a.Incident, m.Text, indented(t, m.JSON), indented(t, m.Chat))
}

var (
	now     = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "shop-production"}
)

func instanceID(n int) roll.InstanceID { return roll.InstanceID(fmt.Sprintf("i-%017x", n)) }

func nodeName(n int) string { return fmt.Sprintf("ip-10-0-12-%d.eu-west-1.compute.internal", n) }

// staged returns a finding that is overdue from its due time on, and before that in the stage that it has.
func staged(f roll.Finding) roll.Finding {
	if !now.Before(f.Due) {
		f.Stage = roll.Overdue
	}
	return f
}

// silent returns a finding about a node that has been silent for that long, with a tolerance
// of 30 minutes.
func silent(n int, long time.Duration) roll.Finding {
	since := now.Add(-long)
	return staged(roll.Finding{
		Instance: instanceID(n), Node: nodeName(n), Group: "nodegroup/web-blue", Owner: roll.OwnerManagedNodeGroup, Zone: "eu-west-1a",
		Kind: roll.Unknown, Stage: roll.Watching, Since: since, Due: since.Add(30 * time.Minute),
		Summary: fmt.Sprintf("node %s has not reported its status since %s (NodeStatusUnknown)", nodeName(n), since.Format("2006-01-02 15:04:05Z")),
	})
}

// missing returns a finding about an instance that has run for that long and is no node. Its
// warning time is 5 minutes, its tolerance 15.
func missing(n int, long time.Duration) roll.Finding {
	since := now.Add(-long)
	return staged(roll.Finding{
		Instance: instanceID(n), Group: "asg/web-workers-20260114", Owner: roll.OwnerAutoScalingGroup, Zone: "eu-west-1b",
		Kind: roll.Unregistered, Stage: roll.Warned, Since: since, Due: since.Add(15 * time.Minute),
		Summary: fmt.Sprintf("instance %s has not registered as a node since its launch at %s", instanceID(n), since.Format("2006-01-02 15:04:05Z")),
	})
}

// found returns a finding of a kind about the node of an instance, of that age.
func found(n int, k roll.Kind, long, tolerated time.Duration, summary string) roll.Finding {
	f := silent(n, long)
	f.Kind, f.Due, f.Summary = k, f.Since.Add(tolerated), summary
	f.Stage = roll.Watching
	return staged(f)
}

func clock(after time.Duration) string { return roll.Clock(now.Add(after)) }

// Findings of the other kinds, with the summaries of package assess.

func uninitialized(n int) roll.Finding {
	return found(n, roll.Uninitialized, 20*time.Minute, 15*time.Minute, fmt.Sprintf("node %s is Ready and still has the startup taint node.cilium.io/agent-not-ready:NoExecute since its creation at %s", nodeName(n), clock(-20*time.Minute)))
}

func notReady(n int) roll.Finding {
	return found(n, roll.NotReady, 20*time.Minute, 15*time.Minute, fmt.Sprintf("node %s has not been ready since %s (KubeletNotReady)", nodeName(n), clock(-20*time.Minute)))
}

func conditionFailed(n int) roll.Finding {
	f := found(n, roll.ConditionFailed, 45*time.Minute, 30*time.Minute, fmt.Sprintf("condition KernelReady of node %s is False since %s (AppBlocked)", nodeName(n), clock(-45*time.Minute)))
	f.Condition = "KernelReady"
	return f
}

func impaired(n int) roll.Finding {
	return found(n, roll.Impaired, 7*time.Minute, 5*time.Minute, fmt.Sprintf("the system status check of %s has failed since %s", instanceID(n), clock(-7*time.Minute)))
}

func flapping(n int) roll.Finding {
	return found(n, roll.Flapping, 50*time.Minute, 0, fmt.Sprintf("node %s left Ready and came back 6 times within an hour, since %s", nodeName(n), clock(-50*time.Minute)))
}

func scheduled(n int) roll.Finding {
	f := found(n, roll.Scheduled, 10*time.Minute, 0, "")
	f.Stage, f.Due = roll.Warned, now.Add(48*time.Hour)
	f.Event = roll.Event{ID: "instance-event-0d59937288b749b32", Code: "system-reboot", NotBefore: now.Add(72 * time.Hour), NotAfter: now.Add(74 * time.Hour)}
	f.Summary = fmt.Sprintf("EC2 has scheduled %s of %s for %s to %s", f.Event.Code, f.Instance, roll.Clock(f.Event.NotBefore), roll.Clock(f.Event.NotAfter))
	return f
}

// unlaunched returns a finding about a node pool whose launches fail, so without instance.
func unlaunched() roll.Finding {
	f := found(1, roll.Unlaunched, 20*time.Minute, 5*time.Minute, "launches of nodepool/default have not succeeded since "+clock(-20*time.Minute)+": UnfulfillableCapacity")
	f.Instance, f.Node, f.Group, f.Owner, f.Zone = roll.SubjectID("nodepool", "default"), "", "nodepool/default", roll.OwnerKarpenter, ""
	return f
}

func ghost(n int) roll.Finding {
	return found(n, roll.Ghost, 9*time.Minute, 5*time.Minute, fmt.Sprintf("node %s has not been ready since %s, and EC2 says that its instance %s is terminated", nodeName(n), clock(-9*time.Minute), instanceID(n)))
}

func conflict(n int) roll.Finding {
	f := found(n, roll.Ghost, 9*time.Minute, 5*time.Minute, fmt.Sprintf("node %s is Ready, but EC2 says that its instance %s is terminated", nodeName(n), instanceID(n)))
	f.Contradiction = fmt.Sprintf("node %s is Ready", nodeName(n))
	return f
}

func stuck(n int) roll.Finding {
	f := found(n, roll.Stuck, 90*time.Minute, time.Hour, "")
	f.Instance, f.Group, f.Owner = "nodeclaim/default-x7k2p", "nodepool/default", roll.OwnerKarpenter
	f.Removal = roll.Removal{Claim: "default-x7k2p", ClaimFinalizers: "karpenter.sh/termination", NodeFinalizers: "karpenter.sh/termination", Machine: instanceID(n), State: roll.StateRunning}
	f.Summary = fmt.Sprintf("NodeClaim default-x7k2p has been deleting since %s, kept by its finalizer karpenter.sh/termination, which waits for its Node %s (finalizer karpenter.sh/termination); its instance %s is running", clock(-90*time.Minute), nodeName(n), instanceID(n))
	return f
}

// outlived returns a finding about a volume or an interface that outlived its instance.
func outlived(kind string) roll.Finding {
	f := found(3, roll.Stuck, 4*time.Hour, 3*time.Hour, "")
	f.Group, f.Owner, f.Node, f.Selector = "nodepool/default", roll.OwnerKarpenter, "", roll.GroupSelector("nodepool/default")
	f.Left = roll.Leftover{ID: "vol-0123456789abcdef0", Instance: instanceID(3), Ended: f.Since, Type: "gp3", Size: 100, IOPS: 3000, Throughput: 125}
	f.Summary = fmt.Sprintf("EBS volume vol-0123456789abcdef0 (gp3, 100 GiB) outlived instance %s, which has been gone since %s, and is attached to nothing: it costs about 8.00 USD a month (an estimate by the prices of us-east-1, %s)", instanceID(3), clock(-4*time.Hour), roll.PricesOf)
	if kind == "eni" {
		f.Left, f.Zone = roll.Leftover{ID: "eni-0123456789abcdef0", Instance: instanceID(3), Ended: f.Since, Subnet: "subnet-0123456789abcdef0"}, ""
		f.Summary = fmt.Sprintf("network interface eni-0123456789abcdef0 in subnet subnet-0123456789abcdef0 outlived instance %s, which has been gone since %s, and is attached to nothing: it costs nothing, and holds an address of its subnet", instanceID(3), clock(-4*time.Hour))
	}
	f.Instance, _ = roll.LeftoverID(f.Left.ID)
	return f
}

func orphaned(n int) roll.Finding {
	f := found(n, roll.Orphaned, 20*time.Minute, 15*time.Minute, fmt.Sprintf("instance %s, launched at %s, has no owner any more: it is Karpenter's, and no NodeClaim has it", instanceID(n), clock(-26*time.Hour)))
	f.Node, f.Group, f.Owner = "", "nodepool/default", roll.OwnerKarpenter
	return f
}
