package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/testbed"
)

// world is the bed as one scenario uses it: its names, and its clock. The clock starts at the real time and advances
// only when the scenario says so.
type world struct {
	bed    *testbed.Bed
	now    time.Time
	ids    map[string]string   // instance id by name
	spec   map[string]instance // instance by name
	sets   map[string][]string // names by the name of their set, and each by its own
	policy string
	begun  bool // the initial objects exist
	// dropLedger is set by a change that loses the ledger.
	dropLedger bool
}

// build creates the initial objects of a scenario.
func build(ctx context.Context, bed *testbed.Bed, s *scenario, start time.Time) (*world, error) {
	if err := bed.Reset(ctx); err != nil {
		return nil, err
	}
	w := &world{bed: bed, now: start, ids: map[string]string{}, spec: map[string]instance{}, sets: map[string][]string{}, policy: s.policy}
	if err := w.setCluster(ctx, s.Cluster); err != nil {
		return nil, err
	}
	var changes []change
	for i := range s.instances {
		changes = append(changes, change{Launch: &s.instances[i]})
	}
	for i := range s.nodes {
		changes = append(changes, change{Join: &s.nodes[i]})
	}
	for i := range s.claims {
		changes = append(changes, change{Claim: &s.claims[i]})
	}
	for i := range s.pools {
		changes = append(changes, change{NodePool: &s.pools[i]})
	}
	for i := range s.pods {
		changes = append(changes, change{Pod: &s.pods[i]})
	}
	for i := range s.budgets {
		changes = append(changes, change{Budget: &s.budgets[i]})
	}
	for i := range s.groups {
		changes = append(changes, change{Group: &s.groups[i]})
	}
	err := w.apply(ctx, changes)
	w.begun = true
	return w, err
}

