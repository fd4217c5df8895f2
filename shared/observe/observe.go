// Package observe reads EC2, EKS, Auto Scaling and Kubernetes and puts a snapshot
// of one cluster together, with what it could not read.
//
// The order of reading carries the argument: instances first, then nodes. A node
// that registers in between is then seen beside its instance; the other way round
// its instance would look like one that never came.
//
// Nothing here returns "no instances" or "no nodes" for something that failed:
// every failure becomes a roll.Gap, and what a gap covers is not judged.
package observe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"golang.org/x/time/rate"

	"rollcall/shared/awserr"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

type ec2API interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	DescribeInstanceAttribute(context.Context, *ec2.DescribeInstanceAttributeInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceAttributeOutput, error)
}

type eksAPI interface {
	ListClusters(context.Context, *eks.ListClustersInput, ...func(*eks.Options)) (*eks.ListClustersOutput, error)
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

type autoScalingAPI interface {
	DescribeAutoScalingInstances(context.Context, *autoscaling.DescribeAutoScalingInstancesInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingInstancesOutput, error)
}

// dialer makes a client for a cluster's Kubernetes API; *kube.Dialer is one.
type dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// Observer looks at the clusters of one account and region.
type Observer struct {
	ec2         ec2API
	eks         eksAPI
	autoScaling autoScalingAPI
	kube        dialer
	principal   func(context.Context) string
	pages       *rate.Limiter
	jitter      time.Duration
}

// Options are what an observer is made of.
type Options struct {
	EC2         ec2API
	EKS         eksAPI
	AutoScaling autoScalingAPI
	Kube        dialer
	// Principal tells whose credentials are used, for messages; it may return "".
	Principal func(context.Context) string
	// PageInterval is the least time between two pages of DescribeInstances in this
	// process. The quota is the account's, and Karpenter lives on it too. Zero is
	// one second.
	PageInterval time.Duration
}

// jitterShare is the part of the interval that jitter adds at most.
const jitterShare = 10

// New makes an observer.
func New(o Options) *Observer {
	interval := o.PageInterval
	if interval == 0 {
		interval = time.Second
	}
	principal := o.Principal
	if principal == nil {
		principal = func(context.Context) string { return "" }
	}
	return &Observer{
		ec2: o.EC2, eks: o.EKS, autoScaling: o.AutoScaling, kube: o.Kube, principal: principal,
		// The pause after a turn must not bring two requests closer than the interval.
		pages: rate.NewLimiter(rate.Every(interval+interval/jitterShare), 1), jitter: interval / jitterShare,
	}
}

// Snapshot looks at one cluster. It never fails: what could not be read is in the
// snapshot's gaps.
func (o *Observer) Snapshot(ctx context.Context, name string, at time.Time) *roll.Snapshot {
	s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
	cluster, gap := o.Cluster(ctx, name)
	s.Cluster = cluster
	if gap != nil {
		s.Gaps = append(s.Gaps, *gap)
		if gap.Kind != roll.GapClusterNotActive {
			return s
		}
	}
	o.readInstances(ctx, s)
	o.readNodes(ctx, s, func(roll.Node) bool { return true })
	o.readMissed(ctx, s)
	return s
}

// Target looks at one instance of a cluster again, and at every node that is or
// might be its own: right before something is done to it. The nodes are listed
// anew and not read by name, since a node that registered meanwhile has a name
// that nobody knows yet. The instance comes last here: it is one short call, and a
// hold that a person sets while the nodes are listed must be seen.
func (o *Observer) Target(ctx context.Context, name string, id roll.InstanceID, at time.Time) *roll.Snapshot {
	s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
	cluster, gap := o.Cluster(ctx, name)
	s.Cluster = cluster
	if gap != nil {
		s.Gaps = append(s.Gaps, *gap)
		return s
	}
	o.readNodes(ctx, s, func(n roll.Node) bool { return n.Instance == id || n.Compute == roll.ComputeUnknown })
	if err := o.lookUpInto(ctx, s, []string{string(id)}); err != nil {
		s.Gaps = append(s.Gaps, o.gap(ctx, roll.ScopeInstances, callDescribeInstances, err))
	}
	return s
}

// readNodes lists the nodes and keeps those wanted.
func (o *Observer) readNodes(ctx context.Context, s *roll.Snapshot, wanted func(roll.Node) bool) {
	fail := func(err error) {
		kind, detail := kube.Fault(s.Cluster, err, o.principal(ctx))
		s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeNodes, Kind: kind, Call: "kubernetes: list nodes", Detail: detail})
	}
	client, err := o.kube.Dial(s.Cluster)
	if err != nil {
		fail(err)
		return
	}
	// There are about as many nodes as instances; growing in steps costs more than the
	// nodes do.
	s.Nodes = make([]roll.Node, 0, len(s.Instances))
	err = client.Nodes(ctx,
		func(n roll.Node) {
			if wanted(n) {
				s.Nodes = append(s.Nodes, n)
			}
		},
		func() { s.Nodes = s.Nodes[:0] })
	if err != nil {
		fail(err)
	}
}

// gap describes a failed AWS call.
func (o *Observer) gap(ctx context.Context, scope roll.Scope, call string, err error) roll.Gap {
	g := roll.Gap{Scope: scope, Call: call, Kind: roll.GapFailed, Detail: awserr.Describe(err, call, o.principal(ctx))}
	switch {
	case awserr.IsDenied(err):
		g.Kind = roll.GapDenied
	case awserr.IsThrottled(err):
		g.Kind = roll.GapThrottled
	case awserr.IsTimeout(err), errors.Is(err, context.Canceled):
		g.Kind = roll.GapTimeout
	}
	return g
}

// turn waits for this process's next turn to ask EC2 for a page, a little longer
// than it must, so that many processes do not ask in step.
func (o *Observer) turn(ctx context.Context) error {
	if err := o.pages.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("no turn to ask EC2 before the check's time is over: %w", context.DeadlineExceeded)
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

// Once remembers the answer of a function, for a principal that need be asked for
// only once and only when something failed.
func Once(f func(context.Context) string) func(context.Context) string {
	var once sync.Once
	var answer string
	return func(ctx context.Context) string {
		once.Do(func() { answer = f(ctx) })
		return answer
	}
}
