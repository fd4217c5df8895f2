package apistats

import (
	"context"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Call performs an AWS API call. Its input and output are the SDK's, such as
// *ec2.DescribeInstancesInput and *ec2.DescribeInstancesOutput.
type Call func(ctx context.Context, in any) (out any, err error)

// Interceptor intercepts the calls of AWS clients. It passes a call to next, with its retries, or
// answers it.
type Interceptor func(ctx context.Context, in any, next Call) (out any, err error)

// Intercept returns a configuration whose clients' calls go through the interceptor first, and then
// through those already in the configuration.
func Intercept(cfg aws.Config, by Interceptor) aws.Config {
	step := middleware.InitializeMiddlewareFunc("RollcallIntercept", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
		out.Result, err = by(ctx, in.Parameters, func(ctx context.Context, in any) (any, error) {
			var answer middleware.InitializeOutput
			answer, metadata, err = next.HandleInitialize(ctx, middleware.InitializeInput{Parameters: in})
			return answer.Result, err
		})
		return out, metadata, err
	})
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), func(stack *middleware.Stack) error {
		return stack.Initialize.Add(step, middleware.Before)
	})
	if next, answered := cfg.HTTPClient.(answer); answered {
		cfg.HTTPClient = answer(func(ctx context.Context, in any) (any, error) { return by(ctx, in, Call(next)) })
	}
	return cfg
}

// Action returns the action of an intercepted call, as in an IAM policy: such as
// ec2:DescribeInstances.
func Action(ctx context.Context) string {
	return service(ctx) + ":" + awsmiddleware.GetOperationName(ctx)
}

// Methods returns an interceptor that answers calls with methods of simulated clients, which have
// the same signatures as the SDK clients'. It passes on a call whose input none of them takes.
func Methods(clients ...any) Interceptor {
	methods := map[reflect.Type]reflect.Value{}
	for _, c := range clients {
		v := reflect.ValueOf(c)
		for i := range v.NumMethod() {
			if m := v.Method(i); m.Type().NumIn() == 3 && m.Type().IsVariadic() {
				methods[m.Type().In(1)] = m
			}
		}
	}
	return func(ctx context.Context, in any, next Call) (any, error) {
		m, ok := methods[reflect.TypeOf(in)]
		if !ok {
			return next(ctx, in)
		}
		answer := m.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(in)})
		err, _ := answer[1].Interface().(error)
		return answer[0].Interface(), err
	}
}
