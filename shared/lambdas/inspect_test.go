package lambdas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
	"rollcall/tests/harness/emftest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/logtest"
	"rollcall/tests/harness/must"
)

// world is a cluster with one instance that has not registered, and the function's
// dependencies.
type world struct {
	gaps      []roll.Gap
	account   string
	policy    string // "" means that the parameter is gone
	nodes     int
	named     bool // an EKS tag names the cluster, not only kubernetes.io/cluster/
	fail      map[string]bool
	looked    []time.Time
	scheduled []string
	sent      []string
	put       []string
	sizes     map[string]int
	metrics   bytes.Buffer
	page      []slog.Record // logged lines
	gone      bool          // the instance is terminated
	others    int           // instances like it
	relisted  string
	ledger.Ledger
}

// stackPolicy is the policy that the stack writes into the parameter.
const stackPolicy = "apiVersion: rollcall/v1\n"

func newWorld() *world {
	return &world{account: "111122223333", policy: stackPolicy, fail: map[string]bool{}, sizes: map[string]int{}, Ledger: ledger.NewMemory()}
}

func (w *world) Snapshot(_ context.Context, name string, at time.Time, _ roll.Watch) *roll.Snapshot {
	w.looked = append(w.looked, at)
	s := &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: roll.ClusterID{Account: w.account, Region: "eu-west-1", Name: name}, Status: roll.ClusterActive}, Gaps: w.gaps, Relisted: w.relisted, Details: map[roll.InstanceID]roll.Detail{}}
	s.Instances = []roll.Instance{{ID: "i-00000001", State: roll.StateRunning, Launched: now.Add(-6 * time.Minute), Owner: roll.OwnerManagedNodeGroup, Group: "nodegroup/w", Named: w.named}}
	for i := range w.others {
		like := s.Instances[0]
		like.ID = roll.InstanceID(fmt.Sprintf("i-%017x", i+1))
		s.Instances = append(s.Instances, like)
	}
	if w.gone {
		s.Instances[0].State = roll.StateTerminated
	}
	s.Nodes = make([]roll.Node, w.nodes)
	for i := range s.Nodes {
		s.Nodes[i] = roll.Node{Compute: roll.ComputeFargate}
	}
	return s
}

func (w *world) LookUp(context.Context, *roll.Snapshot, []roll.InstanceID) {}
func (w *world) Left(context.Context, *roll.Snapshot, []roll.InstanceID)   {}
func (w *world) Details(context.Context, *roll.Snapshot, []roll.Question)  {}

func (w *world) Tag(context.Context, []roll.InstanceID, map[string]string) error { return nil }
func (w *world) Untag(context.Context, []roll.InstanceID, []string) error        { return nil }

func (w *world) Publish(context.Context, report.Message) error {
	if w.fail["notice"] {
		return errors.New("no topic")
	}
	return nil
}

func (w *world) GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	if w.policy == "" {
		return nil, &types.ParameterNotFound{}
	}
	return &ssm.GetParameterOutput{Parameter: &types.Parameter{Value: aws.String(w.policy)}}, nil
}

func (w *world) At(_ context.Context, c trigger.Check) (bool, error) {
	if w.fail["schedule"] {
		return false, errors.New("no schedule")
	}
	w.scheduled = append(w.scheduled, c.Due.Format("15:04"))
	return true, nil
}

func (w *world) Send(_ context.Context, o plan.Order) error {
	w.sent = append(w.sent, o.ID)
	return nil
}

func (w *world) Put(_ context.Context, all []emit.Event) error {
	for _, e := range all {
		w.put = append(w.put, e.DetailType)
	}
	return nil
}

func (w *world) Sizes(context.Context, string) (map[string]int, error) {
	if w.fail["sizes"] {
		return nil, errors.New("no table")
	}
	return maps.Clone(w.sizes), nil
}

func (w *world) PutSize(_ context.Context, _, cluster string, nodes int) error {
	if w.fail["size"] {
		return errors.New("no table")
	}
	w.sizes[cluster] = nodes
	return nil
}

func (w *world) handler(permitted policy.Mode) *Inspect { return w.handlerAt(permitted, now) }

