package collect

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"golang.org/x/sync/errgroup"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

const (
	// parallel is how many tasks run beside each other.
	parallel = 4
	// callTime bounds one call. Where no way leads to a service, as to IAM from a network
	// without internet, a call would take all the time there is from the others.
	callTime = 10 * time.Second
)

// Collector reads evidence in one account and region. It is safe for concurrent use.
type Collector struct {
	Options
	ec2         *ec2.Client
	eks         *eks.Client
	autoScaling *autoscaling.Client
	iam         *iam.Client
}

// dialer makes clients of a cluster's Kubernetes API; *kube.Dialer is one.
type dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// Options are what a collector is made of.
type Options struct {
	AWS  aws.Config
	Kube dialer
	// Principal tells whose credentials are used, for messages; it may return "" and may
	// be nil.
	Principal func(context.Context) string
	// Free: reading costs nothing, as from a bundle. Then nothing is sampled or bounded.
	Free bool
	// Serial: the tasks of a step run one after the other, in their order, in the caller's
	// goroutine: for clients that are not safe for concurrent use, or where a run must be
	// reproducible.
	Serial bool
}

// New makes a collector.
func New(o Options) *Collector {
	if o.Principal == nil {
		o.Principal = func(context.Context) string { return "" }
	}
	return &Collector{o, ec2.NewFromConfig(o.AWS), eks.NewFromConfig(o.AWS), autoscaling.NewFromConfig(o.AWS), iam.NewFromConfig(o.AWS)}
}

// Input is what evidence is collected for.
type Input struct {
	Snapshot *roll.Snapshot
	// Findings are all of the check, the most urgent first. Those past watching are
	// diagnosed.
	Findings []roll.Finding
	// Whole: findings that are only watched are diagnosed too.
	Whole bool
	// State is what the ledger remembers of the cluster.
	State ledger.State
	// Remembered is what an earlier check saw of nodes, by their name, where something
	// other than the ledger tells: a bundle. nil takes it from State.
	Remembered map[string]evidence.Remembered
}

// Collect reads what the diagnosis of the findings needs. It never fails: what could not
// be read is a fact that says so.
func (c *Collector) Collect(ctx context.Context, in Input) *evidence.Evidence {
	l := newLook(ctx, c, in)
	l.fromSnapshot()
	if len(l.findings) == 0 {
		return l.ev
	}
	for _, step := range l.steps() {
		l.perform(step)
	}
	return l.ev
}

// perform runs the tasks of a step, and returns when all are done.
func (l *look) perform(step []func()) {
	if l.Serial {
		for _, task := range step {
			attempt(task)
		}
		return
	}
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, task := range step {
		g.Go(func() error { attempt(task); return nil })
	}
	_ = g.Wait() // no task returns an error: what fails is a fact
}

// attempt runs a task. What it stumbles over in an answer must not keep a check from its
// other work: what it would have read stays not asked for.
func attempt(task func()) {
	defer func() { _ = recover() }()
	task()
}

// steps are what is read: what one step asks for follows from the answers of those
// before. The tasks of a step may run beside each other, and each has actions, and parts
// of the evidence, of its own.
func (l *look) steps() [][]func() {
	return [][]func(){
		slices.Concat([]func(){l.readCluster, l.readInstances}, l.readNodes(), []func(){l.readNodePools, l.readNodeClaims, l.readWebhooks}),
		{
			l.readStatus, l.readUserData, l.readConsoles, l.readImages, l.readTemplates,
			l.readIdentity, l.readAwsAuth,
			inTurn(l.readRouteTables, l.readNATGateways), inTurn(l.readEndpoints, l.readSubnets, l.readSecurityGroups), l.readACLs, l.readDHCP, l.readDNS,
			l.readNodeGroups, l.readAutoScaling, l.readActivities,
			l.readNodeClasses, l.readClaimEvents, inTurn(l.readPodEvents, l.readBudgets), l.readServices,
		},
		{l.readAccessEntries},
		{l.placeTables, l.readControllerRoles},
	}
}

// inTurn is one task of several, of which the later ones need the earlier ones.
func inTurn(tasks ...func()) func() {
	return func() {
		for _, task := range tasks {
			task()
		}
	}
}