// apply makes changes in order.
func (w *world) apply(ctx context.Context, changes []change) error {
	for _, c := range changes {
		if err := w.change(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) change(ctx context.Context, c change) error {
	switch {
	case c.Launch != nil:
		return w.launch(ctx, *c.Launch)
	case c.Join != nil:
		return w.join(ctx, *c.Join)
	case c.Node != nil:
		return w.changeNode(ctx, *c.Node)
	case c.DeleteNode != "":
		return w.each(c.DeleteNode, func(name string) error { return w.bed.DeleteNode(ctx, name) })
	case c.FinishNode != "":
		return w.each(c.FinishNode, func(name string) error { return w.bed.FinishNode(ctx, name) })
	case c.Instance != nil:
		return w.each(c.Instance.Name, func(name string) error { return w.changeInstance(ctx, name, *c.Instance) })
	case c.Forget != "":
		return w.each(c.Forget, func(name string) error { return w.bed.ForgetInstance(ctx, w.ids[name]) })
	case c.DeleteVolume != "":
		return w.each(c.DeleteVolume, func(name string) error { return w.bed.DeleteVolume(ctx, w.ids["of-"+name]) })
	case c.Claim != nil:
		return w.claim(ctx, *c.Claim)
	case c.NodePool != nil:
		return w.bed.SetNodePool(ctx, c.NodePool.Name, taints(c.NodePool.Taints), taints(c.NodePool.StartupTaints))
	case c.DeleteClaim != "":
		return w.bed.DeleteNodeClaim(ctx, c.DeleteClaim)
	case c.FinishClaim != "":
		return w.bed.FinishNodeClaim(ctx, c.FinishClaim)
	case c.Pod != nil:
		p := *c.Pod
		return w.bed.RunPod(ctx, testbed.PodSpec{Name: p.Name, Node: p.Node, Labels: p.Labels, Annotations: p.Annotations, Phase: corev1.PodPhase(p.Phase), DaemonSet: p.DaemonSet, Mirror: p.Mirror, Lingers: p.Lingers, Limit: p.Limit, Evicted: p.Evicted})
	case c.EndPod != "":
		return w.bed.EndPod(ctx, c.EndPod)
	case c.Budget != nil:
		return w.bed.SetBudget(ctx, c.Budget.Name, c.Budget.Match, c.Budget.Allowed)
	case c.Group != nil:
		return w.group(ctx, *c.Group)
	}
	return w.changeAround(ctx, c)
}

// changeAround makes a change to something other than instances and Kubernetes objects.
func (w *world) changeAround(ctx context.Context, c change) error {
	switch {
	case c.Cluster != nil:
		return w.setCluster(ctx, *c.Cluster)
	case c.DropCluster:
		return w.bed.DeleteCluster(ctx, testbed.ClusterName)
	case c.APIServer != "":
		return w.apiServer(ctx, c.APIServer)
	case c.Fault != nil:
		return w.fault(ctx, *c.Fault)
	case c.ClearFaults:
		return w.bed.ClearFaults(ctx)
	case c.Policy != nil:
		w.policy = *c.Policy
	case c.ZonalShift != "":
		return w.shift(ctx, c.ZonalShift)
	case c.UnmapNodes:
		return w.bed.UnmapNodes(ctx)
	case c.MapNodes:
		return w.bed.ResetAWSAuth(ctx)
	case c.MapController != "":
		return w.bed.MapController(ctx, c.MapController)
	case c.ForgetLedger:
		w.dropLedger = true
	}
	return nil
}

// names returns the names that a name stands for: the members of a set, or the name
// itself.
func (w *world) names(name string) ([]string, error) {
	set, ok := w.sets[name]
	if !ok {
		return nil, fmt.Errorf("nothing is called %q", name)
	}
	return set, nil
}

func (w *world) each(name string, do func(string) error) error {
	names, err := w.names(name)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := do(n); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

func (w *world) ago(d duration) time.Time { return w.now.Add(-time.Duration(d)) }

// add registers a name and adds it to its set.
func (w *world) add(set, name string) {
	w.sets[name] = []string{name}
	if set != name {
		w.sets[set] = append(w.sets[set], name)
	}
}

// tags returns the tags that the owner of an instance writes.
func (i instance) tags() map[string]string {
	tags := map[string]string{}
	clusters := i.Clusters
	if clusters == nil {
		clusters = []string{testbed.ClusterName}
	}
	for _, c := range clusters {
		tags["kubernetes.io/cluster/"+c] = "owned"
	}
	switch {
	case i.NodeGroup != "":
		tags["eks:cluster-name"], tags["eks:nodegroup-name"] = testbed.ClusterName, i.NodeGroup
	case i.NodePool != "":
		tags["eks:eks-cluster-name"], tags["karpenter.sh/nodepool"] = testbed.ClusterName, i.NodePool
	case i.AutoMode != "":
		tags["eks:eks-cluster-name"], tags["eks:kubernetes-node-pool-name"] = testbed.ClusterName, i.AutoMode
	}
	maps.Copy(tags, i.Tags)
	return tags
}

// asg returns the Auto Scaling group of an instance, including that of its managed node group.
func (i instance) asg() string {
	if i.NodeGroup != "" {
		return cmp.Or(i.ASG, "eks-"+i.NodeGroup)
	}
	return i.ASG
}

func (w *world) launch(ctx context.Context, i instance) error {
	for n := range max(i.Count, 1) {
		name := i.Name
		if i.Count > 0 {
			name = fmt.Sprintf("%s-%d", i.Name, n+1)
		}
		id, err := w.bed.RunInstance(ctx, testbed.InstanceSpec{
			Name: name, Tags: i.tags(), Group: i.asg(), LaunchTime: w.ago(i.Launched), Zone: i.Zone, Type: i.Type, UserData: i.UserData, ImageID: i.Image, Protected: i.Protected, Keeps: i.Keeps,
		})
		if err != nil {
			return err
		}
		w.add(i.Name, name)
		w.ids[name], w.spec[name] = id, i
		if i.Keeps {
			if w.ids["of-"+name], err = w.bed.KeptVolume(ctx, id); err != nil {
				return err
			}
		}
		change := testbed.InstanceChange{
			State: given(i.State), OwnerID: given(i.OwnerID), Platform: given(i.Platform), Purchase: given(i.Purchase), Lifecycle: given(i.Lifecycle), Hidden: given(testbed.Hiding(i.Hidden)), Console: given(i.Console),
		}
		if err := w.bed.ChangeInstance(ctx, id, change); err != nil {
			return fmt.Errorf("launch %s: %w", name, err)
		}
	}
	return nil
}

// given returns nil for a value that the scenario does not give.
func given[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}

func (w *world) changeInstance(ctx context.Context, name string, c instanceChange) error {
	id := w.ids[name]
	change := testbed.InstanceChange{State: c.State, InstanceStatus: c.Status, SystemStatus: c.SystemStatus, AttachedEBSStatus: c.EBSStatus, Lifecycle: c.Lifecycle}
	if c.NoEvent {
		change.Events = &[]testbed.ScheduledEvent{}
	}
	if e := c.Event; e != nil {
		at := w.ago(-e.In)
		one := testbed.ScheduledEvent{ID: "instance-event-0d59937288b749b32", Code: e.Code, Description: "scheduled", NotBefore: at, NotAfter: at.Add(2 * time.Hour)}
		if e.Done != "" {
			one.Description = "[" + e.Done + "] scheduled"
		}
		change.Events = &[]testbed.ScheduledEvent{one}
	}
	if c.Launched != nil {
		at := w.ago(*c.Launched)
		change.LaunchTime = &at
	}
	if c.ImpairedSince != nil {
		at := w.ago(*c.ImpairedSince)
		change.ImpairedSince = &at
	}
	if c.Hidden != nil {
		hidden := testbed.Hiding(*c.Hidden)
		change.Hidden = &hidden
	}
	if c.RebootCures {
		change.OnReboot = &testbed.InstanceChange{InstanceStatus: aws.String("ok"), SystemStatus: aws.String("ok")}
	}
	if err := w.bed.ChangeInstance(ctx, id, change); err != nil {
		return err
	}
	return w.tag(ctx, id, c.Tag, c.Untag)
}

// tag writes and removes tags as a person does.
func (w *world) tag(ctx context.Context, id string, set map[string]string, remove []string) error {
	client := ec2.NewFromConfig(w.bed.AWSConfigFor(testbed.Seeder))
	for _, key := range slices.Sorted(maps.Keys(set)) {
		_, err := client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: aws.String(key), Value: aws.String(set[key])}}})
		if err != nil {
			return fmt.Errorf("tag %s: %w", id, err)
		}
	}
	for _, key := range remove {
		if _, err := client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: aws.String(key)}}}); err != nil {
			return fmt.Errorf("remove a tag of %s: %w", id, err)
		}
	}
	return nil
}

