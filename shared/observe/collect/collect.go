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
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"golang.org/x/sync/errgroup"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

const (
	// parallel is how many tasks run in parallel.
	parallel = 4
	// callTime bounds one call. If a service is unreachable, as IAM is from a network without
	// internet, a call would take all the time of the others.
	callTime = 10 * time.Second
)

// Collector reads evidence in one account and region. It is safe for concurrent use.
type Collector struct {
	Options
	ec2         *ec2.Client
	eks         *eks.Client
	autoScaling *autoscaling.Client
	iam         *iam.Client
	ssm         *ssm.Client
}

// dialer makes clients of a cluster's Kubernetes API; *kube.Dialer is one.
type dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// Options configure a collector.
type Options struct {
	AWS  aws.Config
	Kube dialer
	// Principal returns the owner of the credentials, for messages. It may return "" and may be
	// nil.
	Principal func(context.Context) string
	// Free reports whether reading costs nothing, as from a bundle. Then nothing is sampled or
	// limited.
	Free bool
	// Serial reports whether the tasks of a step run one after the other, in order, in the caller's
	// goroutine: for clients that are not safe for concurrent use, or for reproducible runs.
	Serial bool
	// WithoutSecrets reports whether console output and user data are left unread, since they may
	// hold secrets.
	WithoutSecrets bool
	// HostLogs say whether and how the logs of hosts are read.
	HostLogs HostLogs
}

// New returns a collector.
func New(o Options) *Collector {
	if o.Principal == nil {
		o.Principal = func(context.Context) string { return "" }
	}
	return &Collector{o, ec2.NewFromConfig(o.AWS), eks.NewFromConfig(o.AWS), autoscaling.NewFromConfig(o.AWS), iam.NewFromConfig(o.AWS), ssm.NewFromConfig(o.AWS)}
}

// Input is what evidence is collected for.
type Input struct {
	Snapshot *roll.Snapshot
	// Findings are all findings of the check, the most urgent first. Those past watching are
	// diagnosed.
	Findings []roll.Finding
	// Whole reports whether findings in stage watching are diagnosed too.
	Whole bool
	// State is the cluster's ledger.
	State ledger.State
	// Remembered is what an earlier check saw of nodes, by name, if it comes from a bundle instead
	// of the ledger. nil takes it from State.
	Remembered map[string]evidence.Remembered
}

// Collect reads what the diagnosis of the findings needs. It never fails: what could not be read is
// a fact with the reason.
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

// perform runs the tasks of a step and returns when all are done.
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
	_ = g.Wait() // no task returns an error: failures are facts
}

// attempt runs a task and recovers from a panic. A surprising answer must not stop the check's
// other work. What the task would have read stays NotAsked.
func attempt(task func()) {
	defer func() { _ = recover() }()
	task()
}

// steps returns what to read: the requests of one step depend on the answers of earlier steps. The
// tasks of a step may run in parallel. Each has its own actions and its own parts of the evidence.
func (l *look) steps() [][]func() {
	return [][]func(){
		slices.Concat([]func(){l.readCluster, l.readInstances}, l.readNodes(), []func(){l.readNodePools, l.readNodeClaims, l.readWebhooks}),
		{
			l.readStatus, l.readUserData, l.readConsoles, l.readImages, l.readTemplates,
			l.readIdentity, l.readAwsAuth,
			inTurn(l.readRouteTables, l.readNATGateways), inTurn(l.readEndpoints, l.readSubnets, l.readSecurityGroups), l.readACLs, l.readDHCP, l.readDNS,
			l.readNodeGroups, l.readAutoScaling, l.readActivities,
			l.readNodeClasses, l.readClaimEvents, inTurn(l.readPodEvents, l.readBudgets), l.readServices, l.readDaemonSets,
		},
		{l.readAccessEntries},
		{l.placeTables, l.readControllerRoles},
		{l.readHostLogs}, // after all that an act may be held for
	}
}

// inTurn combines tasks into one, because the later ones need the earlier ones.
func inTurn(tasks ...func()) func() {
	return func() {
		for _, task := range tasks {
			task()
		}
	}
}
