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

// view returns a role's view of the cluster, and of the place where evidence is kept.
func (d *deployment) view(cfg aws.Config, dialer *kube.Dialer) *view.View {
	return view.New(cfg, dialer, view.Options{Principal: principal, Store: archive.NewDir(d.dir)})
}

// why returns how a check finds causes, if the scenario asks for it.
func (d *deployment) why(cfg aws.Config, dialer *kube.Dialer) run.Why {
	if !d.diagnose {
		return nil
	}
	return d.view(cfg, dialer).Check
}

// whyAct returns how causes are found before an act. If the scenario does not ask for it, no cause is sought, and the
// evidence is the order alone: without evidence, nothing would be done.
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
