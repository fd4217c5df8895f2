package kube

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"sigs.k8s.io/aws-iam-authenticator/pkg/token"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var staticKeys = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, nil
})

func tokensOf(keys aws.CredentialsProvider) *TokenSource {
	return NewTokenSource(aws.Config{Region: "eu-west-1", Credentials: keys})
}

// listWithToken lists the nodes as the functions do.
func listWithToken(t *testing.T, ctx context.Context, tokens *TokenSource, c roll.Cluster) error {
	t.Helper()
	client, err := NewDialer(tokens, "rollcall/test").Dial(c)
	must.Succeed(t, err)
	return client.Nodes(ctx, roll.Watch{}, func(roll.Node) {}, func() {})
}

// presigned decodes a token into its request.
func presigned(t *testing.T, token string) *url.URL {
	t.Helper()
	encoded, ok := strings.CutPrefix(token, "k8s-aws-v1.")
	must.That(t, ok, "token %q", token)
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	must.Succeed(t, err)
	u, err := url.Parse(string(text))
	must.Succeed(t, err)
	return u
}

// The control plane fetches the URL itself and accepts only STS's host. An endpoint for everything
// else, such as an emulator's, must not be in it.
func TestTokensNameTheRegionsOwnSTSWhateverTheEnvironmentSays(t *testing.T) {
	for _, tt := range []struct{ region, host string }{
		{"eu-west-1", "sts.eu-west-1.amazonaws.com"},
		{"us-east-1", "sts.us-east-1.amazonaws.com"},
		{"us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"},
		{"cn-north-1", "sts.cn-north-1.amazonaws.com.cn"},
	} {
		t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
		t.Setenv("AWS_REGION", tt.region)
		t.Setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
		t.Setenv("AWS_SESSION_TOKEN", "session")
		t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:5000")
		t.Setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:5001")
		t.Setenv("AWS_USE_FIPS_ENDPOINT", "true")
		t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
		cfg, err := config.LoadDefaultConfig(t.Context())
		must.Succeed(t, err)
		tokens := NewTokenSource(cfg)
		token, err := tokens.Token(t.Context(), "demo")
		must.Succeed(t, err)
		u := presigned(t, token)
		q := u.Query()
		expect.That(t, u.Scheme == "https" && u.Host == tt.host, "%s: the token goes to %s://%s, want https://%s", tt.region, u.Scheme, u.Host, tt.host)
		expect.That(t, q.Get("Action") == "GetCallerIdentity" && strings.Contains(q.Get("X-Amz-Credential"), "/"+tt.region+"/sts/") && q.Get("X-Amz-Security-Token") == "session", "%s: %v", tt.region, q)
		signed := strings.Split(q.Get("X-Amz-SignedHeaders"), ";")
		expect.That(t, slices.Contains(signed, "x-k8s-aws-id") && slices.Contains(signed, "host"), "%s: signed headers %v", tt.region, signed)
	}
}

// A token is what the authenticator's own generator makes.
func TestTokensAreTheAuthenticators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // both are signed at the same second
		for _, region := range []string{"eu-west-1", "cn-north-1"} {
			cfg := aws.Config{Region: region, Credentials: staticKeys}
			gen, err := token.NewGenerator(false, false)
			must.Succeed(t, err)
			want, err := gen.GetWithSTS("demo", sts.NewFromConfig(cfg))
			must.Succeed(t, err)
			tokens := NewTokenSource(cfg)
			got, err := tokens.Token(t.Context(), "demo")
			if err != nil || got != want.Token {
				t.Errorf("%s: %v, %v, want %v", region, presigned(t, got), err, presigned(t, want.Token))
			}
			ends := tokens.tokens["demo"].expires
			expect.That(t, ends.Equal(want.Expiration), "%s: it ends at %s, want %s", region, ends, want.Expiration)
		}
	})
}

func TestATokenIsForOneCluster(t *testing.T) {
	tokens := tokensOf(staticKeys)
	a, err := tokens.Token(t.Context(), "demo")
	must.Succeed(t, err)
	b, err := tokens.Token(t.Context(), "other")
	must.Succeed(t, err)
	expect.That(t, presigned(t, a).Query().Get("X-Amz-Signature") != presigned(t, b).Query().Get("X-Amz-Signature"), "two clusters, one signature: a token for one would open the other")
}

func TestATokenIsReusedUntilNearItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := tokensOf(staticKeys)
		began := time.Now()
		// The control plane accepts a token for 15 minutes.
		for _, tt := range []struct{ after, made time.Duration }{
			{0, 0},
			{time.Second, 0},
			{11*time.Minute + 59*time.Second, 0},
			{12 * time.Minute, 12 * time.Minute},
			{13 * time.Minute, 12 * time.Minute},
			{time.Hour, time.Hour},
		} {
			time.Sleep(time.Until(began.Add(tt.after))) // on the clock of the test
			token, err := tokens.Token(t.Context(), "demo")
			must.Succeed(t, err)
			made, err := time.Parse("20060102T150405Z", presigned(t, token).Query().Get("X-Amz-Date"))
			must.Succeed(t, err)
			expect.Equal(t, made.Sub(began), tt.made, "after %s: the token was made after", tt.after)
			left := time.Until(made.Add(15 * time.Minute))
			expect.That(t, left >= margin, "after %s: the token is good for %s more, want %s at least", tt.after, left, margin)
		}
	})
}