func (w *world) handlerAt(permitted policy.Mode, at time.Time) *Inspect {
	ours := around(at, &w.metrics)
	ours.Log = logtest.Log(&w.page)
	return &Inspect{
		Ambient:  ours,
		Runner:   run.Runner{Observer: w, Ledger: w.Ledger, Tags: w, Notices: w, Clock: ours.Clock},
		Policies: config.NewPolicyStore(w, config.Settings{PolicyParameter: "/rollcall/policy"}), Permitted: permitted, SweepInterval: 5 * time.Minute,
		Orders: w, Schedules: w, Events: w, Fleet: w,
	}
}

func (w *world) check(t *testing.T, permitted policy.Mode, bodies ...string) {
	t.Helper()
	r, err := w.handler(permitted).Handle(t.Context(), logtest.Batch(bodies...))
	expect.That(t, err == nil && len(r.BatchItemFailures) == 0, "%+v, %v: a message must not come again", r, err)
}

// checkAt runs a check as of a time.
func (w *world) checkAt(t *testing.T, permitted policy.Mode, at time.Time) {
	t.Helper()
	due := at.Truncate(time.Minute).Format(time.RFC3339)
	r, err := w.handlerAt(permitted, at).Handle(t.Context(), logtest.Batch(`{"cluster":"demo","due":"`+due+`"}`))
	expect.That(t, err == nil && len(r.BatchItemFailures) == 0, "%+v, %v: a message must not come again", r, err)
}

// counted returns the sum of a metric with those dimensions, in pairs of name and value.
func (w *world) counted(t *testing.T, name string, dimensions ...string) float64 {
	t.Helper()
	all := &emftest.Writer{Now: func() time.Time { return now }}
	if _, err := all.Write(w.metrics.Bytes()); err != nil {
		t.Fatal(err)
	}
	return all.Sum(name, dimensions...)
}

// logged returns the values of a key in the lines with that message, "" for lines without
// it.
func (w *world) logged(message, key string) (values []string) {
	for _, r := range w.page {
		if r.Message != message {
			continue
		}
		value := ""
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == key {
				value = a.Value.String()
			}
			return true
		})
		values = append(values, value)
	}
	return values
}

func TestChecksAtTheTimeOfTheMessageOrNow(t *testing.T) {
	for body, want := range map[string]time.Time{
		`{"cluster":"demo","due":"2026-03-10T12:00:00Z"}`: now,
		`{"cluster":"demo","due":"2026-03-10T12:01:00Z"}`: time.Date(2026, 3, 10, 12, 1, 0, 0, time.UTC), // the scheduler's clock is ahead
		`{"cluster":"demo","due":"2026-03-10T11:46:00Z"}`: now,
	} {
		w := newWorld()
		w.check(t, policy.Observe, body)
		if len(w.looked) != 1 || !w.looked[0].Equal(want) || w.counted(t, "ChecksCompleted") != 1 || !slices.Contains(w.put, emit.CheckCompleted) {
			t.Errorf("%s: looked at %v, want %s; events %v", body, w.looked, want, w.put)
		}
	}
}

func TestStaleAndMalformedMessagesAreDroppedAndCounted(t *testing.T) {
	w := newWorld()
	w.check(t, policy.Observe, `{"cluster":"demo","due":"2026-03-10T11:44:00Z"}`, "not JSON", `{"cluster":"demo"}`, `{"cluster":"de mo","due":"2026-03-10T12:00:00Z"}`)
	if len(w.looked) != 0 || w.counted(t, "ChecksSkipped") != 1 || w.counted(t, "MessagesDropped") != 3 {
		t.Errorf("looked %d times, skipped %v, dropped %v", len(w.looked), w.counted(t, "ChecksSkipped"), w.counted(t, "MessagesDropped"))
	}
}

const demo = `{"cluster":"demo","due":"2026-03-10T12:00:00Z"}`

func TestTheNextCheckIsScheduledIfItFallsBeforeTheNextSweep(t *testing.T) {
	w := newWorld()
	w.check(t, policy.Observe, demo) // warned at 5 minutes, due at 15: nine minutes from now
	expect.That(t, len(w.scheduled) == 0, "scheduled %v, the sweep comes by before", w.scheduled)
	w = newWorld()
	w.nodes = 5000 // every third sweep
	w.check(t, policy.Observe, demo)
	if !slices.Equal(w.scheduled, []string{"12:10"}) || w.sizes["demo"] != 5000 {
		t.Errorf("scheduled %v, sizes %v, want the deadline, since the sweep comes by less often", w.scheduled, w.sizes)
	}
}

