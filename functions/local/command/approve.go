package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

func approveCommand(env Environment) *cobra.Command {
	var f stackFlags
	c := &cobra.Command{
		Use:   "approve ORDER",
		Short: "Approve the acts that a notice of a deployment asks for",
		Long: `Approves the acts after an approve step of a ladder. ORDER is in the notice that asks
for the approval. The command only writes the approval, with the time and the ARN of your
credentials, into the ledger of the deployment.

The next check, usually within five minutes, orders the first act. remediate verifies it again,
and every limit still applies. An approval is only for this fault of this instance, and the first
act must begin before the time to approve is over. The tag rollcall:approve=ORDER on the instance
does the same.

It needs cloudformation:DescribeStacks, sts:GetCallerIdentity, and dynamodb:Query and
dynamodb:PutItem on the ledger table, and the use of its key if that is customer managed.

Exit codes: 0 the acts are approved; 1 nothing was written: the order is unknown, its time is
over, it was approved or carried out before, or the ledger could not be read or written.`,
		Example: "  rollcall approve 0123456789abcdef --stack rollcall",
		Args:    arguments(1, 1, "an ORDER, which the notice names"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runApprove(cmd.Context(), env, f, args[0]) },
	}
	f.add(c, time.Minute)
	return c
}

func runApprove(ctx context.Context, env Environment, f stackFlags, order string) error {
	return f.run(ctx, env, func(ctx context.Context, p *progress, a *account) error {
		p.say("reading the stack")
		d, err := a.deployment(ctx, f.stack)
		if err != nil {
			return err
		}
		who := a.principal(ctx)
		if who == "" {
			return errors.New("nothing was approved: who you are could not be read, and the approval records it (sts:GetCallerIdentity)")
		}
		p.say("reading the ledger")
		table := ledger.NewDynamo(dynamodb.NewFromConfig(a.cfg), d.settings.Table)
		told, err := approve(ctx, table, d, order, ledger.Approval{By: who, How: ledger.WayCommand, At: env.Now().UTC()})
		p.clear()
		return errors.Join(told.print(env, f.output), err)
	})
}

// approval is what was approved, or was not, for a person and as JSON.
type approval struct {
	Approved bool                   `json:"approved"`
	Cluster  string                 `json:"cluster"`
	Question ledger.ApprovalRequest `json:"question"`
	Approval *ledger.Approval       `json:"approval,omitempty"` // what was written
}

// approve approves an order, in the cluster of the deployment that asks for it.
func approve(ctx context.Context, m ledger.OfClusters, d deployment, order string, a ledger.Approval) (approval, error) {
	c, q, err := ledger.ApproveAnywhere(ctx, m, d.account, d.region, order, a)
	told := approval{Cluster: c.Name, Question: q}
	switch {
	case err == nil:
		told.Approved, told.Approval = true, &a
		return told, nil
	case errors.Is(err, ledger.ErrNotAsked):
		return told, fmt.Errorf("nothing was approved: of order %q: %w; the notice names the order and its stack, and this is stack %s in %s", order, err, d.stack, d.region)
	case q.Order == "":
		return told, fmt.Errorf("nothing was approved: the ledger of stack %s, table %s: %s", d.stack, d.settings.Table, awserr.Describe(err, "dynamodb:Query", a.By))
	case errors.Is(err, ledger.ErrOver), errors.Is(err, ledger.ErrActed), errors.Is(err, ledger.ErrApproved), errors.Is(err, ledger.ErrTooLate):
		return told, fmt.Errorf("nothing was approved now: %w", err)
	}
	return told, fmt.Errorf("it is not known whether it was approved, run this again: the ledger of stack %s, table %s: %s", d.stack, d.settings.Table, awserr.Describe(err, "dynamodb:PutItem", a.By))
}

func (a approval) print(env Environment, form form) error {
	q := a.Question
	switch {
	case q.Order == "":
		return nil
	case form.data():
		return form.print(env.Stdout, a)
	}
	var b strings.Builder
	headline := "not approved: nothing was written"
	if a.Approved {
		headline = "approved: the next check orders " + q.Acts[0] + ", and remediate looks again before it acts"
	}
	fields := [][2]string{
		{"acts", strings.Join(q.Acts, ", ")}, {"instance", string(q.Instance)}, {"node", q.Node}, {"group", string(q.Group)}, {"cluster", a.Cluster},
		{"finding", string(q.Kind)}, {"cause", q.Cause}, {"why", q.Why}, {"order", q.Order}, {"asked", roll.Clock(q.At)}, {"until", roll.Clock(q.Until)},
	}
	if a.Approval != nil {
		fields = append(fields, [2]string{"by", a.Approval.By})
	}
	sheet(&b, headline, fields)
	_, err := io.WriteString(env.Stdout, b.String())
	return ofFlag("print", err)
}
