package bundle

import (
	"context"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/observe/apistats"
)

// AWS returns a configuration whose clients' calls about the captured cluster are recorded. What is
// recorded has no terminated instances and no names of other clusters.
func (r *Recorder) AWS(cfg aws.Config) aws.Config {
	return apistats.Intercept(cfg, func(ctx context.Context, in any, next apistats.Call) (any, error) {
		out, err := next(ctx, in)
		r.mu.Lock()
		defer r.mu.Unlock()
		o := operations[reflect.TypeOf(in)]
		whole := o.whole != nil && o.whole(in)
		switch {
		case err == nil && o.record != nil:
			o.record(r.c, in, out)
		case err != nil && whole && !awserr.IsNotFound(err):
			r.torn[o.file] = awserr.Describe(err, apistats.Action(ctx), "")
		case err != nil && whole && o.file == fileNodeGroups: // a missing group is an answer too
			r.c.nodeGroups().held = true
		}
		return out, err
	})
}
