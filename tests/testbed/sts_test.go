package testbed

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// presigned returns the request that the authenticator sends for a token of the identity: its URL, with the name of the
// cluster in a header.
func presigned(t *testing.T, id Identity, at time.Time) *http.Request {
	t.Helper()
	token, err := eksToken(context.Background(), id, at, 60)
	must.Succeed(t, err)
	u, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "k8s-aws-v1."))
	must.Succeed(t, err)
	r := httptest.NewRequest(http.MethodGet, string(u), nil)
	r.Header.Set("X-K8s-Aws-Id", ClusterName)
	r.Header.Set("Accept", "application/json") // the authenticator adds it; it is not signed
	return r
}

func setQuery(r *http.Request, key, value string) {
	q := r.URL.Query()
	q.Set(key, value)
	r.URL.RawQuery = q.Encode()
}

func TestSTSVerifiesSignatures(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	other := Viewer
	other.SecretAccessKey += "x"
	for name, c := range map[string]struct {
		signer Identity
		age    time.Duration
		tamper func(*http.Request)
		want   string // error code; empty is success
	}{
		"untouched":               {signer: Viewer},
		"almost too old":          {signer: Viewer, age: 15 * time.Minute},
		"too old":                 {signer: Viewer, age: 15*time.Minute + time.Second, want: "ExpiredToken"},
		"from the future":         {signer: Viewer, age: -6 * time.Minute, want: "ExpiredToken"},
		"wrong secret":            {signer: other, want: "SignatureDoesNotMatch"},
		"unknown key":             {signer: Identity{AccessKeyID: "AKIAIOSFODNN7UNKNOWN", SecretAccessKey: "x"}, want: "InvalidClientTokenId"},
		"other cluster":           {signer: Viewer, tamper: func(r *http.Request) { r.Header.Set("X-K8s-Aws-Id", "other") }, want: "SignatureDoesNotMatch"},
		"no cluster":              {signer: Viewer, tamper: func(r *http.Request) { r.Header.Del("X-K8s-Aws-Id") }, want: "SignatureDoesNotMatch"},
		"other host":              {signer: Viewer, tamper: func(r *http.Request) { r.Host = "sts.us-east-1.amazonaws.com" }, want: "SignatureDoesNotMatch"},
		"longer validity":         {signer: Viewer, tamper: func(r *http.Request) { setQuery(r, "X-Amz-Expires", "900") }, want: "SignatureDoesNotMatch"},
		"cluster no longer bound": {signer: Viewer, tamper: func(r *http.Request) { setQuery(r, "X-Amz-SignedHeaders", "host") }, want: "SignatureDoesNotMatch"},
		"other key, same signature": {signer: Viewer, tamper: func(r *http.Request) {
			setQuery(r, "X-Amz-Credential", StrangerAccessKeyID+"/20260102/eu-west-1/sts/aws4_request")
		}, want: "SignatureDoesNotMatch"},
		"other service": {signer: Viewer, tamper: func(r *http.Request) {
			setQuery(r, "X-Amz-Credential", ViewerAccessKeyID+"/20260102/eu-west-1/iam/aws4_request")
		}, want: "IncompleteSignature"},
		"other action": {signer: Viewer, tamper: func(r *http.Request) { setQuery(r, "Action", "GetSessionToken") }, want: "AccessDenied"},
		"no signature": {signer: Viewer, tamper: func(r *http.Request) { setQuery(r, "X-Amz-Signature", "") }, want: "SignatureDoesNotMatch"},
		"bare request": {signer: Viewer, tamper: func(r *http.Request) { r.URL = &url.URL{Path: "/", RawQuery: "Action=GetCallerIdentity"} }, want: "IncompleteSignature"},
	} {
		t.Run(name, func(t *testing.T) {
			r := presigned(t, c.signer, now.Add(-c.age))
			if c.tamper != nil {
				c.tamper(r)
			}
			w := httptest.NewRecorder()
			newSTSServer([]Identity{Viewer, Stranger}, func() time.Time { return now }).ServeHTTP(w, r)
			var answer struct {
				Error                     struct{ Code string }
				GetCallerIdentityResponse struct {
					GetCallerIdentityResult struct{ Account, Arn, UserId string }
				}
			}
			err := json.Unmarshal(w.Body.Bytes(), &answer)
			must.That(t, err == nil, "decode %s: %v", w.Body, err)
			wantStatus, wantARN := http.StatusForbidden, ""
			if c.want == "" {
				wantStatus, wantARN = http.StatusOK, "arn:aws:sts::123456789012:assumed-role/rollcall-viewer/testbed"
			}
			arn := answer.GetCallerIdentityResponse.GetCallerIdentityResult.Arn
			if w.Code != wantStatus || answer.Error.Code != c.want || arn != wantARN {
				t.Errorf("got %d, error %q, caller %q; want %d, %q, %q", w.Code, answer.Error.Code, arn, wantStatus, c.want, wantARN)
			}
		})
	}
}

func TestProxyLeadsToSTSOnly(t *testing.T) {
	ca, err := newAuthority()
	must.Succeed(t, err)
	p, err := startProxy(http.NotFoundHandler(), ca)
	must.Succeed(t, err)
	t.Cleanup(func() {
		expect.Succeed(t, p.stop())
	})
	proxyURL, err := url.Parse(p.url)
	must.Succeed(t, err)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxyURL)}}
	resp, err := client.Get("https://ec2.eu-west-1.amazonaws.com/")
	if err == nil {
		_ = resp.Body.Close()
		t.Fatalf("got %s, want a refusal", resp.Status)
	}
	expect.That(t, strings.Contains(err.Error(), "Forbidden"), "got %v, want Forbidden", err)
}
