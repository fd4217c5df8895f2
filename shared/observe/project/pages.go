package project

import (
	"context"
	"reflect"
)

// Method is a method of an SDK client, such as DescribeSubnets of *ec2.Client.
type Method[I, O, F any] = func(context.Context, *I, ...func(*F)) (*O, error)

// EachPage calls a method page by page and passes each page to read.
func EachPage[I, O, F any](ctx context.Context, call Method[I, O, F], in *I, read func(*O)) error {
	for {
		out, err := call(ctx, in)
		if err != nil {
			return err
		}
		read(out)
		if !TurnPage(in, out) {
			return nil
		}
	}
}

// TurnPage sets the input of a listing to the page after the output's. It reports whether there is
// one.
func TurnPage(in, out any) bool {
	for _, field := range []string{"NextToken", "Marker"} {
		token, next := reflect.ValueOf(in).Elem().FieldByName(field), reflect.ValueOf(out).Elem().FieldByName(field)
		if token.IsValid() && next.IsValid() {
			token.Set(next)
			return !next.IsNil() && next.Elem().String() != ""
		}
	}
	return false
}