// marks returns Rollcall's tags on all instances; for findings also the value.
func (w *world) marks(ctx context.Context) (lines []string, err error) {
	client := ec2.NewFromConfig(w.bed.AWSConfigFor(testbed.Seeder))
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{IncludeManagedResources: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			for _, t := range i.Tags {
				key, value := aws.ToString(t.Key), aws.ToString(t.Value)
				if !slices.Contains(roll.MarkKeys(), key) {
					continue
				}
				line := aws.ToString(i.InstanceId) + " " + key
				if key == roll.TagFinding {
					line += "=" + value
				}
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

// join registers a node for each of the instances, or one node without an instance.
func (w *world) join(ctx context.Context, n node) error {
	if len(n.Instances) == 0 {
		w.add(n.Name, n.Name)
		return w.joinOne(ctx, n, "")
	}
	for _, set := range n.Instances {
		if err := w.each(set, func(name string) error { return w.joinOne(ctx, n, name) }); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) joinOne(ctx context.Context, n node, name string) error {
	i := w.spec[name]
	spec := testbed.NodeSpec{
		Name: cmp.Or(n.Name, name), InstanceID: w.ids[name], ProviderID: n.ProviderID, Zone: i.Zone,
		Ready: corev1.ConditionStatus(n.Ready), Reason: n.Reason, Labels: map[string]string{}, Annotations: n.Annotations, Taints: taints(n.Taints), Cordoned: n.Cordoned,
	}
	if n.Name != "" && n.Name != name {
		w.add(n.Name, n.Name)
	}
	spec.ReadySince, spec.Created = w.now, w.now
	if joined := w.now.Add(-time.Duration(i.Launched) + time.Minute); !w.begun && joined.Before(w.now) {
		spec.ReadySince, spec.Created = joined, joined // it was healthy before the scenario began
	}
	if n.Since != nil {
		spec.ReadySince = w.ago(*n.Since)
	}
	if n.Created != nil {
		spec.Created = w.ago(*n.Created)
	}
	for _, c := range n.Conditions {
		spec.Conditions = append(spec.Conditions, w.condition(c))
	}
	switch {
	case i.NodeGroup != "":
		spec.Labels["eks.amazonaws.com/nodegroup"] = i.NodeGroup
	case i.NodePool != "":
		spec.Karpenter, spec.Labels["karpenter.sh/nodepool"] = true, i.NodePool
	case i.AutoMode != "":
		spec.Karpenter, spec.Labels["karpenter.sh/nodepool"], spec.Labels["eks.amazonaws.com/compute-type"] = true, i.AutoMode, "auto"
	}
	maps.Copy(spec.Labels, n.Labels)
	_, err := w.bed.JoinNode(ctx, spec)
	return err
}

func taints(all []taint) (out []corev1.Taint) {
	for _, t := range all {
		out = append(out, corev1.Taint{Key: t.Key, Effect: corev1.TaintEffect(cmp.Or(t.Effect, "NoSchedule"))})
	}
	return out
}

func (w *world) condition(c condition) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: cmp.Or(c.Reason, c.Type),
		LastTransitionTime: metav1.NewTime(w.ago(c.Since)), LastHeartbeatTime: metav1.NewTime(w.now),
	}
}

func (w *world) changeNode(ctx context.Context, c nodeChange) error {
	return w.each(c.Name, func(name string) error {
		change := testbed.NodeChange{Labels: c.Labels, Cordoned: c.Cordoned, BootID: c.BootID}
		if c.Taints != nil {
			all := taints(*c.Taints)
			change.Taints = &all
		}
		if err := w.bed.ChangeNode(ctx, name, change); err != nil {
			return err
		}
		conditions := c.Conditions
		if c.Ready != "" {
			reason := map[string]string{"True": "KubeletReady", "False": "KubeletNotReady", "Unknown": "NodeStatusUnknown"}[c.Ready]
			conditions = append([]condition{{Type: "Ready", Status: c.Ready, Since: c.Since, Reason: cmp.Or(c.Reason, reason)}}, conditions...)
		}
		for _, c := range conditions {
			if err := w.bed.SetCondition(ctx, name, w.condition(c)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) claim(ctx context.Context, c claim) error {
	spec := testbed.NodeClaimSpec{Name: c.Name, NodePool: c.NodePool, InstanceID: w.ids[c.Instance], Zone: w.spec[c.Instance].Zone, Node: c.Node, Created: w.ago(c.Created), Labels: c.Labels, Requirements: c.Requirements}
	w.add(c.Name, c.Name)
	for _, one := range c.Conditions {
		spec.Conditions = append(spec.Conditions, metav1.Condition{Type: one.Type, Status: metav1.ConditionStatus(one.Status), Reason: one.Reason, Message: one.Message, LastTransitionTime: metav1.NewTime(w.ago(one.Since))})
	}
	return w.bed.CreateNodeClaim(ctx, spec)
}

func (w *world) group(ctx context.Context, g group) error {
	if g.NodeGroup != "" {
		change := testbed.NodeGroupChange{NodeRepair: g.NodeRepair, Status: g.Status}
		if g.Issues != nil {
			change.Issues = &[]testbed.NodeGroupIssue{}
			for _, i := range *g.Issues {
				*change.Issues = append(*change.Issues, testbed.NodeGroupIssue(i))
			}
		}
		if err := w.bed.SetNodeGroup(ctx, testbed.ClusterName, g.NodeGroup, change); err != nil {
			return err
		}
		if g.Status != "" || g.Issues != nil {
			return nil // of EKS alone: it may have no Auto Scaling group
		}
	}
	name := instance{ASG: g.ASG, NodeGroup: g.NodeGroup}.asg()
	activities := make([]testbed.Activity, 0, len(g.Activities))
	for n, a := range g.Activities {
		activities = append(activities, testbed.Activity{
			ActivityID: fmt.Sprintf("00000000-0000-0000-0000-%012d", n), Description: "Launching a new EC2 instance", Cause: "chosen by the scenario",
			StartTime: w.ago(a.At), StatusCode: a.Status, StatusMessage: a.Message, Progress: 100,
		})
	}
	change := testbed.GroupChange{Suspended: g.Suspended, Activities: &activities, Desired: g.Desired}
	if g.Desired != nil {
		change.Tags = map[string]string{roll.ClusterTagPrefix + testbed.ClusterName: "owned"} // by this tag, a check finds missing instances
		if g.NodeGroup != "" {
			change.Tags["eks:nodegroup-name"] = g.NodeGroup
		}
	}
	return w.bed.ChangeGroup(ctx, name, change)
}

func (w *world) setCluster(ctx context.Context, c cluster) error {
	change := testbed.ClusterChange{Status: c.Status, Tags: c.Tags}
	if c.ZonalShift {
		change.ZonalShift = &c.ZonalShift
	}
	return w.bed.SetCluster(ctx, testbed.ClusterName, change)
}

// apiServer makes the API server unreachable or reachable. While it is unreachable, EKS returns an address where
// nothing listens.
func (w *world) apiServer(ctx context.Context, state string) error {
	endpoint := w.bed.APIServer()
	switch state {
	case "up":
	case "down":
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("find a port where nobody listens: %w", err)
		}
		endpoint = "https://" + closed.Addr().String()
		if err := closed.Close(); err != nil {
			return fmt.Errorf("find a port where nobody listens: %w", err)
		}
	default:
		return fmt.Errorf("apiServer is up or down, not %q", state)
	}
	return w.bed.SetCluster(ctx, testbed.ClusterName, testbed.ClusterChange{Endpoint: endpoint})
}

func (w *world) fault(ctx context.Context, f fault) error {
	if f.PageSize > 0 {
		if err := w.bed.SetPageSize(ctx, f.PageSize); err != nil {
			return err
		}
	}
	return w.bed.Inject(ctx, testbed.Fault{Service: f.Service, Action: f.Action, Kind: testbed.FaultKind(f.Kind), Code: f.Code, Status: f.Status, Page: f.Page, Times: f.Times})
}

// shift starts an ARC zonal shift of the cluster away from a zone, given by its ID, or removes all
// shifts if given "none".
func (w *world) shift(ctx context.Context, zone string) error {
	if zone == "none" {
		return w.bed.SetShifts(ctx, testbed.ClusterName)
	}
	expires := w.now.Add(12 * time.Hour)
	return w.bed.SetShifts(ctx, testbed.ClusterName, testbed.Shift{AwayFrom: zone, AppliedStatus: "APPLIED", StartTime: w.now, ExpiryTime: &expires})
}

// named replaces instance IDs by names.
func (w *world) named(text string) string {
	for name, id := range w.ids {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}
