// Package approve implements the function that records the approval of an order. Only a chat's
// button invokes it.
package approve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// Approver records the approvals of a chat.
type Approver struct {
	ambient.Ambient
	Ledger ledger.OfClusters
}

// Request is the payload of the button.
type Request struct {
	Order string `json:"order"` // id of the order to approve
}

// member is recorded as the person who approved: Amazon Q Developer invokes the function with the
// role of the channel, and does not report who pressed the button.
const member = "a member of the chat channel"

// Handle approves an order, and returns the answer for the channel. An order that may not be approved
// is an answer too: invoking again would not help.
func (h *Approver) Handle(ctx context.Context, r Request) (string, error) {
	defer h.Spent()
	here, err := home(ctx)
	if err != nil {
		return "", err
	}
	order := strings.TrimSpace(r.Order)
	c, q, err := ledger.ApproveAnywhere(ctx, h.Ledger, here.AccountID, here.Region, order, ledger.Approval{By: member, How: ledger.WayChat, At: h.Clock().UTC()})
	log := h.Log.With("cluster", c.Name, "order", q.Order, "instance", q.Instance)
	switch {
	case err == nil:
		log.Info("approved", "by", member)
		return fmt.Sprintf("Approved: %s of %s%s in %s, order %s. Rollcall looks again, and acts with the next check if nothing changed.", strings.Join(q.Acts, ", "), q.Instance, roll.Behind(", node ", q.Node), c.Name, q.Order), nil
	case !refused(err):
		log.Error("approval failed", "error", err.Error())
		return "", fmt.Errorf("nothing was approved: %w", err)
	}
	log.Warn("not approved", "detail", err.Error())
	return fmt.Sprintf("Not approved: %v. Nothing was changed.", err), nil
}

// refused reports whether an error means that the order may not be approved.
func refused(err error) bool {
	return slices.ContainsFunc([]error{ledger.ErrNotAsked, ledger.ErrOver, ledger.ErrActed, ledger.ErrApproved, ledger.ErrTooLate}, func(no error) bool { return errors.Is(err, no) })
}

// home returns the account and region of the function: those of its clusters.
func home(ctx context.Context) (arn.ARN, error) {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return arn.ARN{}, errors.New("the invocation names no function, and so no account and region")
	}
	return arn.Parse(lc.InvokedFunctionArn)
}
