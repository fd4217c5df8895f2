package emit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var update = flag.Bool("update", false, "write events/samples anew")

const sampleFolder = "../../../events/samples"

// only returns the one event of that kind among those of a check.
func only(t *testing.T, events []emit.Event, want string) emit.Event {
	t.Helper()
	i := slices.IndexFunc(events, func(e emit.Event) bool { return gist(e) == want })
	if i < 0 {
		t.Fatalf("%q: no %s", gists(events), want)
	}
	return events[i]
}

// demo returns a healthy cluster with realistic names.
func demo() *world {
	w := healthy(6)
	details := map[roll.InstanceID]roll.Detail{}
	for i := range w.snapshot.Instances {
		inst, node := &w.snapshot.Instances[i], &w.snapshot.Nodes[i]
		id := roll.InstanceID(fmt.Sprintf("i-0a1b2c3d4e5f6071%d", i+1))
		details[id] = w.snapshot.Details[inst.ID]
		inst.ID, inst.ASG, inst.Group = id, "workers", "asg/workers"
		node.Instance, node.Name = id, fmt.Sprintf("ip-10-0-1-%d.eu-west-1.compute.internal", 20+i)
		node.Created = inst.Launched.Add(time.Duration(44+i) * time.Second)
		node.Ready.Since = node.Created.Add(20 * time.Second)
	}
	w.snapshot.Details = details
	w.snapshot.Groups["asg/workers"] = w.snapshot.Groups["asg/w"]
	delete(w.snapshot.Groups, "asg/w")
	return w
}

// instance returns the id of the cluster's nth instance.
func (w *world) instance(n int) roll.InstanceID { return w.snapshot.Instances[n-1].ID }

// kept returns where the evidence of a finding at a stage is stored in a deployment's bucket.
func kept(t *testing.T, f ledger.Finding, stage string) string {
	t.Helper()
	place, err := archive.Key{Cluster: cluster, Instance: f.Instance, Kind: f.Kind, At: f.FirstSeen, Stage: stage}.Path()
	must.Succeed(t, err)
	return "s3://rollcall-evidencebucket-1a2b3c4d5e6f/" + place + "/"
}

// evidence records that the evidence of a finding was stored at its warning.
func (w *world) evidence(t *testing.T, key roll.FindingKey) {
	t.Helper()
	known := w.state.Findings[key]
	known.Evidence = kept(t, known, archive.StageWarned)
	w.state.Findings[key] = known
}

// sample runs a check at a time, and returns its one event of that kind.
func (w *world) sample(t *testing.T, after time.Duration, want string) emit.Event {
	t.Helper()
	_, events := w.check(after)
	valid(t, events)
	return only(t, events, want)
}

var unmapped = roll.Diagnosis{Causes: []roll.Cause{
	{
		Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Subject: "role arn:aws:iam::111122223333:role/demo-workers",
		Summary: "the nodes' role arn:aws:iam::111122223333:role/demo-workers has neither an access entry nor a line in aws-auth",
		Fix:     "aws eks create-access-entry --region eu-west-1 --cluster-name demo \\\n  --principal-arn arn:aws:iam::111122223333:role/demo-workers --type EC2_LINUX",
	},
	{Code: "LaunchTemplateDrift", Confidence: roll.Suggestive, Summary: "version 7 of the launch template came after the last good node"},
}}