// Several executions check a cluster in turn. One that saw it small writes that it is small, although
// another one wrote meanwhile that it was large.
func TestASizeOfAnotherExecutionIsSeenAfterAWhile(t *testing.T) {
	w := newWorld()
	w.nodes = 1000
	at := now
	h := w.handler(policy.Observe)
	h.Clock = func() time.Time { return at }
	look := func(after time.Duration) {
		t.Helper()
		at = now.Add(after)
		if _, err := h.Handle(t.Context(), logtest.Batch(`{"cluster":"demo","due":"`+at.Truncate(time.Minute).Format(time.RFC3339)+`"}`)); err != nil {
			t.Error(err)
		}
	}
	look(0)
	w.sizes["demo"] = 5000
	look(sizesAge - time.Minute)
	expect.That(t, w.sizes["demo"] == 5000, "sizes %v, which were read again too soon", w.sizes)
	look(sizesAge)
	expect.That(t, w.sizes["demo"] == 1000, "sizes %v, want what the last check saw", w.sizes)
}

// A check that lists few of many nodes does not know how often the sweep comes by.
// Commands find the memories of all clusters by their sizes.
func TestTheSizeOfANewClusterIsStored(t *testing.T) {
	w := newWorld()
	w.nodes = 3
	if _, err := w.handler(policy.Observe).Handle(t.Context(), logtest.Batch(`{"cluster":"demo","due":"`+now.Truncate(time.Minute).Format(time.RFC3339)+`"}`)); err != nil {
		t.Error(err)
	}
	n, stored := w.sizes["demo"]
	expect.That(t, stored && n == 3, "sizes %v", w.sizes)
}

func TestAnIncompleteCheckOfALargeClusterDoesNotRelyOnTheSweep(t *testing.T) {
	w := newWorld()
	w.sizes["demo"] = 24000 // every twelfth sweep
	w.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapThrottled, Detail: "slowly"}}
	h := w.handler(policy.Observe)
	h.SweepInterval = time.Minute
	if _, err := h.Handle(t.Context(), logtest.Batch(demo)); err != nil {
		t.Error(err)
	}
	expect.That(t, slices.Equal(w.scheduled, []string{"12:03"}) && w.sizes["demo"] == 24000, "scheduled %v, sizes %v", w.scheduled, w.sizes)
}

func TestWhatCouldNotBeReadIsLookedAtAgainSoon(t *testing.T) {
	w := newWorld()
	w.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Detail: "down"}}
	w.check(t, policy.Remediate, demo)
	if !slices.Equal(w.scheduled, []string{"12:03"}) || w.counted(t, "ChecksCompleted") != 0 || len(w.sent) != 0 {
		t.Errorf("scheduled %v, completed %v, sent %v", w.scheduled, w.counted(t, "ChecksCompleted"), w.sent)
	}
	for ago, want := range map[time.Duration]string{10 * time.Minute: "12:03", 25 * time.Minute: "12:15"} {
		w.scheduled = nil
		must.Succeed(t, w.Record(t.Context(), roll.ClusterID{Account: w.account, Region: "eu-west-1", Name: "demo"}, ledger.Changes{Put: ledger.State{
			Trouble: &ledger.Trouble{Reason: "ClusterUnreachable", Since: now.Add(-ago), Last: now, Told: now, Outage: ledger.Outage{Reason: "ClusterUnreachable", Since: now.Add(-ago), Last: now}},
		}}))
		w.check(t, policy.Remediate, demo)
		expect.That(t, slices.Equal(w.scheduled, []string{want}), "unreachable for %s: scheduled %v", ago, w.scheduled)
	}
	w.account, w.scheduled, w.nodes = "", nil, 0 // the cluster could not be described
	w.gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapThrottled, Detail: "slowly"}}
	w.check(t, policy.Remediate, demo)
	expect.That(t, slices.Equal(w.scheduled, []string{"12:03"}), "scheduled %v after a throttle", w.scheduled)
}

// For a cluster that does not exist, only the deadlines of left-over instances matter; the
// sweep requests its check only once an hour.
func TestAClusterThatIsGoneIsNotLookedAtAgainSoon(t *testing.T) {
	gone := []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapClusterGone, Detail: "there is no such cluster"}}
	w := newWorld()
	w.account, w.gaps = "", gone
	w.check(t, policy.Remediate, demo)
	expect.That(t, len(w.scheduled) == 0 && len(w.looked) == 1, "scheduled %v", w.scheduled)
	w = newWorld()
	w.gaps, w.named = gone, true // an orphan is past its tolerance after 15 minutes
	w.check(t, policy.Remediate, demo)
	expect.That(t, slices.Equal(w.scheduled, []string{"12:16"}), "scheduled %v, want the end of the tolerance", w.scheduled)
}

