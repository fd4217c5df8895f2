package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"sigs.k8s.io/aws-iam-authenticator/pkg/token"
)

// TokenSource creates bearer tokens for EKS clusters: presigned GetCallerIdentity requests that
// name the cluster in a signed header, as the authenticator of EKS verifies them.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html
type TokenSource struct {
	sts *sts.Client
	gen token.Generator

	mu     sync.Mutex
	tokens map[string]token.Token
}

// NewTokenSource returns a TokenSource that signs with the configuration's credentials.
//
// The presigned URL always names the region's own STS host: the control plane fetches it and
// accepts no other. An endpoint from the configuration or the environment (AWS_ENDPOINT_URL) is
// therefore ignored here. The package sends nothing there.
func NewTokenSource(cfg aws.Config) (*TokenSource, error) {
	gen, err := token.NewGenerator(false, false)
	if err != nil {
		return nil, fmt.Errorf("prepare EKS tokens: %w", err)
	}
	client := sts.NewFromConfig(cfg, func(o *sts.Options) {
		o.BaseEndpoint = nil
		o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateDisabled
		o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateDisabled
	})
	return &TokenSource{sts: client, gen: gen, tokens: map[string]token.Token{}}, nil
}

// ErrToken is wrapped by errors of signing a token: nothing was sent to the cluster.
var ErrToken = errors.New("no token could be signed")

// margin is how long before its expiry a token is replaced, so that none expires between two pages.
const margin = 2 * time.Minute

// Token returns a token for the cluster, valid for at least some minutes.
func (s *TokenSource) Token(ctx context.Context, cluster string) (string, error) {
	s.mu.Lock()
	known, ok := s.tokens[cluster]
	s.mu.Unlock()
	if ok && time.Until(known.Expiration) > margin {
		return known.Token, nil
	}
	// The generator takes no context, and fetching credentials may hang.
	type result struct {
		token token.Token
		err   error
	}
	done := make(chan result, 1)
	go func() {
		t, err := s.gen.GetWithSTS(cluster, s.sts)
		done <- result{t, err}
	}()
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("%w for cluster %s: %w", ErrToken, cluster, ctx.Err())
	case r := <-done:
		if r.err != nil {
			return "", fmt.Errorf("%w for cluster %s: %w", ErrToken, cluster, r.err)
		}
		s.mu.Lock()
		s.tokens[cluster] = r.token
		s.mu.Unlock()
		return r.token.Token, nil
	}
}

// bearer adds a fresh token to every request.
type bearer struct {
	source  *TokenSource
	cluster string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	t, err := b.source.Token(r.Context(), b.cluster)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t)
	return b.next.RoundTrip(r)
}
