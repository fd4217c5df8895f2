// Package observe reads EC2, EKS, Auto Scaling, ARC and Kubernetes into a snapshot of one cluster.
// The snapshot also says what could not be read, and why.
//
// Instances are listed before nodes, so that a node that registers in between is seen together with
// its instance. In the other order its instance would appear not to have registered. Of large
// clusters only the tags are listed, and an instance is described only if no healthy node shows
// enough about it: see tagged.go.
//
// A failed call never becomes "no instances" or "no nodes". Every failure becomes a roll.Gap, and
// what a gap covers gets no verdict.
package observe

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"golang.org/x/time/rate"

	"rollcall/shared/kube"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

// dialer creates a client for a cluster's Kubernetes API; *kube.Dialer is one.
type dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// Observer reads the clusters of one account and region.
type Observer struct {
	Options
	ec2         *ec2.Client
	eks         *eks.Client
	autoScaling *autoscaling.Client
	zonalShift  *arczonalshift.Client // only for clusters that ARC may shift
	pages       *rate.Limiter
	jitter      time.Duration
	progress    progress
	userData    memo.Memo[userDataOf, whatBoots]
}

// Options configure an observer.
type Options struct {
	AWS  aws.Config
	Kube dialer
	// Principal names the caller's credentials in messages; it may return "" and may be nil.
	Principal func(context.Context) string
	// Account is the account of the clusters, if it is known beforehand; "" if not. With it, a cluster
	// that cannot be described is still found in the ledger, and can be reported.
	Account string
	// PageInterval is the minimum time between two EC2 pages in this process. The quota belongs to
	// the account, and Karpenter needs it too. Zero means one second.
	PageInterval time.Duration
	// PageBurst is how many pages may be read at once before the interval applies. Zero means one.
	PageBurst int
	// RollFrom is the number of instances from which a cluster is listed by tags instead of in
	// full: see tagged.go. Zero means 1,001, more than fit on one page; with a negative number
	// every cluster is listed in full, and so are the status checks.
	RollFrom int
	// WithoutUserData reports whether user data is left unread, since it may hold secrets. An
	// instance that only its user data shows to be meant as a node is then not judged.
	WithoutUserData bool
}

// jitterShare is the divisor of the interval that gives the maximum jitter.
const jitterShare = 10

// New returns an observer.
func New(o Options) *Observer {
	interval := cmp.Or(o.PageInterval, time.Second)
	o.RollFrom = cmp.Or(o.RollFrom, rollFrom)
	if o.Principal == nil {
		o.Principal = func(context.Context) string { return "" }
	}
	return &Observer{
		Options: o,
		ec2:     ec2.NewFromConfig(o.AWS), eks: eks.NewFromConfig(o.AWS), autoScaling: autoscaling.NewFromConfig(o.AWS), zonalShift: arczonalshift.NewFromConfig(o.AWS),
		// The pause after a turn must not bring two requests closer than the interval.
		pages: rate.NewLimiter(rate.Every(interval+interval/jitterShare), max(1, o.PageBurst)), jitter: interval / jitterShare,
		userData: memo.Memo[userDataOf, whatBoots]{Most: 5000},
	}
}

// Snapshot reads one cluster. watch names the node conditions and taints that matter beside
// readiness. It never fails: what could not be read is in the snapshot's gaps.
//
// For a cluster that does not exist it returns the leftover instances that certainly belonged to
// it, and no nodes.
func (o *Observer) Snapshot(ctx context.Context, name string, at time.Time, watch roll.Watch) *roll.Snapshot {
	s, arn := o.begin(ctx, name, at)
	switch {
	case gone(s):
		o.listInstances(ctx, s, instancesOf(name), nil)
		return s
	case len(s.Gaps) > 0 && s.Gaps[0].Kind != roll.GapClusterNotActive:
		return s
	}
	tags := o.begins(ctx, s)
	o.readNodes(ctx, s, watch, trimInOrder)
	claims, err := o.readClaims(ctx, s)
	if tags != nil {
		o.readRest(ctx, s, tags, watch)
	} else {
		o.readMissed(ctx, s)
		o.readStatus(ctx, s)
	}
	o.readShifts(ctx, s, arn)
	o.readUnlaunched(ctx, s, claims, err)
	return s
}

// trimInOrder drops the uid of a node that is in order: most are, and their uids would be a tenth of
// the snapshot.
func trimInOrder(n *roll.Node) {
	if inOrder(n) {
		n.UID = ""
	}
}