// Each registration is counted once, and a line of the log takes a hundred values.
func TestNewRegistrationsAreAMetric(t *testing.T) {
	w := newWorld()
	w.nodes = 0
	h := w.handler(policy.Observe)
	h.Runner.Observer = grown{w, 250}
	must.Succeed(t, w.Record(t.Context(), roll.ClusterID{Account: w.account, Region: "eu-west-1", Name: "demo"}, ledger.Changes{Put: ledger.State{Checked: now.Add(-time.Hour)}}))
	for range 2 {
		if _, err := h.Handle(t.Context(), logtest.Batch(demo)); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	for line := range strings.Lines(w.metrics.String()) {
		var values map[string]any
		must.Succeed(t, json.Unmarshal([]byte(line), &values))
		took, ok := values["RegistrationSeconds"].([]any)
		if !ok {
			continue
		}
		sizes = append(sizes, len(took))
		expect.That(t, values["Cluster"] == "demo" && took[0] == 45.0, "%v: %v", values["Cluster"], took[0])
	}
	if !slices.Equal(sizes, []int{100, 100, 50}) || w.counted(t, "ChecksCompleted") != 2 {
		t.Errorf("lines of %v values, want 100, 100, 50; %v checks counted, want 2", sizes, w.counted(t, "ChecksCompleted"))
	}
}

// grown is the world with many nodes that registered a few minutes ago.
type grown struct {
	*world
	n int
}

func (g grown) Snapshot(ctx context.Context, name string, at time.Time, watch roll.Watch) *roll.Snapshot {
	s := g.world.Snapshot(ctx, name, at, watch)
	s.Instances, s.Nodes = nil, nil
	for i := range g.n {
		id := roll.InstanceID(fmt.Sprintf("i-%017x", i+1))
		launched := now.Add(-10 * time.Minute)
		s.Instances = append(s.Instances, roll.Instance{ID: id, State: roll.StateRunning, Launched: launched, Owner: roll.OwnerManagedNodeGroup, Group: "nodegroup/w"})
		s.Nodes = append(s.Nodes, roll.Node{
			Name: string(id), Compute: roll.ComputeEC2, Instance: id, Created: launched.Add(45 * time.Second),
			Ready: roll.Condition{Status: roll.ConditionTrue, Since: launched.Add(time.Minute)},
		})
	}
	return s
}

func TestAScheduleThatCannotBeMadeIsNoFailure(t *testing.T) {
	w := newWorld()
	w.fail["schedule"] = true
	w.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Detail: "down"}}
	w.check(t, policy.Observe, demo)
}

func TestAnOrderIsHandedOverOnlyInModeRemediate(t *testing.T) {
	for mode, want := range map[policy.Mode]int{policy.Observe: 0, policy.Notify: 0, policy.Remediate: 1} {
		w := newWorld()
		w.policy = "apiVersion: rollcall/v1\nregistration: {warnAfter: 1m, deadline: 2m}\nmode: remediate\n"
		id := roll.ClusterID{Account: w.account, Region: "eu-west-1", Name: "demo"}
		began := now.Add(-6 * time.Minute)
		must.Succeed(t, w.Record(t.Context(), id, ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{{Instance: "i-00000001", Kind: roll.Unregistered}: {Instance: "i-00000001", Kind: roll.Unregistered, Group: "nodegroup/w", Stage: roll.Overdue, FirstSeen: now.Add(-2 * time.Minute), Opened: now.Add(-2 * time.Minute), Since: began, Began: began}}, RemediateSince: map[roll.Group]time.Time{"nodegroup/w": began}, Checked: began, First: began}}))
		h := w.handler(mode)
		h.Runner.Observer = protected{w}
		_, err := h.Handle(t.Context(), logtest.Batch(demo))
		expect.That(t, err == nil && len(w.sent) == want, "mode %s: %d orders, %v, want %d", mode, len(w.sent), err, want)
	}
}

// protected answers questions about suspects: nothing prevents a termination.
type protected struct{ *world }

