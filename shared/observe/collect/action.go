package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/evidence"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/observe/project"
)

// action is an AWS action that one task calls repeatedly.
type action struct {
	l    *look
	name string // such as iam:GetRole
	over string // why it is no longer called, "" while it is
	// extra reports whether a failure counts as nothing unread: no act is held for it.
	extra bool
}

func (l *look) action(name string) *action { return &action{l: l, name: name} }

// secret returns an action whose answers may hold secrets. With WithoutSecrets no call is made, and
// what it would have read is not checked.
func (l *look) secret(name string) *action {
	a := l.action(name)
	if l.WithoutSecrets {
		a.over = name + " is not called: its answer may hold secrets (ReadConsoleAndUserData is false)"
	}
	return a
}

// outcome is the result of a call: err is nil if it succeeded.
type outcome struct {
	err  error
	gone bool   // the requested object does not exist
	why  string // the reason of the failure, for people
}

// ask makes one call, unless an earlier call failed with an error that would affect every call.
func ask[I, O, F any](a *action, call project.Method[I, O, F], in *I) (*O, outcome) {
	return try(a, func(ctx context.Context) (*O, error) { return apistats.Direct(&a.l.AWS, call)(ctx, in) })
}

// try makes one or more calls of the action within the time limit of one.
func try[T any](a *action, call func(context.Context) (T, error)) (answer T, end outcome) {
	if a.over != "" {
		return answer, outcome{err: errors.New(a.over), why: a.over}
	}
	ctx, cancel := deadline.In(a.l.ctx, callTime)
	defer cancel()
	answer, err := call(ctx)
	if err == nil {
		return answer, outcome{}
	}
	end = outcome{err: err, gone: awserr.IsNotFound(err), why: awserr.Describe(err, a.name, a.l.Principal(a.l.ctx))}
	if !end.gone && !a.extra {
		a.l.unread(end.why, awserr.IsThrottled(err) || awserr.IsTimeout(err) || awserr.IsUnreachable(err) || a.l.ctx.Err() != nil)
	}
	if general(err) || a.l.ctx.Err() != nil {
		a.over = end.why
	}
	return answer, end
}

func (l *look) unread(why string, passing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ev.Unread[why] = passing
}

// hollow returns a fact that could not be read, because a field that is always in the answer is
// missing.
func hollow[V any](l *look, why string) evidence.Fact[V] {
	l.unread(why, false)
	return evidence.Failed[V](why)
}

// general reports whether an error does not depend on the requested object, so that the next call
// would fail too.
func general(err error) bool {
	return awserr.IsDenied(err) || awserr.IsThrottled(err) || awserr.IsTimeout(err) || errors.Is(err, context.Canceled) ||
		awserr.IsNoCredentials(err) || awserr.IsExpiredCredentials(err) || awserr.IsBadCredentials(err) || awserr.IsUnreachable(err)
}

func one[I, O, F, V any](a *action, call project.Method[I, O, F], in *I, read func(*O) evidence.Fact[V]) evidence.Fact[V] {
	out, end := ask(a, call, in)
	switch {
	case end.gone:
		return evidence.None[V]()
	case end.err != nil:
		return evidence.Failed[V](end.why)
	}
	return read(out)
}

// part reads the part of an answer that holds the object of that name. It is in every answer.
func part[I, O, F, T, V any](a *action, name string, call project.Method[I, O, F], in *I, of func(*O) *T, read func(*T) V) evidence.Fact[V] {
	return one(a, call, in, func(out *O) evidence.Fact[V] {
		if of(out) == nil {
			return hollow[V](a.l, a.name+" of "+name+": the answer holds none")
		}
		return evidence.Read(read(of(out)))
	})
}

// maxPages bounds a listing of unknown length.
const maxPages = 10

