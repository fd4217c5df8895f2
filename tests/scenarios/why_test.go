package scenarios

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/archive"
	"rollcall/shared/collect"
	"rollcall/shared/inquiry"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/shared/run"
)

// inquirer makes what finds out why with the rights of one role.
func (d *deployment) inquirer(cfg aws.Config, dialer *kube.Dialer) *inquiry.Inquirer {
	return inquiry.New(inquiry.Options{
		AWS: cfg, Kube: dialer, Principal: principal, Store: archive.NewDir(d.dir),
	})
}

// why finds out why for a check, where the scenario asks for it.
func (d *deployment) why(cfg aws.Config, dialer *kube.Dialer) run.Why {
	if !d.diagnose {
		return nil
	}
	inquirer := d.inquirer(cfg, dialer)
	return func(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
		q := inquirer.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: state}, record)
		if !record {
			return q.Diagnoses, nil
		}
		return q.Diagnoses, func(ctx context.Context, c report.Check, f roll.Finding, firstSeen time.Time) (string, error) {
			link, err := q.Keep(ctx, archive.Key{Cluster: s.Cluster.ID, Instance: f.Instance, Kind: f.Kind, At: firstSeen, Stage: archive.StageWarned}, c.Document())
			return link.URI, err
		}
	}
}

// whyAct finds out why before an act. Where the scenario does not ask for it, nothing is found out, and what is kept as
// evidence is the order alone: without any, nothing would be done.
func (d *deployment) whyAct(cfg aws.Config, dialer *kube.Dialer) remediate.Why {
	if !d.diagnose {
		return func(context.Context, *roll.Snapshot, []roll.Finding, ledger.State) (map[roll.FindingKey]roll.Diagnosis, remediate.Keep) {
			return nil, func(_ context.Context, o plan.Order, _ remediate.Seen) (string, error) {
				name := filepath.Join(d.dir, "order-"+o.ID)
				return name, os.WriteFile(name, []byte(o.Why), 0o600)
			}
		}
	}
	inquirer := d.inquirer(cfg, dialer)
	return func(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State) (map[roll.FindingKey]roll.Diagnosis, remediate.Keep) {
		q := inquirer.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: state}, true)
		return q.Diagnoses, func(ctx context.Context, o plan.Order, seen remediate.Seen) (string, error) {
			doc := report.Check{Snapshot: seen.Snapshot, Assessment: seen.Assessment, Diagnoses: seen.Diagnoses, Plan: seen.Plan}.Document()
			link, err := q.Keep(ctx, archive.Key{Cluster: o.Cluster, Instance: o.Instance, Kind: o.Kind, At: o.FirstSeen, Stage: o.ID}, doc)
			return link.URI, err
		}
	}
}