func (p protected) Details(_ context.Context, s *roll.Snapshot, questions []roll.Question) {
	for _, q := range questions {
		s.Details[q.Instance] = roll.Detail{LeaseRead: roll.No, TerminationProtected: roll.No, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}}
	}
	s.Groups = map[roll.Group]roll.GroupDetail{"nodegroup/w": {AutoRepair: roll.No, LaunchSuspended: roll.No, LaunchesRead: roll.Yes, ReplaceSuspended: roll.No}}
}

func TestABadPolicyIsCountedAndNothingIsOrderedUnderIt(t *testing.T) {
	w := newWorld()
	w.policy = "apiVersion: rollcall/v1\nmdoe: remediate\n"
	w.check(t, policy.Remediate, demo)
	if w.counted(t, "PolicyInvalid") != 1 || len(w.looked) != 1 || len(w.sent) != 0 {
		t.Errorf("counted %v, looked %d times, sent %v", w.counted(t, "PolicyInvalid"), len(w.looked), w.sent)
	}
}

// vpcs are those of the clusters that EKS knows.
type vpcs map[string]string

func (v vpcs) DescribeCluster(_ context.Context, in *eks.DescribeClusterInput, _ ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	vpc, ok := v[*in.Name]
	switch {
	case !ok:
		return nil, &ekstypes.ResourceNotFoundException{}
	case vpc == "":
		return nil, errors.New("no answer")
	}
	return &eks.DescribeClusterOutput{Cluster: &ekstypes.Cluster{ResourcesVpcConfig: &ekstypes.VpcConfigResponse{VpcId: &vpc}}}, nil
}

// A cluster belongs to one deployment, with one ledger and its limits, also if an instance in a VPC of another deployment
// carries its tag. While its VPC is unknown, the check reports what it cannot read, and orders nothing.
func TestOnlyClustersOfTheWantedVPCsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		wanted []string
		known  vpcs
		mode   []string // of the check, if there is one
	}{
		"no VPCs are named":   {nil, nil, []string{"remediate"}},
		"in one of them":      {[]string{"vpc-2", "vpc-1"}, vpcs{"demo": "vpc-1"}, []string{"remediate"}},
		"in another one":      {[]string{"vpc-2"}, vpcs{"demo": "vpc-1"}, nil},
		"EKS knows it not":    {[]string{"vpc-2"}, vpcs{}, []string{"remediate"}},
		"EKS does not answer": {[]string{"vpc-1"}, vpcs{"demo": ""}, []string{"notify"}},
	} {
		w := newWorld()
		w.gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapUnauthorized, Call: "kubernetes:nodes", Detail: "no access"}} // it would be looked at again soon
		h := w.handler(policy.Remediate)
		h.VPCs, h.EKS = c.wanted, c.known
		r, err := h.Handle(t.Context(), logtest.Batch(demo))
		must.That(t, err == nil && len(r.BatchItemFailures) == 0, "%s: %+v, %v", name, r, err)
		expect.List(t, w.logged("checked", "mode"), c.mode, "%s: modes of checks", name)
		unknown := slices.ContainsFunc(w.logged("VPC unknown", "error"), func(s string) bool { return strings.Contains(s, "eks:DescribeCluster") })
		expect.That(t, unknown == (name == "EKS does not answer"), "%s: the log says that the VPC is unknown: %t", name, unknown)
		expect.That(t, len(w.looked) == len(c.mode) && len(w.scheduled) == len(c.mode), "%s: looked %d times, scheduled %v", name, len(w.looked), w.scheduled)
	}
}

// An ignored cluster is not read, so it sets off no alarm: neither ClusterUnread nor, if all clusters are ignored, that
// no check completes.
func TestAClusterThatThePolicyIgnoresIsNotRead(t *testing.T) {
	for mode, read := range map[string]int{"ignore": 0, "observe": 1} {
		w := newWorld()
		w.policy = "apiVersion: rollcall/v1\noverrides: [{match: {cluster: \"de*\"}, mode: " + mode + "}]\n"
		w.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapUnauthorized, Detail: "no entry"}}
		w.check(t, policy.Remediate, demo)
		ignored := float64(1 - read)
		if len(w.looked) != read || len(w.scheduled) != read || len(w.put) != read || w.counted(t, "ChecksCompleted") != ignored || w.counted(t, "ChecksIncomplete") != 1-ignored || len(w.logged("cluster ignored", "cluster")) != 1-read {
			t.Errorf("%s: looked %d times, scheduled %v, events %v, completed %v, logged %v", mode, len(w.looked), w.scheduled, w.put, w.counted(t, "ChecksCompleted"), w.page)
		}
	}
}

