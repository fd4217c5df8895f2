package kube

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// TokenSource creates bearer tokens for EKS clusters: presigned GetCallerIdentity requests that
// name the cluster in a signed header, as the authenticator of EKS verifies them. They are those of
// its pkg/token, with which the tests compare, and which links a registry of metrics.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html
type TokenSource struct {
	sts *sts.PresignClient

	mu     sync.Mutex
	tokens map[string]signed
}

type signed struct {
	text    string
	expires time.Time
}

// NewTokenSource returns a TokenSource that signs with the configuration's credentials.
//
// The presigned URL always names the region's own STS host: the control plane fetches it and
// accepts no other. An endpoint from the configuration or the environment (AWS_ENDPOINT_URL) is
// therefore ignored here. The package sends nothing there.
func NewTokenSource(cfg aws.Config) *TokenSource {
	client := sts.NewFromConfig(cfg, func(o *sts.Options) {
		o.BaseEndpoint = nil
		if o.Credentials != nil {
			o.Credentials = aws.NewCredentialsCache(o.Credentials) // whose callers need not wait for it
		}
		o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateDisabled
		o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateDisabled
	})
	return &TokenSource{sts: sts.NewPresignClient(client), tokens: map[string]signed{}}
}

// ErrToken is wrapped by errors of signing a token: nothing was sent to the cluster.
var ErrToken = errors.New("no token could be signed")

// validFor is how long the control plane accepts a token, less a minute for clocks that differ. A
// token is replaced margin before, so that none expires between two pages. It ends earlier if the credentials
// that signed it do: STS then refuses the request.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_use-resources.html
const (
	validFor = 14 * time.Minute
	margin   = 2 * time.Minute
)

// Token returns a token for the cluster, valid for at least some minutes.
func (s *TokenSource) Token(ctx context.Context, cluster string) (string, error) {
	s.mu.Lock()
	known, ok := s.tokens[cluster]
	s.mu.Unlock()
	if ok && time.Until(known.expires) > margin {
		return known.text, nil
	}
	made := signed{expires: time.Now().Add(validFor)}
	request, err := s.sts.PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, func(o *sts.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, func(o *sts.Options) {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("x-k8s-aws-id", cluster), smithyhttp.SetHeaderValue("X-Amz-Expires", "60"))
			o.Credentials = made.signedWith(o.Credentials)
		})
	})
	if over := ctx.Err(); over != nil {
		err = over // in place of what it interrupted
	}
	if err != nil {
		return "", fmt.Errorf("%w for cluster %s: %w", ErrToken, cluster, err)
	}
	made.text = "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(request.URL))
	s.mu.Lock()
	s.tokens[cluster] = made
	s.mu.Unlock()
	return made.text, nil
}

// signedWith returns the provider. The token then ends no later than the credentials that it provides.
func (s *signed) signedWith(provider aws.CredentialsProvider) aws.CredentialsProvider {
	if provider == nil {
		return nil
	}
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		keys, err := provider.Retrieve(ctx)
		if keys.CanExpire && keys.Expires.Before(s.expires) {
			s.expires = keys.Expires
		}
		return keys, err
	})
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
