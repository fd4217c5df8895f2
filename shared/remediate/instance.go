package remediate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
)

// terminate terminates the instance; its owner launches a replacement.
func (r *Remediator) terminate(ctx context.Context, v verified, now time.Time) Outcome {
	_, err := r.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{string(v.order.Instance)}})
	if err == nil {
		return Outcome{Result: Acted, Detail: fmt.Sprintf("terminated %s%s", v.order.Instance, plan.Left(v.seen.Snapshot, v.order.Instance))}
	}
	return r.ec2Refused(ctx, v, err, "ec2:TerminateInstances", now)
}

// reboot asks EC2 to reboot the instance. EC2 only queues the request, and forces the reboot
// of an instance that does not shut down within a few minutes:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RebootInstances.html.
// The SDK must not retry: unlike a termination, two requests may be two reboots.
func (r *Remediator) reboot(ctx context.Context, v verified, now time.Time) Outcome {
	_, err := r.EC2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{string(v.order.Instance)}},
		func(o *ec2.Options) { o.RetryMaxAttempts = 1 })
	if err == nil {
		return Outcome{Result: Acted, Detail: fmt.Sprintf("rebooted %s", v.order.Instance)}
	}
	return r.ec2Refused(ctx, v, err, "ec2:RebootInstances", now)
}

// ec2Refused returns the outcome of an error of EC2: nothing happened, or the effect is
// unknown.
func (r *Remediator) ec2Refused(ctx context.Context, v verified, err error, call string, now time.Time) Outcome {
	out := Outcome{Detail: awserr.Describe(err, call, r.Principal(ctx))}
	// Only the first refusal may be due to a new tag: a missing permission must be reported.
	newTag := !v.tried && now.Sub(v.ordered) < plan.TagSettles
	switch {
	case awserr.IsDenied(err) && newTag:
		out.Result = Failed
		out.Detail = ledger.NotYet + out.Detail + " (EC2 may not show the order's tag to its permission check yet)"
	case awserr.IsThrottled(err) && v.order.Action == plan.Reboot: // it was sent once only, so it had no effect
		out.Result, out.Detail = Failed, ledger.NotYet+unadvised(out.Detail)
	// Not for throttling: it may have met the retry of a call that took effect.
	case awserr.IsTerminationProtected(err), awserr.IsIncorrectState(err), awserr.IsDenied(err), awserr.IsNotFound(err),
		awserr.IsNoCredentials(err), awserr.IsBadCredentials(err), awserr.IsExpiredCredentials(err):
		out.Result = Failed
	default:
		out.Result = Unclear
		out.Detail = unclear(out.Detail, "the instance")
	}
	return out
}

// unclear ends a sentence about a call with unknown effect.
func unclear(detail, where string) string {
	return unadvised(detail) + "; a later check will see from " + where + " whether it took effect; until then it is not repeated"
}

// unadvised removes the advice to wait for the next check from a sentence.
func unadvised(detail string) string {
	reason, _, _ := strings.Cut(detail, ": the next check tries again")
	return reason
}
