package scenarios

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"rollcall/shared/aws/tags"
	"rollcall/shared/kube"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/testbed"
)

// deployment is Rollcall as deployed, in one process. The part that reads, tags and notifies has the viewer's role; the
// part that acts has the remediator's.
type deployment struct {
	world     *world
	mode      policy.Mode
	diagnose  bool   // find causes
	dir       string // for the ledger and the evidence
	ledgers   int
	fresh     bool // no earlier check saw the cluster
	topic     string
	runner    *run.Runner
	beforeAct func() error // called once, right before the next act
	faults    []error      // errors of beforeAct
}

func deploy(ctx context.Context, w *world, s *scenario, dir string) (*deployment, error) {
	permitted, err := policy.ParseMode(s.Mode)
	if err != nil {
		return nil, err
	}
	d := &deployment{world: w, mode: permitted, diagnose: s.Diagnose, fresh: s.Fresh, dir: dir}
	if d.topic, _, err = w.bed.Topic(ctx); err != nil {
		return nil, err
	}
	return d, d.wire()
}

func (d *deployment) clock() time.Time { return d.world.now }

// wire connects the parts, with an empty ledger.
func (d *deployment) wire() error {
	d.ledgers++
	memory, err := ledger.OpenFile(filepath.Join(d.dir, fmt.Sprintf("ledger-%d.json", d.ledgers)))
	if err != nil {
		return err
	}
	if !d.fresh && d.ledgers == 1 {
		// Complete checks of the cluster have run for a long time, so no finding counts as older than
		// them.
		cluster := roll.ClusterID{Account: testbed.AccountID, Region: testbed.Region, Name: testbed.ClusterName}
		if err := memory.Record(context.Background(), cluster, ledger.Changes{Put: ledger.State{First: d.world.now.Add(-30 * 24 * time.Hour)}}); err != nil {
			return err
		}
	}
	viewer := config(d.world.bed, testbed.Viewer)
	observer, dialer, err := newObserver(viewer)
	if err != nil {
		return err
	}
	d.runner = &run.Runner{
		Observer: observer, Why: d.why(viewer, dialer), Ledger: memory, Permitted: d.mode, Clock: d.clock,
		Tags: tags.New(ec2.NewFromConfig(viewer), principal),
	}
	if d.mode.Allows(policy.Notify) {
		d.runner.Notices = report.NewTopic(sns.NewFromConfig(viewer), d.topic, "", principal)
	}
	if !d.mode.Allows(policy.Remediate) {
		return nil
	}
	remediator := config(d.world.bed, testbed.Remediator)
	targets, hands, err := newObserver(remediator)
	if err != nil {
		return err
	}
	acts, err := remediate.New(remediate.Options{
		Targets: targets, EC2: ec2.NewFromConfig(remediator), Kube: hands, Why: d.whyAct(remediator, hands), Ledger: memory, Permitted: d.mode, Principal: principal, Clock: d.clock,
		Policy: func(context.Context) (*policy.Document, error) { return policy.Parse([]byte(d.world.policy)) },
	})
	if err != nil {
		return err
	}
	d.runner.Orders = ordered{d, acts}
	return nil
}

// check checks the cluster with the current policy.
func (d *deployment) check(ctx context.Context) (report.Document, error) {
	if d.world.dropLedger {
		d.world.dropLedger = false
		if err := d.wire(); err != nil {
			return report.Document{}, err
		}
	}
	doc, err := policy.Parse([]byte(d.world.policy))
	if err != nil {
		return report.Document{}, fmt.Errorf("the scenario's policy: %w", err)
	}
	d.runner.Policy = doc
	return d.runner.Check(ctx, testbed.ClusterName, d.world.now).Document(), nil
}

// ordered allows a change between an order and its act.
type ordered struct {
	d    *deployment
	next *remediate.Remediator
}

func (o ordered) Act(ctx context.Context, order plan.Order, now time.Time) remediate.Outcome {
	if happen := o.d.beforeAct; happen != nil {
		o.d.beforeAct = nil
		if err := happen(); err != nil {
			o.d.faults = append(o.d.faults, err)
		}
	}
	return o.next.Act(ctx, order, now)
}

func config(bed *testbed.Bed, id testbed.Identity) aws.Config {
	cfg := bed.AWSConfigFor(id)
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = 2, 10*time.Millisecond })
	}
	return cfg
}

// newObserver returns an observer and its dialer for clusters.
func newObserver(cfg aws.Config) (*observe.Observer, *kube.Dialer, error) {
	tokens := kube.NewTokenSource(cfg)
	dialer := kube.NewDialer(tokens, "rollcall/scenarios")
	return observe.New(observe.Options{AWS: cfg, Kube: dialer, Principal: principal, PageInterval: time.Millisecond}), dialer, nil
}

// principal names the caller in messages; no scenario depends on it.
func principal(context.Context) string {
	return "arn:aws:sts::" + testbed.AccountID + ":assumed-role/rollcall/scenarios"
}