func (o *Observer) begin(ctx context.Context, name string, at time.Time) (s *roll.Snapshot, arn string) {
	s = &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
	var gap *roll.Gap
	if s.Cluster, arn, gap = o.describeCluster(ctx, name); gap != nil {
		s.Gaps = append(s.Gaps, *gap)
	}
	return s, arn
}

func gone(s *roll.Snapshot) bool {
	return len(s.Gaps) > 0 && s.Gaps[0].Kind == roll.GapClusterGone
}

// Target reads one instance and all nodes again, right before an act on the instance. It lists
// the nodes instead of reading one by name: a node that registered meanwhile has an unknown
// name, and an outage that began meanwhile shows in the other nodes. The instance is read last,
// so that a hold that a person sets during the listing is seen. If it does not run, the instances that may
// have taken over its node are read after it.
func (o *Observer) Target(ctx context.Context, name string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot {
	s, arn := o.begin(ctx, name, at)
	s.Target = id
	if len(s.Gaps) > 0 && !gone(s) {
		return s
	}
	if !gone(s) {
		o.readNodes(ctx, s, watch, func(n *roll.Node) {
			if n.Instance != id {
				n.UID = "" // no act on it
			}
		})
		o.readShifts(ctx, s, arn)
		o.readTargetStatus(ctx, s)
	}
	if err := o.lookUpInto(ctx, s, []string{string(id)}); err != nil {
		o.fail(ctx, s, roll.ScopeInstances, callDescribeInstances, err)
	}
	o.readAdopters(ctx, s)
	return s
}

// readAdopters adds the cluster's other instances that have the name of the target's node, unless the target runs.
// One that got its private address may have taken over the Node, whose provider id stays the target's.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/kubelet_node_status.go (tryRegisterWithAPIServer)
func (o *Observer) readAdopters(ctx context.Context, s *roll.Snapshot) {
	var names []string
	for i := range s.Nodes {
		if s.Nodes[i].Instance == s.Target {
			names = append(names, s.Nodes[i].Name)
		}
	}
	if i := s.Instance(s.Target); len(names) == 0 || !s.Whole() || i != nil && i.State == roll.StateRunning {
		return
	}
	in := instancesOf(s.Cluster.ID.Name, types.Filter{Name: aws.String("private-dns-name"), Values: names})
	o.listInstances(ctx, s, in, func(i *roll.Instance) bool { return i.ID != s.Target && !i.State.Gone() })
}

// inOrder reports whether the node needs no act. A target is read again.
func inOrder(n *roll.Node) bool {
	return n.Ready.Status == roll.ConditionTrue && n.StartupTaint == "" && n.CordonedBy == "" && len(n.Conditions) == 0 && !n.Unschedulable && n.DeletedAt.IsZero()
}

const callNodes = "kubernetes: list nodes"

// readNodes lists the nodes. trim removes what is not needed of each.
func (o *Observer) readNodes(ctx context.Context, s *roll.Snapshot, watch roll.Watch, trim func(*roll.Node)) {
	client, err := o.Kube.Dial(s.Cluster)
	if err != nil {
		o.fail(ctx, s, roll.ScopeNodes, callNodes, err)
		return
	}
	// There are about as many nodes as instances, or as last time. Growing the slice in steps costs
	// more than the nodes do.
	s.Nodes = make([]roll.Node, 0, max(len(s.Instances), o.progress.of(s.Cluster.ID.Name).size))
	err = client.Nodes(ctx, watch,
		func(n roll.Node) {
			s.Nodes = append(s.Nodes, n)
			trim(&s.Nodes[len(s.Nodes)-1])
		},
		func() { s.Nodes = s.Nodes[:0] })
	if err != nil {
		o.fail(ctx, s, roll.ScopeNodes, callNodes, err)
	}
}

// direct returns a method of a client of the observer, as apistats.Direct does.
func direct[I, O, F any](o *Observer, call project.Method[I, O, F]) project.Method[I, O, F] {
	return apistats.Direct(&o.AWS, call)
}

// limited returns a method of the EC2 client that waits for its turn before each call.
func limited[I, O, F any](o *Observer, call project.Method[I, O, F]) project.Method[I, O, F] {
	return func(ctx context.Context, in *I, options ...func(*F)) (*O, error) {
		if err := o.turn(ctx); err != nil {
			return nil, err
		}
		return direct(o, call)(ctx, in, options...)
	}
}

// turn waits until this process may request the next page from EC2. Jitter keeps processes
// from sending their requests in step.
func (o *Observer) turn(ctx context.Context) error {
	if err := o.pages.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the rate limit for EC2 pages leaves no time in this check: %w", context.DeadlineExceeded)
	}
	if o.jitter <= 0 {
		return nil
	}
	t := time.NewTimer(rand.N(o.jitter))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