// unregistered returns the events of an instance that does not become a node, from its launch
// to its end.
func unregistered(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	w := demo()
	w.snapshot.Nodes = slices.Delete(w.snapshot.Nodes, 3, 4)
	w.snapshot.Instances[3].Launched = noon
	key := roll.FindingKey{Instance: w.instance(4), Kind: roll.Unregistered}
	out["finding-opened"] = w.sample(t, 6*time.Minute, "FindingOpened Unregistered warned")
	w.diagnoses = map[roll.FindingKey]roll.Diagnosis{key: unmapped}
	w.evidence(t, key)
	c, events := w.check(15*time.Minute + 5*time.Second)
	valid(t, events)
	out["finding-escalated"] = only(t, events, "FindingEscalated Unregistered overdue")
	must.That(t, len(c.Plan.Orders) == 1, "orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
	order, at := c.Plan.Orders[0], noon.Add(15*time.Minute+12*time.Second)
	outcome := remediate.Outcome{Order: order, Result: remediate.Acted, Detail: "terminated " + string(order.Instance), Cause: "NodeRoleNotMapped", Evidence: kept(t, w.state.Findings[key], order.ID), News: true}
	out["action-taken"] = only(t, emit.FromOutcome(cluster, outcome, at), "ActionTaken terminate acted")
	refused := outcome
	refused.Result, refused.Reason, refused.Detail = remediate.Refused, plan.VerdictChanged, "node ip-10-0-1-23.eu-west-1.compute.internal of "+string(order.Instance)+" is registered and Ready now"
	out["action-refused"] = only(t, emit.FromOutcome(cluster, refused, at), "ActionHeld terminate refused VerdictChanged")
	failed := outcome
	failed.Result, failed.Detail = remediate.Failed, "ec2:TerminateInstances was refused: the instance has termination protection (disableApiTermination)"
	out["action-failed"] = only(t, emit.FromOutcome(cluster, failed, at), "ActionFailed terminate failed")
	unclear := outcome
	unclear.Result, unclear.Detail = remediate.Unclear, "ec2:TerminateInstances did not answer in time"
	out["action-unclear"] = only(t, emit.FromOutcome(cluster, unclear, at), "ActionFailed terminate unclear")
	w.state.Actions = append(w.state.Actions, ledger.Action{
		ID: order.ID, Do: "terminate", Instance: order.Instance, Group: order.Group, Kind: order.Kind, At: at, Outcome: &ledger.Outcome{Result: ledger.Done, At: at},
	})
	w.snapshot.Instances[3].State = roll.StateShuttingDown
	out["finding-resolved"] = w.sample(t, 18*time.Minute, "FindingResolved Unregistered gone")
	return out
}

// silent returns the events of a node that stops reporting on a protected instance, and comes
// back.
func silent(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	w := demo()
	w.turn(2, roll.ConditionUnknown, 0)
	w.snapshot.Nodes[1].Ready.Reason = "NodeStatusUnknown"
	w.snapshot.Details[w.instance(2)] = roll.Detail{TerminationProtected: roll.Yes, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService", LeaseRead: roll.No}
	w.check(time.Minute)
	key := roll.FindingKey{Instance: w.instance(2), Kind: roll.Unknown}
	w.evidence(t, key)
	w.diagnoses = map[roll.FindingKey]roll.Diagnosis{key: {Causes: []roll.Cause{{Code: "KernelPanic", Confidence: roll.Decisive, Summary: "the console shows a kernel panic at 12:00:41Z"}}}}
	w.snapshot.Nodes = w.snapshot.Nodes[:5] // the sixth instance is new and still has time to register
	w.snapshot.Instances[5].Launched = noon.Add(29 * time.Minute)
	_, events := w.check(31 * time.Minute)
	valid(t, events)
	out["finding-opened-overdue"] = only(t, events, "FindingOpened Unknown overdue")
	out["action-held"] = only(t, events, "ActionHeld reboot held TerminationProtected")
	out["check-completed"] = only(t, events, "CheckCompleted")
	w.turn(2, roll.ConditionTrue, 32*time.Minute)
	out["finding-resolved-cleared"] = w.sample(t, 33*time.Minute, "FindingResolved Unknown cleared")
	return out
}

// approved returns the events of a silent node whose termination needs an approval, and gets it.
func approved(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	w := demo()
	var err error
	w.policy, err = policy.Parse([]byte("apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {approve: {for: 2h}}, {do: terminate}]}\n"))
	must.Succeed(t, err)
	w.turn(6, roll.ConditionUnknown, 0)
	w.snapshot.Nodes[5].Ready.Reason = "NodeStatusUnknown"
	w.check(time.Minute)
	c, events := w.check(31 * time.Minute)
	valid(t, events)
	out["action-held-approval"] = only(t, events, "ActionHeld terminate held ApprovalPending")
	who := ledger.Approval{By: "arn:aws:iam::111122223333:user/oncall", How: ledger.WayCommand, At: noon.Add(40 * time.Minute)}
	w.state.Apply(ledger.Changes{Put: ledger.State{Approvals: map[string]ledger.Approval{c.Plan.Held[0].Question.Order: who}}})
	c, events = w.check(41 * time.Minute)
	valid(t, events)
	must.That(t, len(c.Plan.Orders) == 1, "orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
	outcome := remediate.Outcome{Order: c.Plan.Orders[0], Result: remediate.Acted, Detail: "terminated " + string(w.instance(6)), News: true}
	out["action-taken-approved"] = only(t, emit.FromOutcome(cluster, outcome, noon.Add(42*time.Minute)), "ActionTaken terminate acted")
	return out
}

// left returns the events of an instance that Karpenter is given time to deal with.
func left(t *testing.T) map[string]emit.Event {
	w := demo()
	w.snapshot.Nodes = slices.Delete(w.snapshot.Nodes, 2, 3)
	inst := &w.snapshot.Instances[2]
	inst.Launched, inst.Owner, inst.ASG, inst.Group = noon, roll.OwnerKarpenter, "", "nodepool/default"
	w.snapshot.Details[inst.ID] = roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-x7k2p"}, TerminationProtected: roll.No, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}}
	w.check(6 * time.Minute)
	return map[string]emit.Event{"action-held-owner": w.sample(t, 16*time.Minute, "ActionHeld terminate held OwnerWillAct")}
}

// condition returns the events of a node whose kernel fails a check.
func condition(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	w := demo()
	w.snapshot.Nodes[4].Conditions = []roll.TypedCondition{{Type: "KernelReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: noon, Reason: "SoftLockup"}}}
	out["finding-opened-condition"] = w.sample(t, 31*time.Minute, "FindingOpened ConditionFailed overdue")
	w.snapshot.Nodes[4].Conditions = nil
	out["finding-resolved-condition"] = w.sample(t, 40*time.Minute, "FindingResolved ConditionFailed cleared")
	return out
}

// scheduled returns the events of a node that EC2 is going to stop.
func scheduled(t *testing.T) map[string]emit.Event {
	w := demo()
	w.snapshot.Scheduled = map[roll.InstanceID]roll.Event{w.instance(5): {
		ID: "instance-event-0d59937288b749b32", Code: "instance-stop",
		NotBefore: noon.AddDate(0, 0, 14), NotAfter: noon.AddDate(0, 0, 14).Add(2 * time.Hour), Deadline: noon.AddDate(0, 0, 21),
	}}
	return map[string]emit.Event{"finding-opened-scheduled": w.sample(t, time.Minute, "FindingOpened Scheduled warned")}
}

// contradicted returns the event of a Ready node whose instance is gone.
func contradicted(t *testing.T) map[string]emit.Event {
	w := demo()
	w.snapshot.Instances[4].State = roll.StateTerminated
	w.check(time.Minute)
	return map[string]emit.Event{"finding-opened-contradicted": w.sample(t, 6*time.Minute, "FindingOpened Ghost overdue")}
}

// unlaunched returns the events of a node pool whose launches fail until one succeeds.
func unlaunched(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	w := demo()
	pool := roll.NodePoolGroup("general")
	w.snapshot.ClaimsRead, w.snapshot.ScalingRead = roll.Yes, roll.Yes
	w.snapshot.Launches = map[roll.Group]roll.Launch{pool: {
		Owner: roll.OwnerKarpenter, Since: noon, Failed: noon, Field: "Launched", Message: "LaunchFailed: InsufficientInstanceCapacity: We currently do not have sufficient m5.large capacity",
	}}
	out["finding-opened-unlaunched"] = w.sample(t, 6*time.Minute, "FindingOpened Unlaunched overdue")
	w.snapshot.Launches = nil
	out["finding-resolved-unlaunched"] = w.sample(t, 40*time.Minute, "FindingResolved Unlaunched cleared")
	return out
}

// late returns the events of acts that the process that carried them out did not report.
func late(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	settle := func(do string, outcome ledger.Outcome) []emit.Event {
		w := demo()
		w.state = ledger.State{First: w.state.First, Actions: []ledger.Action{{ID: order().ID, Do: do, Instance: w.instance(1), Node: w.snapshot.Nodes[0].Name, Group: "asg/workers", Kind: roll.NotReady, At: noon}}}
		outcome.At = noon
		w.resolved = []plan.Resolution{{ActionID: order().ID, Outcome: outcome}}
		_, events := w.check(time.Minute)
		valid(t, events)
		return events
	}
	out["action-taken-late"] = only(t, settle("terminate", ledger.Outcome{Result: ledger.Done, Detail: "seen to be shutting-down; its outcome was not recorded"}), "ActionTaken terminate acted")
	out["action-failed-drain"] = only(t, settle("drain", ledger.Outcome{
		Result: ledger.Failed, Detail: ledger.Unfinished + ": node ip-10-0-1-20.eu-west-1.compute.internal was not empty 10 min after its drain began: 1 pod not to be evicted (shop/cart-0: its PodDisruptionBudget allows no eviction now)",
	}), "ActionFailed drain failed DrainUnfinished")
	return out
}

// stuck returns the events of a deleted node that its finalizer keeps for long.
func stuck(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	w := demo()
	w.snapshot.DeletingRead = roll.Yes
	n := &w.snapshot.Nodes[2]
	n.DeletedAt, n.Finalizers = noon, []string{"karpenter.sh/termination"}
	w.check(30 * time.Minute)
	out["finding-opened-stuck"] = w.sample(t, 61*time.Minute, "FindingOpened Stuck overdue")
	n.DeletedAt, n.Finalizers = time.Time{}, nil
	out["finding-resolved-stuck"] = w.sample(t, 90*time.Minute, "FindingResolved Stuck cleared")
	return out
}

func unseen(t *testing.T) map[string]emit.Event {
	w := healthy(0)
	w.snapshot.Cluster = roll.Cluster{ID: roll.ClusterID{Name: "demo"}}
	w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapDenied, Call: "eks:DescribeCluster", Detail: "eks:DescribeCluster was denied"}}
	return map[string]emit.Event{"check-completed-partial": w.sample(t, 0, "CheckCompleted")}
}

// at returns the time of an event's check or act.
func at(t *testing.T, e emit.Event) time.Time {
	t.Helper()
	var head emit.Head
	data, err := json.Marshal(e.Detail)
	if err == nil {
		err = json.Unmarshal(data, &head)
	}
	must.Succeed(t, err)
	return head.At
}

// samples returns events as the code emits them, by the names of their files.
func samples(t *testing.T) map[string]emit.Event {
	out := map[string]emit.Event{}
	for _, story := range []func(*testing.T) map[string]emit.Event{unregistered, silent, approved, left, condition, contradicted, scheduled, stuck, unlaunched, late, unseen} {
		maps.Copy(out, story(t))
	}
	return out
}

// Users test their rules with the samples, so the samples must be what the code emits.
func TestSamplesAreWhatIsEmitted(t *testing.T) {
	all := samples(t)
	told := map[string]bool{}
	for name, e := range all {
		told[e.DetailType] = true
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		sample := delivered(e)
		sample.Time = at(t, e)
		must.Succeed(t, encoder.Encode(sample))
		file := filepath.Join(sampleFolder, name+".json")
		if *update {
			must.Succeed(t, os.WriteFile(file, b.Bytes(), 0o600))
		}
		written, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(written, b.Bytes()) {
			t.Errorf("%s is not what is emitted (%v); go test ./shared/report/emit -update writes it\n%s", file, err, b.Bytes())
			continue
		}
		v := parsed(t, written)
		if err := load(t).strict.Validate(v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, other := range detailTypes {
			again := []string{emit.FindingOpened, emit.FindingEscalated} // what escalated may open
			if other != e.DetailType && (!slices.Contains(again, other) || !slices.Contains(again, e.DetailType)) && load(t).detail[other].Validate(v.(map[string]any)["detail"]) == nil {
				t.Errorf("%s passes for %s", file, other)
			}
		}
	}
	files, err := os.ReadDir(sampleFolder)
	expect.That(t, err == nil && len(files) == len(all), "%d files for %d samples: %v", len(files), len(all), err)
	for _, detailType := range detailTypes {
		expect.That(t, told[detailType], "there is no sample of %s", detailType)
	}
}

// details returns a fresh copy of the samples by their files' names, so that callers may change
// them.
func details(t *testing.T) map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sampleFolder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no samples: ", err)
	}
	out := map[string]any{}
	for _, file := range files {
		data := must.Read(t, file)
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = parsed(t, data)
	}
	return out
}

func TestSamplesShowEveryField(t *testing.T) {
	shown := map[string][]string{}
	for _, v := range details(t) {
		e := v.(map[string]any)
		name := definition(e["detail-type"].(string))
		for field := range e["detail"].(map[string]any) {
			shown[name] = append(shown[name], field)
		}
	}
	// Finding Escalated has the form of Finding Opened, and all events of acts share one form.
	shown["FindingOpened"] = append(shown["FindingOpened"], shown["FindingEscalated"]...)
	acts := slices.Concat(shown["ActionTaken"], shown["ActionHeld"], shown["ActionFailed"])
	for _, detailType := range detailTypes {
		name := definition(detailType)
		has := shown[name]
		if strings.HasPrefix(name, "Action") {
			has = acts
		}
		for _, field := range properties(load(t), name) {
			if !slices.Contains(has, field) && (name != "FindingEscalated" || !slices.Contains(shown["FindingOpened"], field)) {
				t.Errorf("no sample of %s has the field %s", detailType, field)
			}
		}
	}
}

// place is a field of an event: the object that holds it, and its name.
type place struct {
	in   map[string]any
	name string
	path string
}

// places lists the fields of a detail, those of objects in it included.
func places(object map[string]any, path string) (out []place) {
	for name, v := range object {
		at := path + "." + name
		out = append(out, place{object, name, at})
		switch v := v.(type) {
		case map[string]any:
			out = append(out, places(v, at)...)
		case []any:
			for _, item := range v {
				if item, ok := item.(map[string]any); ok {
					out = append(out, places(item, at)...)
				}
			}
		}
	}
	return out
}

// optional are the paths of fields that may be missing. A suffix limits one to the definitions
// whose names begin so, such as :Action.
var optional = []string{
	".subject", ".node", ".console", ".condition", ".contradiction", ".event", ".event.id", ".event.notAfter", ".event.notBeforeDeadline", ".zone", ".next", ".ordered", ".held:Finding", ".held.ends", ".held.until", ".cause", ".why", ".fix", ".causes:Finding", ".causes.subject", ".evidence",
	".approve:Action", ".approved:Action", ".held.approve", ".acts", ".owner", ".ends", ".until", ".summary:Action", ".since:Action", ".finding:Action", ".reason:ActionFailed", ".oldest", ".next:CheckCompleted",
}

func mayMiss(detailType string, p place) bool {
	name := definition(detailType)
	for _, o := range optional {
		path, of, some := strings.Cut(o, ":")
		if p.path == path && (!some || strings.HasPrefix(name, of)) && (path != ".owner" || strings.HasPrefix(name, "Action")) {
			return true
		}
	}
	// Maps of counts may have any keys.
	parent := p.path[:strings.LastIndex(p.path, ".")]
	return slices.Contains([]string{".kinds", ".causes", ".gaps", ".held", ".outcomes"}, parent) && name == "CheckCompleted"
}

func TestSchemaDemandsWhatIsAlwaysThereAndNothingElse(t *testing.T) {
	for file, v := range details(t) {
		e := v.(map[string]any)
		detailType := e["detail-type"].(string)
		for _, p := range places(e["detail"].(map[string]any), "") {
			value := p.in[p.name]
			delete(p.in, p.name)
			err := load(t).event.Validate(e)
			expect.Equal(t, mayMiss(detailType, p), err == nil, "%s without %s: passes %v, may be missing", file, p.path, err == nil)
			p.in[p.name] = value
		}
	}
}

// free are the fields whose form the schema does not define.
var free = []string{
	".node", ".condition", ".contradiction", ".zone", ".cluster", ".title", ".text", ".summary", ".why", ".fix", ".detail", ".ends", ".evidence",
	".approved.by", ".event.id", ".event.code", ".held.detail", ".held.ends", ".held.until", ".causes.summary", ".causes.subject",
}

func TestSchemaRefusesOtherValues(t *testing.T) {
	for file, v := range details(t) {
		e := v.(map[string]any)
		for _, p := range places(e["detail"].(map[string]any), "") {
			value := p.in[p.name]
			for _, wrong := range []any{nil, "?", json.Number("-1"), true, []any{json.Number("1")}, map[string]any{"a": "b"}} {
				_, text := wrong.(string)
				_, flag := value.(bool)
				if is, _ := wrong.(bool); text && slices.Contains(free, p.path) || flag && is {
					continue
				}
				p.in[p.name] = wrong
				expect.That(t, load(t).event.Validate(e) != nil, "%s passes with %v for %s", file, wrong, p.path)
			}
			p.in[p.name] = value
		}
	}
}

// Listeners are promised that fields may be added: the published schema lets them pass,
// and what checks what is emitted does not.
func TestAFieldMoreIsRefusedByTestsOnly(t *testing.T) {
	for file, v := range details(t) {
		e := v.(map[string]any)
		objects := []map[string]any{e["detail"].(map[string]any)}
		for _, name := range []string{"next", "ordered", "held", "findings"} {
			if o, ok := objects[0][name].(map[string]any); ok && (name != "held" || e["detail-type"] != emit.CheckCompleted) {
				objects = append(objects, o)
			}
		}
		for _, o := range objects {
			o["surprise"] = "yes"
			err := load(t).event.Validate(e)
			expect.That(t, err == nil, "%s: %v", file, err)
			expect.That(t, load(t).strict.Validate(e) != nil, "%s: a field that the schema does not know passes", file)
			delete(o, "surprise")
		}
	}
}
