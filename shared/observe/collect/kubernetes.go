package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/roll"
)

// The maximum number of questions to the Kubernetes API per check, 62 in all:
//
//	1 aws-auth, 1 webhooks, 1 disruption budgets, 1 DaemonSets, 4 services, 5 events of NodeClaims, 4 events of pods,
//	4 node pools with their NodeClaims and NodeClasses (12),
//	8 nodes with their leases, events and pods (32)
const (
	servicesTotal    = 4
	claimEventsTotal = 5
	podEventsTotal   = 4
	poolsTotal       = 4
	nodesTotal       = 8
)

// downSince returns why the API server answers no question, as the snapshot shows; "" if it may.
func downSince(s *roll.Snapshot) string {
	for _, g := range s.Gaps {
		if unreachable(g.Kind) && (g.Scope == roll.ScopeNodes || g.Scope == roll.ScopeCluster) {
			return g.Detail
		}
	}
	return ""
}

// unreachable reports whether the gap may affect every question. Waiting for each would take as
// long as a request may take.
func unreachable(kind roll.GapKind) bool {
	return slices.Contains([]roll.GapKind{roll.GapClusterUnreachable, roll.GapUnauthorized, roll.GapTimeout, roll.GapClusterGone}, kind)
}

// topic is a kind of question that one task asks repeatedly.
type topic struct {
	l    *look
	over string // why no more such questions are asked
}

func (l *look) topic() *topic { return &topic{l: l} }

// read asks one question and returns the objects of the answer. gone reports whether the object
// does not exist, or the cluster does not serve its kind.
func (t *topic) read(q kube.Question) (objects []*kube.Item, gone bool, why string) {
	if why := t.why(q); why != "" {
		return nil, false, why
	}
	objects, err := t.ask(q)
	switch {
	case err == nil:
		return objects, false, ""
	case errors.Is(err, kube.ErrGone), errors.Is(err, kube.ErrNoNodeClaims), errors.Is(err, kube.ErrNoEC2NodeClasses):
		return nil, true, ""
	}
	kind, why := kube.Fault(t.l.in.Snapshot.Cluster, err, t.l.Principal(t.l.ctx))
	t.l.unread(why, kind.Passing())
	switch {
	case unreachable(kind):
		t.l.noAnswer(q, kind, err, why)
	case kind == roll.GapDenied || kind == roll.GapThrottled:
		t.over = why
	}
	return nil, false, why
}

// noAnswer notes that the API server did not answer a question, so that nobody waits for the same again. Without an
// answer about a second kind, or if it refused the caller, it is asked nothing more. The first may only have taken too
// long, as a listing of all events does; an internal error concerns one kind, and for a custom resource the API server
// may wait for a conversion webhook.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
// https://github.com/awslabs/cdk-eks-blueprints/issues/1067
func (l *look) noAnswer(q kube.Question, kind roll.GapKind, err error, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := q.Kinds()[0]
	l.silent[of] = why
	switch {
	case kind != roll.GapClusterUnreachable:
		l.down = why
	case q.Custom() || kube.IsInternalError(err):
	case l.waited != "" && l.waited != of:
		l.down = why
	default:
		l.waited = of
	}
}

func (t *topic) ask(q kube.Question) ([]*kube.Item, error) {
	client, err := t.l.dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := deadline.In(t.l.ctx, callTime)
	defer cancel()
	return client.Read(ctx, q)
}

// why returns why the question is not asked, "" if it is.
func (t *topic) why(q kube.Question) string {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	return cmp.Or(t.l.down, t.over, t.l.silent[q.Kinds()[0]])
}

// object reads and decodes one object; Absent if it does not exist.
func object[J, V any](t *topic, q kube.Question, project func(*J) V) evidence.Fact[V] {
	return evidence.Then(items(t, q, project), func(all []V) evidence.Fact[V] { return evidence.Read(all[0]) })
}

func items[J, V any](t *topic, q kube.Question, project func(*J) V) evidence.Fact[[]V] {
	objects, gone, why := t.read(q)
	switch {
	case gone:
		return evidence.None[[]V]()
	case why != "":
		return evidence.Failed[[]V](why)
	}
	out := make([]V, 0, len(objects))
	for _, o := range objects {
		j, err := kube.Decode[J](o)
		if err != nil {
			return evidence.Failed[[]V](fmt.Sprintf("kubernetes: %s: the answer is not what it should be: %v", q, err))
		}
		out = append(out, project(j))
	}
	return evidence.Read(out)
}
