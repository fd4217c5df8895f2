package apistats

import (
	"context"
	"errors"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
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

// answer is the HTTP client of a configuration whose calls interceptors answer. [Direct] calls them
// without it.
type answer Call

// Do implements aws.HTTPClient.
func (answer) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("an answered call was sent")
}

// Answered returns a configuration all of whose calls the interceptor answers.
func Answered(region string, by Interceptor) aws.Config {
	return Intercept(aws.Config{Region: region, HTTPClient: answer(nil)}, by)
}

// Direct returns a method that behaves like the given method of an SDK client of the configuration.
// If interceptors answer all calls, it calls them directly, because the SDK's preparation of a
// request takes longer than their answer.
func Direct[I, O, F any](cfg *aws.Config, method func(context.Context, *I, ...func(*F)) (*O, error)) func(context.Context, *I, ...func(*F)) (*O, error) {
	ask, answered := cfg.HTTPClient.(answer)
	if !answered {
		return method
	}
	t := reflect.TypeFor[I]()
	service, operation := packages[path.Base(t.PkgPath())], strings.TrimSuffix(t.Name(), "Input")
	return func(ctx context.Context, in *I, _ ...func(*F)) (*O, error) {
		out, err := ask(awsmiddleware.SetOperationName(awsmiddleware.SetServiceID(ctx, service), operation), in)
		if err != nil {
			return nil, &smithy.OperationError{ServiceID: service, OperationName: operation, Err: err}
		}
		return out.(*O), nil
	}
}

// packages maps the packages of SDK clients to the names that their clients use.
var packages = func() map[string]string {
	out := map[string]string{}
	for id := range names {
		out[strings.ToLower(strings.ReplaceAll(id, " ", ""))] = id
	}
	return out
}()
