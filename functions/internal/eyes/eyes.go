// Package eyes makes what looks at clusters and finds out why, from one AWS
// configuration: for the functions that do either, and for the command line.
package eyes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/shared/archive"
	"rollcall/shared/bundle"
	"rollcall/shared/collect"
	"rollcall/shared/evidence"
	"rollcall/shared/inquiry"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/observe"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/shared/run"
)

// WhyTime bounds a diagnosis: what was not read by then is not checked. Where no way
// leads to one of the services, as to IAM in a network without internet, a call would
// take all the time there is.
const WhyTime = 45 * time.Second

// KeepTime bounds the keeping of evidence. Where no way leads to S3, the time that is left
// is for what a check says and orders, and for a refusal to be told.
const KeepTime = 20 * time.Second

// Eyes look at the clusters of one account and region.
type Eyes struct {
	Observer *observe.Observer
	Inquirer *inquiry.Inquirer
	EC2      *ec2.Client
	Kube     *kube.Dialer
	seeing   observe.Options
	asking   inquiry.Options
	// remembered is what a bundle tells of earlier checks; nil for an account.
	remembered map[string]evidence.Remembered
}

// OfBundle look at a bundle instead of an account.
func OfBundle(b *bundle.Bundle) *Eyes {
	id := b.ClusterID()
	remembered, _ := b.Remembered()
	return &Eyes{
		Observer: observe.New(observe.Options{
			EC2: b.EC2(), EKS: b.EKS(), AutoScaling: b.AutoScaling(), ZonalShift: b.ZonalShift(), Kube: b.Kube(), Region: id.Region, PageInterval: time.Nanosecond,
		}),
		Inquirer:   inquiry.New(inquiry.Options{EC2: b.EC2(), EKS: b.EKS(), AutoScaling: b.AutoScaling(), IAM: b.IAM(), Kube: b.Kube(), Region: id.Region, Free: true}),
		remembered: remembered,
	}
}

// Options are what eyes are made of.
type Options struct {
	// Agent is what the Kubernetes clients call themselves in audit logs.
	Agent string
	// Principal tells whose credentials are used, for messages; it may be nil.
	Principal func(context.Context) string
	// Store keeps evidence; nil keeps none.
	Store inquiry.Store
	// PageInterval is that of observe.Options.
	PageInterval time.Duration
}

// Open makes the clients. It sends nothing yet.
func Open(cfg aws.Config, o Options) (*Eyes, error) {
	tokens, err := kube.NewTokenSource(cfg)
	if err != nil {
		return nil, err
	}
	e := &Eyes{EC2: ec2.NewFromConfig(cfg), Kube: kube.NewDialer(tokens, o.Agent)}
	e.seeing = observe.Options{
		EC2: e.EC2, EKS: eks.NewFromConfig(cfg), AutoScaling: autoscaling.NewFromConfig(cfg), ZonalShift: arczonalshift.NewFromConfig(cfg),
		Kube: e.Kube, Region: cfg.Region, Principal: o.Principal, PageInterval: o.PageInterval,
	}
	e.asking = inquiry.Options{
		EC2: e.EC2, EKS: eks.NewFromConfig(cfg), AutoScaling: autoscaling.NewFromConfig(cfg), IAM: iam.NewFromConfig(cfg),
		Kube: e.Kube, Region: cfg.Region, Principal: o.Principal, Store: o.Store,
	}
	e.Observer, e.Inquirer = observe.New(e.seeing), inquiry.New(e.asking)
	return e, nil
}

// Recorded are eyes on the same account of which a recorder remembers the answers, and
// the dialer whose clients' readings it remembers too.
func (e *Eyes) Recorded(r *bundle.Recorder) (*Eyes, *bundle.RecordedKube) {
	dialer := r.Kube(e.Kube)
	seeing, asking := e.seeing, e.asking
	seeing.EC2, seeing.EKS, seeing.AutoScaling, seeing.ZonalShift, seeing.Kube = r.EC2(e.asking.EC2), r.EKS(e.asking.EKS), r.AutoScaling(e.asking.AutoScaling), r.ZonalShift(e.seeing.ZonalShift), dialer
	asking.EC2, asking.EKS, asking.AutoScaling, asking.IAM, asking.Kube = r.EC2(e.asking.EC2), r.EKS(e.asking.EKS), r.AutoScaling(e.asking.AutoScaling), r.IAM(e.asking.IAM), dialer
	return &Eyes{Observer: observe.New(seeing), Inquirer: inquiry.New(asking), EC2: e.EC2, Kube: e.Kube}, dialer
}

// Check finds out why, for a check.
func (e *Eyes) Check(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
	q := e.Inquirer.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: state}, record)
	if !record || !e.Inquirer.Keeps() {
		return q.Diagnoses, nil
	}
	return q.Diagnoses, func(ctx context.Context, c report.Check, f roll.Finding, firstSeen time.Time) (string, error) {
		key := archive.Key{Cluster: c.Snapshot.Cluster.ID, Instance: f.Instance, Kind: f.Kind, At: firstSeen, Stage: warned(c.Findings())}
		return keep(ctx, q, key, c.Document())
	}
}

// warned is the stage of what is kept of a check with these findings. Several are told by
// their set: where a check died before it was remembered what it kept, the next one may
// have more to keep, and what is kept is never written again.
func warned(findings []roll.Finding) string {
	if len(findings) == 1 {
		return archive.StageWarned
	}
	keys := make([]string, 0, len(findings))
	for _, f := range findings {
		keys = append(keys, string(f.Instance)+" "+string(f.Kind))
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, "\n")))
	return archive.StageWarned + "-" + hex.EncodeToString(sum[:8])
}

func keep(ctx context.Context, q *inquiry.Inquiry, key archive.Key, doc report.Document) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, KeepTime)
	defer cancel()
	link, err := q.Keep(ctx, key, doc)
	return link.URI, err
}

// Explain finds out why, for a person who asks: what still has time is looked at too.
func (e *Eyes) Explain(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State, _ bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
	return e.Inquirer.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: state, Whole: true, Remembered: e.remembered}, false).Diagnoses, nil
}

// Act finds out why, before an act.
func (e *Eyes) Act(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State) (map[roll.FindingKey]roll.Diagnosis, remediate.Keep) {
	asking, cancel := context.WithTimeout(ctx, WhyTime)
	defer cancel()
	q := e.Inquirer.Inquire(asking, collect.Input{Snapshot: s, Findings: findings, State: state}, true)
	return q.Diagnoses, func(ctx context.Context, o plan.Order, seen remediate.Seen) (string, error) {
		// Whatever is tried for one order has one place: the order's own time is another
		// one with each look.
		key := archive.Key{Cluster: o.Cluster, Instance: o.Instance, Kind: o.Kind, At: o.FirstSeen, Stage: o.ID}
		doc := report.Check{Snapshot: seen.Snapshot, Assessment: seen.Assessment, Diagnoses: seen.Diagnoses, Plan: seen.Plan}.Document()
		return keep(ctx, q, key, doc)
	}
}
