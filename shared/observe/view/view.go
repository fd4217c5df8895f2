// Package view observes the clusters of one account and region and diagnoses their findings, for
// callers that check, explain or act. It stores what was read in a place that outlives the
// instances.
package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/kube"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// WhyTime bounds a diagnosis. What was not read by then is not checked. If a service is
// unreachable, as IAM is from a network without internet, a call would take all the remaining time.
const WhyTime = 45 * time.Second

// KeepTime bounds the storing of evidence. If S3 is unreachable, the remaining time is for the
// check's report and orders, and for reporting a refusal.
const KeepTime = 20 * time.Second

// inFull as RollFrom lists every instance in full.
const inFull = -1

// Options configure a view.
type Options struct {
	// Principal returns the owner of the credentials, for messages. It may be nil.
	Principal func(context.Context) string
	// Account is the one of observe.Options.
	Account string
	// Store keeps evidence; nil keeps none.
	Store Store
	// Calls counts the requests to the API servers of clusters; nil counts nothing. Requests to AWS
	// are counted by the configuration, if at all.
	Calls *apistats.Counter
	// PageInterval and PageBurst are those of observe.Options.
	PageInterval time.Duration
	PageBurst    int
	// Tokens is the configuration whose credentials sign the tokens for clusters; nil is that of the
	// account. A kubeconfig may name a role for them.
	Tokens *aws.Config
	// RollFrom is the one of observe.Options.
	RollFrom int
	// Free reports whether reading costs nothing. Serial reports whether questions are asked one
	// after the other. See collect.Options.
	Free, Serial bool
	// WithoutSecrets reports whether console output and user data are left unread.
	WithoutSecrets bool
	// HostLogs say whether and how the logs of hosts are read.
	HostLogs collect.HostLogs
}

// View observes the clusters of one account and region. It is safe for concurrent use.
type View struct {
	Observer *observe.Observer
	aws      aws.Config
	kube     bundle.Dialer
	options  Options
	// collector reads evidence that will not be kept.
	collector *collect.Collector
	// remembered is what a bundle holds of earlier checks; nil for an account.
	remembered map[string]evidence.Remembered
}

// New returns a view that uses AWS clients of the configuration. It only reads.
func New(cfg aws.Config, dialer bundle.Dialer, o Options) *View {
	return &View{
		Observer: observe.New(observe.Options{AWS: cfg, Kube: dialer, Principal: o.Principal, Account: o.Account, PageInterval: o.PageInterval, PageBurst: o.PageBurst, RollFrom: o.RollFrom, WithoutUserData: o.WithoutSecrets}),
		aws:      cfg, kube: dialer, options: o, collector: collecting(cfg, dialer, o),
	}
}

// OfBundle returns a view of a bundle instead of an account.
func OfBundle(b *bundle.Bundle) *View {
	o := Options{PageInterval: time.Nanosecond, RollFrom: inFull, Free: true}
	if b.HasHostLogs() {
		o.HostLogs.Document = "host-logs"
	}
	v := New(b.AWS(), b.Kube(), o)
	v.remembered, _ = b.Remembered()
	return v
}

// Account is a view of an account, with the clients that can also change it.
type Account struct {
	*View
	EC2  *ec2.Client
	Kube *kube.Dialer
}

// Open creates the clients of an account and region. agent is the name of the Kubernetes clients in
// audit logs and as field managers: see roll.FieldManager. It sends nothing yet.
func Open(cfg aws.Config, agent string, o Options) *Account {
	signing := cfg
	if o.Tokens != nil {
		signing = *o.Tokens
	}
	a := &Account{EC2: ec2.NewFromConfig(cfg), Kube: kube.NewDialer(kube.NewTokenSource(signing), agent)}
	if o.Calls != nil {
		a.Kube.Wrap = o.Calls.Transport
	}
	a.View = New(cfg, a.Kube, o)
	return a
}

// Recorded returns a view of the same account. The recorder keeps the answers of AWS and of the
// Kubernetes API.
func (v *View) Recorded(r *bundle.Recorder) *View {
	o := v.options
	o.RollFrom = inFull // a bundle has all instances
	return New(r.AWS(v.aws), r.Kube(v.kube), o)
}

// Before returns a view of the same account whose AWS calls go through the interceptor first, and
// whose reads of Kubernetes objects go to the client. Nothing is sampled.
func (v *View) Before(by apistats.Interceptor, first *kube.Client) *View {
	o := v.options
	o.Free = true
	return New(apistats.Intercept(v.aws, by), bundle.DialerFunc(func(c roll.Cluster) (*kube.Client, error) {
		client, err := v.kube.Dial(c)
		if err != nil {
			return nil, err
		}
		return client.Behind(first), nil
	}), o)
}

// AWS returns the configuration of the clients that read the account or the bundle.
func (v *View) AWS() aws.Config { return v.aws }

// Dial returns a client that reads the cluster.
func (v *View) Dial(c roll.Cluster) (*kube.Client, error) { return v.kube.Dial(c) }

// Check diagnoses the findings of a check.
func (v *View) Check(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
	q := v.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: state}, record)
	if !record || v.options.Store == nil {
		return q.Diagnoses, nil
	}
	return q.Diagnoses, func(ctx context.Context, c report.Check, f roll.Finding, firstSeen time.Time) (string, error) {
		key := archive.Key{Cluster: c.Snapshot.Cluster.ID, Instance: f.Instance, Kind: f.Kind, At: firstSeen, Stage: warned(c.Findings())}
		return keep(ctx, q, key, c.Document())
	}
}

// warned returns the stage of the evidence kept for a check with these findings. Several findings
// are identified by their set: if a check died before it recorded what it kept, the next one may
// have more to keep, and kept evidence is never overwritten.
func warned(findings []roll.Finding) string {
	if len(findings) == 1 {
		return archive.StageWarned
	}
	keys := roll.Map(findings, func(f roll.Finding) string { return string(f.Instance) + " " + string(f.Kind) })
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, "\n")))
	return archive.StageWarned + "-" + hex.EncodeToString(sum[:8])
}

func keep(ctx context.Context, q *Inquiry, key archive.Key, doc report.Document) (string, error) {
	ctx, cancel := deadline.In(ctx, KeepTime)
	defer cancel()
	return q.Keep(ctx, key, doc)
}

// Explain diagnoses findings for a person, including those that still have time.
func (v *View) Explain(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State, _ bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
	return v.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: state, Whole: true, Remembered: v.remembered}, false).Diagnoses, nil
}

// Act diagnoses findings before an act.
func (v *View) Act(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State) (map[roll.FindingKey]roll.Diagnosis, remediate.Keep) {
	asking, cancel := deadline.In(ctx, WhyTime)
	defer cancel()
	q := v.Inquire(asking, collect.Input{Snapshot: s, Findings: findings, State: state}, true)
	return q.Diagnoses, func(ctx context.Context, o plan.Order, seen remediate.Seen) (string, error) {
		// All tries for one order share one place. The order's own time differs with each check.
		key := archive.Key{Cluster: o.ClusterID, Instance: o.Instance, Kind: o.Kind, At: o.FirstSeen, Stage: o.ID}
		doc := report.Check{Snapshot: seen.Snapshot, Assessment: seen.Assessment, Diagnoses: seen.Diagnoses, Plan: seen.Plan}.Document()
		return keep(ctx, q, key, doc)
	}
}
