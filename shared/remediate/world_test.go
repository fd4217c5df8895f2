package remediate

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

var (
	now     = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}
)

const (
	target = roll.InstanceID("i-00000000000000001")
	other  = roll.InstanceID("i-00000000000000002")
)

// world is an account with one unhealthy instance. It answers as EC2, Auto Scaling,
// Kubernetes and the policy's source do, changes state when it is called, and records what
// happened in which order.
type world struct {
	mu        sync.Mutex
	cluster   roll.Cluster
	instances []roll.Instance // the target, if it exists, and others that have the name of its node
	nodes     []roll.Node
	pods      []pod       // on the first node
	drained   []time.Time // the times given to each pass over them
	skipped   time.Time   // the last pass skipped pods created after it
	failing   map[roll.InstanceID]roll.Impairment
	// statusRead is the answer to the question about failing status checks.
	statusRead roll.Answer
	details    map[roll.InstanceID]roll.Detail
	groups     map[roll.Group]roll.GroupDetail
	gaps       []roll.Gap
	detailGap  *roll.Gap
	doc        *policy.Document
	docErr     error
	watched    []roll.Watch // what each read was to watch for
	permitted  policy.Mode
	stale      bool // EC2 still shows the state before a termination

	// terminating runs during TerminateInstances; its error is the error of the call.
	terminating func(context.Context) error
	calls       []*ec2.TerminateInstancesInput
	// sending does the same for every other call that changes something, by its name.
	sending map[string]func(context.Context) error
	sent    []string // these calls with their arguments
	dialErr error
	events  []string

	// diagnoses are the results of a diagnosis; diagnosing runs during the diagnosis, and
	// keeping is the error of storing the evidence.
	diagnoses  map[roll.FindingKey]roll.Diagnosis
	diagnosing func()
	keeping    func(plan.Order, Seen) (string, error)

	ledger ledger.Ledger
}

// why implements Why.
func (w *world) why(context.Context, *roll.Snapshot, []roll.Finding, ledger.State) (map[roll.FindingKey]roll.Diagnosis, Keep) {
	w.event("diagnosis")
	if w.diagnosing != nil {
		w.diagnosing()
	}
	return w.diagnoses, func(_ context.Context, o plan.Order, s Seen) (string, error) {
		w.event("evidence")
		if w.keeping == nil {
			return "file:///evidence/" + o.ID + "/", nil
		}
		return w.keeping(o, s)
	}
}

// A silent node is rebooted first by default; here the termination is what matters.
const ladders = "ladders: {Unknown: [{do: tag}, {do: notify}, {do: terminate}]}\n"

// silentNode returns a world whose target runs with a node that has been silent for two
// hours. A check ten minutes ago found it.
func silentNode(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.doc = document(ladders)
	w.nodes = []roll.Node{sick(roll.ConditionUnknown, "NodeStatusUnknown")}
	w.check(t, now.Add(-10*time.Minute))
	return w
}

// document returns a policy with these sections.
func document(sections string) *policy.Document {
	return mustParse("apiVersion: rollcall/v1\n" + sections)
}

// sick returns the target's node, not ready for two hours.
func sick(status roll.ConditionStatus, reason string) roll.Node {
	return roll.Node{
		Name: "node-1", UID: "uid-1", Compute: roll.ComputeEC2, Instance: target, Created: now.Add(-47 * time.Hour), Owner: roll.OwnerNone, Group: roll.GroupNone,
		Ready: roll.Condition{Status: status, Since: now.Add(-2 * time.Hour), Reason: reason},
	}
}

// unready returns a world whose target runs with a node that has reported for two hours
// that it is not ready. A check ten minutes ago found it.
func unready(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.nodes = []roll.Node{sick(roll.ConditionFalse, "KubeletNotReady")}
	w.check(t, now.Add(-10*time.Minute))
	return w
}

// cordoned returns the unready world with a node that was cordoned two minutes ago. The
// next step is to drain it.
func cordoned(t *testing.T) *world {
	t.Helper()
	w := unready(t)
	o := w.orderAt(t, now.Add(-2*time.Minute))
	out := w.remediator(t).Act(t.Context(), o, o.At)
	must.That(t, o.Action == plan.Cordon && out.Result == Acted, "%s: %+v", o.Action, out)
	w.sent = nil
	return w
}

// recovered returns the unready world with a node that became Ready after its cordon, and
// is to be uncordoned.
func recovered(t *testing.T) *world {
	t.Helper()
	w := cordoned(t)
	w.nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(-30 * time.Second)}
	return w
}

// silent returns a world with the default ladder: the next step for its silent node is a
// reboot.
func silent(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.nodes = []roll.Node{sick(roll.ConditionUnknown, "NodeStatusUnknown")}
	w.check(t, now.Add(-10*time.Minute))
	return w
}

