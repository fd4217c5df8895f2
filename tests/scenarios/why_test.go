package scenarios

import (
	"context"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/kube"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/view"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
)

// view is what one role sees, and the place where evidence is kept.
func (d *deployment) view(cfg aws.Config, dialer *kube.Dialer) *view.View {
	return view.New(cfg, dialer, view.Options{Principal: principal, Store: archive.NewDir(d.dir)})
}

// why finds out why for a check, where the scenario asks for it.
func (d *deployment) why(cfg aws.Config, dialer *kube.Dialer) run.Why {
	if !d.diagnose {
		return nil
	}
	return d.view(cfg, dialer).Check
}

// whyAct finds out why before an act. Where the scenario does not ask for it, nothing is found out, and what is kept as
// evidence is the order alone: without any, nothing would be done.
func (d *deployment) whyAct(cfg aws.Config, dialer *kube.Dialer) remediate.Why {
	if d.diagnose {
		return d.view(cfg, dialer).Act
	}
	return func(context.Context, *roll.Snapshot, []roll.Finding, ledger.State) (map[roll.FindingKey]roll.Diagnosis, remediate.Keep) {
		return nil, func(_ context.Context, o plan.Order, _ remediate.Seen) (string, error) {
			name := filepath.Join(d.dir, "order-"+o.ID)
			return name, os.WriteFile(name, []byte(o.Why), 0o600)
		}
	}
}