// STS refuses a request that was signed with credentials which have expired since.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_use-resources.html
func TestATokenEndsWithItsCredentials(t *testing.T) {
	for name, tt := range map[string]struct {
		lasts      time.Duration // of credentials
		still, new time.Duration // after which the first token is used, and no longer
	}{
		"credentials that expire first": {5 * time.Minute, 3*time.Minute - time.Second, 3 * time.Minute},
		"credentials that outlive it":   {time.Hour, 12*time.Minute - time.Second, 12 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tokens := tokensOf(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
					keys, err := staticKeys(ctx)
					keys.CanExpire, keys.Expires = true, time.Now().Add(tt.lasts)
					return keys, err
				}))
				first, err := tokens.Token(t.Context(), "demo")
				must.Succeed(t, err)
				time.Sleep(tt.still)
				second, err := tokens.Token(t.Context(), "demo")
				must.Succeed(t, err)
				expect.That(t, second == first, "after %s it is another token", tt.still)
				time.Sleep(tt.new - tt.still)
				third, err := tokens.Token(t.Context(), "demo")
				must.Succeed(t, err)
				expect.That(t, third != first, "after %s it is the same token", tt.new)
			})
		})
	}
}

func TestAContextThatIsOverEndsTheWaitForCredentials(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	tokens := tokensOf(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		<-release // a metadata service that does not answer
		return aws.Credentials{}, errors.New("too late")
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tokens.Token(ctx, "demo")
	expect.That(t, errors.Is(err, context.Canceled) && err.Error() == "no token could be signed for cluster demo: context canceled", "got %v", err)
}

func TestATokenThatCannotBeSignedIsNotKept(t *testing.T) {
	fail := true
	tokens := tokensOf(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		if fail {
			return aws.Credentials{}, errors.New("no credentials")
		}
		return staticKeys(ctx)
	}))
	if token, err := tokens.Token(t.Context(), "demo"); err == nil || token != "" {
		t.Errorf("got %q, %v", token, err)
	}
	fail = false
	token, err := tokens.Token(t.Context(), "demo")
	expect.That(t, err == nil && token != "", "got %q, %v", token, err)
}

func TestEveryRequestCarriesTheToken(t *testing.T) {
	s := newAPIServer(t, manyNodes(1001)...)
	tokens := tokensOf(staticKeys)
	must.Succeed(t, listWithToken(t, t.Context(), tokens, s.cluster()))
	want, err := tokens.Token(t.Context(), "demo")
	must.Succeed(t, err)
	for n, r := range s.requests {
		expect.List(t, r.Header.Values("Authorization"), []string{"Bearer " + want}, "request %d: Authorization", n+1)
		expect.Equal(t, r.Header.Get("User-Agent"), "rollcall/test", "request %d comes from", n+1)
	}
	expect.That(t, len(s.requests) == 3, "%d requests, want 3", len(s.requests))
}

// https://docs.aws.amazon.com/cli/latest/reference/eks/get-token.html
func TestTheTokenOfALocalClusterOnAnOutpostNamesItsID(t *testing.T) {
	s := newAPIServer(t)
	tokens := tokensOf(staticKeys)
	c := s.cluster()
	c.LocalID = "8ee9f1a4-52d6-4d2e-a6a5-0a1b2c3d4e5f"
	must.Succeed(t, listWithToken(t, t.Context(), tokens, c))
	want, err := tokens.Token(t.Context(), c.LocalID)
	must.Succeed(t, err)
	expect.List(t, s.requests[0].Header.Values("Authorization"), []string{"Bearer " + want}, "Authorization")
}

// A counter of requests sees each request as it is sent.
func TestWhatIsPutAroundADialersClientsSeesEveryRequest(t *testing.T) {
	s := newAPIServer(t, manyNodes(PageSize+1)...)
	tokens := tokensOf(staticKeys)
	seen := 0
	d := NewDialer(tokens, "test")
	d.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if seen++; r.Header.Get("Authorization") == "" {
				t.Error("what is seen is not what is sent")
			}
			return next.RoundTrip(r)
		})
	}
	client, err := d.Dial(s.cluster())
	must.Succeed(t, err)
	must.Succeed(t, client.Nodes(t.Context(), roll.Watch{}, func(roll.Node) {}, func() {}))
	expect.That(t, seen == len(s.requests) && seen == 2, "saw %d requests of %d", seen, len(s.requests))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTokensForManyAtOnce(t *testing.T) {
	tokens := tokensOf(staticKeys)
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			if _, err := tokens.Token(t.Context(), []string{"demo", "other"}[n%2]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
