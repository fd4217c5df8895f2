package apistats

import (
	"context"
	"errors"
	"net/http"
	"path"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
)

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