// impaired returns a world whose target fails its status check. No step follows for its
// silent node, and its group had time to replace it.
func impaired(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.doc = document("ladders: {Unknown: [{do: notify}], Impaired: [{do: tag}, {do: terminate}]}\n")
	w.groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.No, LaunchesRead: roll.Yes, ReplaceSuspended: roll.No, AutoRepair: roll.No}
	w.nodes = []roll.Node{sick(roll.ConditionUnknown, "NodeStatusUnknown")}
	w.failing = map[roll.InstanceID]roll.Impairment{target: {Since: now.Add(-time.Hour)}}
	w.check(t, now.Add(-10*time.Minute))
	return w
}

// ghost returns a world whose target is terminated, but whose node still exists.
func ghost(t *testing.T) *world {
	t.Helper()
	w := silent(t)
	w.instances[0].State = roll.StateTerminated
	w.check(t, now.Add(-9*time.Minute))
	return w
}

// claimed returns a world whose target belongs to Karpenter and never registered, under a
// policy that deletes its NodeClaim.
func claimed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.doc = document("owners: {karpenter: delete-nodeclaim}\n")
	i := &w.instances[0]
	i.Launched, i.ASG, i.Owner, i.Group = now.Add(-2*time.Hour), "", roll.OwnerKarpenter, "nodepool/default"
	w.detail(func(d *roll.Detail) {
		d.HasNodeClaim, d.NodeClaim = roll.Yes, &roll.NodeClaim{Name: "default-x7k2p", UID: "uid-claim"}
	})
	w.check(t, now.Add(-10*time.Minute))
	return w
}

// unregistered returns a world whose target has run for two hours without a node. A check
// ten minutes ago found it.
func unregistered(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.instances[0].Launched = now.Add(-2 * time.Hour)
	w.check(t, now.Add(-10*time.Minute))
	return w
}