// pages requests page after page until there is no next one.
func pages[I, O, F, T any](a *action, most int, call project.Method[I, O, F], in *I, items func(*O) []T) ([]T, outcome) {
	var all []T
	for range most {
		out, end := ask(a, call, in)
		if end.err != nil {
			return nil, end
		}
		all = append(all, items(out)...)
		if !project.TurnPage(in, out) {
			return all, outcome{}
		}
	}
	why := a.name + " has more pages than are read for one diagnosis"
	return nil, outcome{err: errors.New(why), why: why}
}

// lookupTries bounds how often a lookup is repeated without the ids that EC2 does not know: it may
// name only some of them at a time.
const lookupTries = 10

// byID reads objects by id, size of them at a time. EC2 rejects a whole request for one unknown id,
// so that id is dropped and the request is repeated. An object that EC2 neither rejects nor returns
// is gone too, such as an AMI that was deregistered some time ago.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeImages.html
func byID[I, O, F, T, V any](a *action, ids []string, size int, call project.Method[I, O, F], in func(ids []string) *I, list func(*O) []T, id func(*T) *string, read func(*T) V) map[string]evidence.Fact[V] {
	facts := map[string]evidence.Fact[V]{}
	for batch := range slices.Chunk(ids, size) {
		maps.Copy(facts, lookUp(a, batch, call, in, list, id, read))
	}
	return facts
}

func lookUp[I, O, F, T, V any](a *action, ids []string, call project.Method[I, O, F], in func(ids []string) *I, list func(*O) []T, id func(*T) *string, read func(*T) V) map[string]evidence.Fact[V] {
	facts := map[string]evidence.Fact[V]{}
	left := slices.Clone(ids)
	for range lookupTries {
		found := map[string]V{}
		_, end := try(a, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, project.EachPage(ctx, apistats.Direct(&a.l.AWS, call), in(slices.Clone(left)), func(out *O) {
				things := list(out)
				for i := range things {
					found[aws.ToString(id(&things[i]))] = read(&things[i])
				}
			})
		})
		named := named(end.err, left)
		switch {
		case end.err == nil:
			for _, id := range left {
				facts[id] = evidence.None[V]()
				if v, ok := found[id]; ok {
					facts[id] = evidence.Read(v)
				}
			}
			return facts
		case len(left) > 1 && a.over == "" && (end.gone && len(named) == 0 || !end.gone && a.l.Free):
			// The error does not name the id, or one of them is missing in a bundle.
			maps.Copy(facts, byID(a, left, 1, call, in, list, id, read))
			return facts
		case !end.gone || a.over != "":
			for _, id := range left {
				facts[id] = evidence.Failed[V](end.why)
			}
			return facts
		case len(left) == 1:
			named = left
		}
		for _, id := range named {
			facts[id] = evidence.None[V]()
		}
		left = slices.DeleteFunc(left, func(id string) bool { return slices.Contains(named, id) })
		if len(left) == 0 {
			return facts
		}
	}
	for _, id := range left {
		facts[id] = evidence.Failed[V](a.name + " named more and more ids that do not exist, and was given up")
	}
	return facts
}

// named returns those of the ids that the error reports as nonexistent.
func named(err error, ids []string) []string {
	missing := awserr.MissingIDs(err)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(missing, id) })
}

// describedSize is how many ids one call names. A few hundred keep the request short enough for
// every proxy.
const describedSize = 200

// describe describes objects by id, each once and total at most. what are they, in the reason for the others.
func describe[I, O, F, T, V any](l *look, into map[string]evidence.Fact[V], name string, total int, what string, ids []string, call project.Method[I, O, F], in func(ids []string) *I, list func(*O) []T, id func(*T) *string, read func(*T) V) {
	ids, left := first(distinct(ids), l.most(total))
	maps.Copy(into, byID(l.action(name), ids, min(total, describedSize), call, in, list, id, read))
	skip(into, left, fmt.Sprintf("%d %s are described per check, the most urgent first", total, what))
}

// skip marks the ids beyond a limit.
func skip[V any](facts map[string]evidence.Fact[V], ids []string, why string) {
	for _, id := range ids {
		facts[id] = evidence.Skipped[V](why)
	}
}