// A template cannot compare WarnAfter and Deadline: a wrong pair rings the alarm, and the cluster is checked.
func TestWrongTolerancesOfTheStackAreCounted(t *testing.T) {
	w := newWorld()
	h := w.handler(policy.Remediate)
	h.Policies = config.NewPolicyStore(w, config.Settings{PolicyParameter: "/rollcall/policy", Tolerances: config.ErrTolerances})
	if _, err := h.Handle(t.Context(), logtest.Batch(demo)); err != nil {
		t.Fatal(err)
	}
	if w.counted(t, "PolicyInvalid") != 1 || len(w.looked) != 1 || len(w.sent) != 0 {
		t.Errorf("counted %v, looked %d times, sent %v", w.counted(t, "PolicyInvalid"), len(w.looked), w.sent)
	}
}

func TestUnderAPolicyThatIsGoneFindingsAreToldAndNothingIsOrdered(t *testing.T) {
	w := newWorld()
	w.policy = "apiVersion: rollcall/v1\nregistration: {warnAfter: 1m, deadline: 2m}\nmode: remediate\n"
	id := roll.ClusterID{Account: w.account, Region: "eu-west-1", Name: "demo"}
	began := now.Add(-6 * time.Minute)
	must.Succeed(t, w.Record(t.Context(), id, ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{{Instance: "i-00000001", Kind: roll.Unregistered}: {Instance: "i-00000001", Kind: roll.Unregistered, Group: "nodegroup/w", Stage: roll.Overdue, FirstSeen: now.Add(-2 * time.Minute), Opened: now.Add(-2 * time.Minute), Since: began, Began: began}}, RemediateSince: map[roll.Group]time.Time{"nodegroup/w": began}}}))
	h := w.handler(policy.Remediate)
	h.Runner.Observer = protected{w}
	if _, _, err := h.Policies.Usable(t.Context(), policy.Remediate, now.Add(-time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	w.policy = ""
	if _, err := h.Handle(t.Context(), logtest.Batch(demo)); err != nil {
		t.Fatal(err)
	}
	if len(w.sent) != 0 || w.counted(t, "NoticesSent") != 1 || w.counted(t, "PolicyInvalid") != 1 {
		t.Errorf("sent %v, %v notices, PolicyInvalid %v", w.sent, w.counted(t, "NoticesSent"), w.counted(t, "PolicyInvalid"))
	}
}

// nameless is the world with a node whose instance is unknown.
type nameless struct{ *world }

func (n nameless) Snapshot(ctx context.Context, name string, at time.Time, watch roll.Watch) *roll.Snapshot {
	s := n.world.Snapshot(ctx, name, at, watch)
	s.Nodes = append(s.Nodes, roll.Node{Name: "node-1", Compute: roll.ComputeEC2, Created: now.Add(-time.Hour)})
	return s
}

// moved is a ledger whose notices another check has taken over.
type moved struct{ ledger.Ledger }

func (moved) RaiseNotices(context.Context, roll.ClusterID, int64) error {
	return ledger.ErrNoticesMoved
}

// A check whose notices another check took over reports, orders and counts nothing, and
// checks again.
func TestAnOvertakenCheckLooksAgain(t *testing.T) {
	w := newWorld()
	w.policy = "apiVersion: rollcall/v1\nregistration: {warnAfter: 1m, deadline: 20m}\n"
	h := w.handler(policy.Notify)
	h.Runner.Ledger = moved{w.Ledger}
	if _, err := h.Handle(t.Context(), logtest.Batch(demo)); err != nil {
		t.Fatal(err)
	}
	state, err := w.Read(t.Context(), roll.ClusterID{Account: w.account, Region: "eu-west-1", Name: "demo"})
	if err != nil || len(state.Findings)+len(state.Notices) > 0 || len(w.put)+len(w.sent) > 0 || w.counted(t, "NoticesSent") != 0 {
		t.Errorf("%+v, %v; events %v, orders %v", state, err, w.put, w.sent)
	}
	expect.That(t, len(w.scheduled) == 1, "scheduled %v, want one check", w.scheduled)
}