func newWorld(t *testing.T) *world {
	t.Helper()
	file, err := ledger.OpenFile(filepath.Join(t.TempDir(), "ledger.json"))
	must.Succeed(t, err)
	long := now.Add(-30 * 24 * time.Hour) // there were complete checks since then
	must.Succeed(t, file.Record(t.Context(), cluster, ledger.Changes{Put: ledger.State{Checked: long, First: long}}))
	return &world{
		cluster:   roll.Cluster{ID: cluster, Status: roll.ClusterActive},
		instances: []roll.Instance{{ID: target, State: roll.StateRunning, Launched: now.Add(-48 * time.Hour), ASG: "w", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w"}},
		details:   map[roll.InstanceID]roll.Detail{target: {LeaseRead: roll.No, Bootstraps: roll.Yes, TerminationProtected: roll.No, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService"}},
		groups:    map[roll.Group]roll.GroupDetail{"asg/w": {LaunchSuspended: roll.No, LaunchesRead: roll.Yes, ReplaceSuspended: roll.No, AutoRepair: roll.No}},
		doc:       policy.Default(), permitted: policy.Remediate,
		statusRead: roll.Yes,
		sending:    map[string]func(context.Context) error{},
		ledger:     file,
	}
}

// check makes a plan at the time, and records its changes in the ledger.
func (w *world) check(t *testing.T, at time.Time) plan.Plan {
	t.Helper()
	ctx := context.Background()
	s := w.Target(ctx, cluster.Name, target, at, w.doc.Watch())
	state, err := w.ledger.Read(ctx, cluster)
	must.Succeed(t, err)
	pol := w.doc.Cluster(cluster.Name, "", w.permitted)
	a := assess.Thoroughly(assess.Input{Snapshot: s, Policy: pol, State: state, Now: at}, func(q []roll.Question) { w.Details(ctx, s, q) })
	p := plan.Make(plan.Input{Snapshot: s, Assessment: a, State: state, Policy: pol, Now: at})
	must.Succeed(t, w.ledger.Record(ctx, cluster, p.Changes))
	for _, r := range p.Resolved {
		must.Succeed(t, w.ledger.Finish(ctx, cluster, r.ActionID, r.Outcome))
	}
	return p
}

func (w *world) event(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, name)
}

// Target implements targets.
func (w *world) Target(_ context.Context, _ string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot {
	w.event("look")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = append(w.watched, watch)
	s := &roll.Snapshot{
		At: at, Cluster: w.cluster, Target: id, ClaimsRead: roll.Yes, StatusRead: w.statusRead, Impaired: w.failing, Gaps: slices.Clone(w.gaps),
		Details: map[roll.InstanceID]roll.Detail{}, Groups: map[roll.Group]roll.GroupDetail{}, NotFound: map[roll.InstanceID]bool{},
	}
	for _, i := range w.instances {
		if i.ID == id {
			if i.Marks != nil {
				marks := *i.Marks
				i.Marks = &marks
			}
			s.Instances = append(s.Instances, i)
		}
	}
	s.NotFound[id] = len(s.Instances) == 0
	if s.NotFound[id] || s.Instances[0].State != roll.StateRunning {
		for _, i := range w.instances {
			if i.ID != id && slices.ContainsFunc(w.nodes, func(n roll.Node) bool { return n.Instance == id && n.Name == i.PrivateDNS }) {
				s.Instances = append(s.Instances, i)
			}
		}
	}
	for _, n := range w.nodes {
		if n.Instance == id || n.Compute == roll.ComputeUnknown {
			s.Nodes = append(s.Nodes, n)
		}
	}
	return s
}

// Details implements targets.
func (w *world) Details(_ context.Context, s *roll.Snapshot, questions []roll.Question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range questions {
		s.Details[q.Instance] = w.details[q.Instance]
	}
	maps.Copy(s.Groups, w.groups)
	if w.detailGap != nil {
		s.Gaps = append(s.Gaps, *w.detailGap)
	}
}

func (w *world) policySource(context.Context) (*policy.Document, error) {
	w.event("policy")
	return w.doc, w.docErr
}

// TerminateInstances implements terminator.
func (w *world) TerminateInstances(ctx context.Context, in *ec2.TerminateInstancesInput, _ ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
	w.event("terminate")
	var err error
	if w.terminating != nil {
		err = w.terminating(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, in)
	if err != nil {
		return nil, err
	}
	for i := range w.instances {
		if !w.stale && slices.Contains(in.InstanceIds, string(w.instances[i].ID)) {
			w.instances[i].State = roll.StateShuttingDown
		}
	}
	return &ec2.TerminateInstancesOutput{}, nil
}

// order returns the order that a check of the world gives now, and writes its tag.
func (w *world) order(t *testing.T) plan.Order {
	t.Helper()
	return w.orderAt(t, now)
}

// orderAt returns the order that a check gives at that time.
func (w *world) orderAt(t *testing.T, at time.Time) plan.Order {
	t.Helper()
	p := w.check(t, at)
	must.That(t, len(p.Orders) == 1, "the world gives %d orders, held %+v: a test needs exactly one", len(p.Orders), p.Held)
	w.mark(p.Orders[0])
	w.events, w.watched = nil, nil
	return p.Orders[0]
}

// mark writes the order's tag on the target, if EC2 knows it.
func (w *world) mark(o plan.Order) {
	if len(w.instances) > 0 {
		w.instances[0].Marks = &roll.Marks{Finding: string(o.Kind), Order: o.ID}
	}
}

// remediator returns a remediator in the world. Its ledger reports writes to the world.
func (w *world) remediator(t *testing.T) *Remediator {
	t.Helper()
	return w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w})
}

func (w *world) remediatorWith(t *testing.T, l ledger.Ledger) *Remediator {
	t.Helper()
	r, err := New(Options{
		Targets: w, EC2: w, Ledger: l, Policy: w.policySource, Why: w.why, Permitted: w.permitted,
		Principal: func(context.Context) string { return "arn:aws:sts::111122223333:assumed-role/remediate/demo" },
	})
	must.Succeed(t, err)
	r.reach = func(roll.Cluster) (hands, error) { return w, w.dialErr }
	return r
}

func (w *world) actions(t *testing.T) []ledger.Action {
	t.Helper()
	state, err := w.ledger.Read(context.Background(), cluster)
	must.Succeed(t, err)
	return state.Actions
}

// loudLedger reports writes to the world, and can fail or be overtaken at each step of an
// act's protocol.
type loudLedger struct {
	ledger.Ledger
	world       *world
	readErr     error
	beginErr    error
	finishErr   error
	beforeBegin func()
}

func (l *loudLedger) Read(ctx context.Context, c roll.ClusterID) (ledger.State, error) {
	if l.readErr != nil {
		return ledger.State{}, l.readErr
	}
	return l.Ledger.Read(ctx, c)
}

func (l *loudLedger) Begin(ctx context.Context, c roll.ClusterID, a ledger.Action, b ledger.Budget) error {
	if l.beforeBegin != nil {
		l.beforeBegin()
	}
	l.world.event("intent")
	if l.beginErr != nil {
		return l.beginErr
	}
	return l.Ledger.Begin(ctx, c, a, b)
}

func (l *loudLedger) Finish(ctx context.Context, c roll.ClusterID, id string, o ledger.Outcome) error {
	l.world.event("outcome")
	if l.finishErr != nil {
		return l.finishErr
	}
	return l.Ledger.Finish(ctx, c, id, o)
}

var errDisk = errors.New("no space left on device")
