package testbed

import (
	"crypto/hmac"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	stsHost = "sts." + Region + ".amazonaws.com"
	// emptyPayloadHash is the SHA-256 of an empty payload, that of a presigned
	// GetCallerIdentity.
	emptyPayloadHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	signingTime      = "20060102T150405Z"
	// presignedFor is how long STS accepts a presigned URL, whatever its X-Amz-Expires says.
	presignedFor = 15 * time.Minute
)

// stsServer answers presigned GetCallerIdentity requests of the identities it knows. It recomputes the signature of
// the request as received, so a token with a changed cluster header, query or key is refused.
type stsServer struct {
	identities map[string]Identity // by access key id
	now        func() time.Time
}

func newSTSServer(identities []Identity, now func() time.Time) *stsServer {
	s := &stsServer{identities: make(map[string]Identity, len(identities)), now: now}
	for _, i := range identities {
		s.identities[i.AccessKeyID] = i
	}
	return s
}

// An stsError is an error in the format of STS.
type stsError struct{ code, message string }

func (e *stsError) Error() string { return e.code + ": " + e.message }

func (s *stsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	identity, err := s.verify(r)
	if err != nil {
		code := "AccessDenied"
		var refusal *stsError
		if errors.As(err, &refusal) {
			code = refusal.code
		}
		w.WriteHeader(http.StatusForbidden)
		writeJSON(w, map[string]any{"Error": map[string]string{"Type": "Sender", "Code": code, "Message": err.Error()}})
		return
	}
	arn, userID := identity.caller()
	writeJSON(w, map[string]any{"GetCallerIdentityResponse": map[string]any{
		"GetCallerIdentityResult": map[string]string{"Account": AccountID, "Arn": arn, "UserId": userID},
		"ResponseMetadata":        map[string]string{"RequestId": "00000000-0000-4000-8000-000000000000"},
	}})
}

// caller returns the ARN and the user ID of the identity in STS.
func (i Identity) caller() (arn, userID string) {
	if role, ok := strings.CutPrefix(i.ARN, "arn:aws:iam::"+AccountID+":role/"); ok {
		name := role[strings.LastIndex(role, "/")+1:] // the ARN of an assumed role omits the role's path
		return "arn:aws:sts::" + AccountID + ":assumed-role/" + name + "/testbed", "AROA" + i.AccessKeyID[4:] + ":testbed"
	}
	return i.ARN, "AIDA" + i.AccessKeyID[4:]
}

// verify returns the signer of the request, or an error if no known identity signed it.
func (s *stsServer) verify(r *http.Request) (Identity, error) {
	query := r.URL.Query()
	if r.Method != http.MethodGet || query.Get("Action") != "GetCallerIdentity" {
		return Identity{}, &stsError{"AccessDenied", "only a presigned GetCallerIdentity is answered here"}
	}
	scope := strings.Split(query.Get("X-Amz-Credential"), "/")
	if len(scope) != 5 || scope[3] != "sts" || scope[4] != "aws4_request" {
		return Identity{}, &stsError{"IncompleteSignature", "the credential scope is not one of sts"}
	}
	identity, ok := s.identities[scope[0]]
	if !ok {
		return Identity{}, &stsError{"InvalidClientTokenId", "the security token included in the request is invalid"}
	}
	signedAt, err := time.Parse(signingTime, query.Get("X-Amz-Date"))
	if err != nil {
		return Identity{}, &stsError{"IncompleteSignature", "X-Amz-Date is not a time"}
	}
	if age := s.now().Sub(signedAt); age > presignedFor || age < -5*time.Minute {
		return Identity{}, &stsError{"ExpiredToken", fmt.Sprintf("the request was signed %s ago", age.Round(time.Second))}
	}
	want, err := presign(r, identity, scope[2], signedAt)
	if err != nil {
		return Identity{}, err
	}
	if !hmac.Equal([]byte(want), []byte(query.Get("X-Amz-Signature"))) {
		return Identity{}, &stsError{"SignatureDoesNotMatch", "the request signature we calculated does not match the signature you provided"}
	}
	return identity, nil
}

// presign returns the identity's signature for the request. It covers the query without the signature, and the headers
// that the request lists as signed.
func presign(r *http.Request, identity Identity, region string, at time.Time) (string, error) {
	query := r.URL.Query()
	signedHeaders := strings.Split(query.Get("X-Amz-SignedHeaders"), ";")
	query.Del("X-Amz-Signature")
	u := url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, u.String(), nil)
	if err != nil {
		return "", fmt.Errorf("rebuild the presigned request: %w", err)
	}
	for _, name := range signedHeaders {
		if values := r.Header.Values(name); len(values) > 0 {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	signed, _, err := v4.NewSigner().PresignHTTP(r.Context(), identity.Credentials(), req, emptyPayloadHash, "sts", region, at)
	if err != nil {
		return "", fmt.Errorf("sign the request anew: %w", err)
	}
	u2, err := url.Parse(signed)
	if err != nil {
		return "", fmt.Errorf("parse the URL signed anew: %w", err)
	}
	return u2.Query().Get("X-Amz-Signature"), nil
}

func writeJSON(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // this fails only if the caller has gone
}

// A proxy is an HTTP CONNECT proxy that answers for STS itself, over TLS with a certificate of the bed. It
// refuses all other hosts, so no call of the authenticator can leave the machine.
type proxy struct {
	url    string
	server *http.Server
	inner  *http.Server // serves the requests inside the tunnels
	conns  chan net.Conn
	addr   net.Addr
	once   sync.Once
	closed chan struct{}
}

func startProxy(sts http.Handler, ca *authority) (*proxy, error) {
	cert, err := ca.issueTLS(stsHost)
	if err != nil {
		return nil, fmt.Errorf("start the STS proxy: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the STS proxy: %w", err)
	}
	p := &proxy{
		url:    "http://" + l.Addr().String(),
		inner:  &http.Server{Handler: sts, ReadHeaderTimeout: 10 * time.Second},
		conns:  make(chan net.Conn),
		addr:   l.Addr(),
		closed: make(chan struct{}),
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.connect), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(l) }() // ends with ErrServerClosed in close
	go func() {
		_ = p.inner.Serve(tls.NewListener(p, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}))
	}()
	return p, nil
}

// connect hands the tunnel to the inner server if it leads to STS.
func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Host != stsHost+":443" {
		http.Error(w, "the testbed's proxy leads to "+stsHost+" only, not to "+r.Host, http.StatusForbidden)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if buffered.Reader.Buffered() > 0 {
		_ = conn.Close() // a client sends only after the answer
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_ = conn.Close()
		return
	}
	select {
	case p.conns <- conn:
	case <-p.closed:
		_ = conn.Close()
	}
}

// Accept returns the next tunnel; with Close and Addr it makes the proxy the listener of its own
// tunnels.
func (p *proxy) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener.
func (p *proxy) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns the address of the proxy.
func (p *proxy) Addr() net.Addr { return p.addr }

// stop closes the proxy and all its tunnels.
func (p *proxy) stop() error {
	return errors.Join(p.Close(), p.server.Close(), p.inner.Close())
}
