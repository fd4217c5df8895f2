package kube

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const principal = "arn:aws:sts::111122223333:assumed-role/inspect/demo"

func TestFaultSaysWhatHappenedAndWhatToDo(t *testing.T) {
	const user = `nodes is forbidden: User "arn:aws:iam::111122223333:role/inspect" cannot list resource "nodes" in API group "" at the cluster scope`
	tests := map[string]struct {
		spoil func(*apiServer)
		kind  roll.GapKind
		text  string // URL is replaced by the endpoint
	}{
		"401": {
			refuses(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"), roll.GapUnauthorized,
			"the Kubernetes API of demo refused the token of " + principal + " (401 Unauthorized): the cluster has no access entry or aws-auth mapping for it (see infra/README.md), or STS did not confirm the token: its credentials have expired, STS is throttled or fails, or is off in the region",
		},
		"403": {
			refuses(http.StatusForbidden, metav1.StatusReasonForbidden, user), roll.GapDenied,
			"the Kubernetes API of demo knows " + principal + " but does not let it list nodes: apply infra/rbac.yaml and give it the group rollcall:viewers (" + user + ")",
		},
		"410 twice": {
			refuses(http.StatusGone, metav1.StatusReasonExpired, "too old"), roll.GapFailed,
			"the Kubernetes API of demo dropped the listing of nodes twice (410 Gone): the next check tries again",
		},
		"422": {
			refuses(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "limit is invalid"), roll.GapFailed,
			"the listing of nodes of demo failed: limit is invalid",
		},
		"429": {
			refuses(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down"), roll.GapThrottled,
			"the Kubernetes API of demo turned the listing of nodes away as too much (429): the next check tries again",
		},
		"500": {
			refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: request timed out"), roll.GapClusterUnreachable,
			"the Kubernetes API of demo at URL did not answer: etcdserver: request timed out",
		},
		"503": {
			refuses(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "apiserver not ready"), roll.GapClusterUnreachable,
			"the Kubernetes API of demo at URL did not answer: apiserver not ready",
		},
		"a proxy's 502": {
			answers(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusBadGateway)
				_, _ = w.Write([]byte("<html>bad gateway</html>"))
			}), roll.GapClusterUnreachable, "",
		},
		"no answer within the deadline": {
			answers(hang), roll.GapClusterUnreachable,
			"the Kubernetes API of demo at URL did not answer in time: is its endpoint reachable from here (private endpoint, publicAccessCidrs, proxy)?",
		},
		"connection refused": {
			func(s *apiServer) { s.Close() }, roll.GapClusterUnreachable,
			"the Kubernetes API of demo at URL did not answer: connection refused",
		},
		"a CA that did not sign its certificate": {
			func(*apiServer) {}, roll.GapClusterUnreachable,
			"the Kubernetes API of demo at URL did not answer: x509: certificate signed by unknown authority",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t, manyNodes(1)...)
			cluster, ctx := s.cluster(), t.Context()
			switch {
			case strings.HasPrefix(name, "a CA"):
				cluster.CA = otherCA(t)
			case strings.HasSuffix(name, "the deadline"):
				ended, cancel := contextFor(t, 100*time.Millisecond)
				defer cancel()
				ctx = ended
			}
			tt.spoil(s)
			err := listWithToken(t, ctx, tokensOf(staticKeys), cluster)
			must.That(t, err != nil, "the listing went well")
			kind, text := Fault(cluster, err, principal)
			want := strings.ReplaceAll(tt.text, "URL", s.URL)
			expect.That(t, kind == tt.kind && (tt.text == "" || text == want), "got %s\n     %s\nwant %s\n     %s", kind, text, tt.kind, want)
			for _, told := range []string{err.Error(), text} {
				expect.That(t, !strings.Contains(told, "k8s-aws-v1") && !strings.Contains(told, "Bearer") && !strings.Contains(told, "X-Amz"), "the token is told: %s", told)
			}
		})
	}
}

// answers makes the server answer every request in that way, refuses with that Status.
func answers(all http.HandlerFunc) func(*apiServer) {
	return func(s *apiServer) { s.answer[0] = all }
}

func refuses(code int, reason metav1.StatusReason, message string) func(*apiServer) {
	return func(s *apiServer) { s.answer[0] = s.refuse(code, reason, message) }
}

func TestFaultWithoutAPrincipalIsStillASentence(t *testing.T) {
	s := newAPIServer(t)
	s.answer[0] = s.refuse(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
	_, _, err := list(t, s.client(t))
	_, text := Fault(s.cluster(), err, "")
	expect.That(t, strings.HasPrefix(text, "the Kubernetes API of demo refused the token of the caller (401 Unauthorized)"), "got %s", text)
}

// If no token could be signed, no request reached the API server. Its endpoint is not at fault.
func TestFaultOfATokenThatCouldNotBeSignedSaysSo(t *testing.T) {
	s := newAPIServer(t)
	err := listWithToken(t, t.Context(), tokensOf(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the SSO session has expired or is invalid")
	})), s.cluster())
	_, text := Fault(s.cluster(), err, "")
	expect.That(t, len(s.requests) == 0, "%d requests without a token", len(s.requests))
	expect.That(t, strings.Contains(text, "the SSO session has expired") && !strings.Contains(text, "did not answer") && strings.Contains(text, "token"), "a person is told: %s", text)
}

// Without an endpoint nobody can have answered.
func TestFaultOfAClusterThatCannotBeDialledReadsWell(t *testing.T) {
	c := roll.Cluster{ID: roll.ClusterID{Name: "demo"}}
	_, err := NewDialer(nil, "test").Dial(c)
	kind, text := Fault(c, err, "")
	expect.That(t, kind == roll.GapClusterUnreachable && strings.Contains(text, "eks:DescribeCluster names no endpoint") && !strings.Contains(text, "at  did"), "%s: a person is told: %s", kind, text)
}

// Missing credentials, as from a metadata service that does not answer, are not the cluster's fault
// either.
func TestFaultOfCredentialsThatDoNotComeDoesNotBlameTheEndpoint(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s := newAPIServer(t)
	ctx, cancel := contextFor(t, 100*time.Millisecond)
	defer cancel()
	err := listWithToken(t, ctx, tokensOf(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		<-release
		return aws.Credentials{}, errors.New("too late")
	})), s.cluster())
	kind, text := Fault(s.cluster(), err, "")
	expect.That(t, kind == roll.GapTimeout && !strings.Contains(text, "endpoint") && strings.Contains(text, "token"), "%s: a person is told: %s", kind, text)
}
