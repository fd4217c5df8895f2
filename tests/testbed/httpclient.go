package testbed

import (
	"io"
	"net/http"
)

// HTTPClient is for SDK clients that call the emulator. The SDK closes the body of a request as soon as the header of
// the answer arrives. If net/http is still copying a body that has a WriteTo method, it takes the closed body for a
// fault and drops the connection with the answer on it. A local server answers fast enough for that; this client hides
// the method.
var HTTPClient = &http.Client{Transport: plainBody{}}

type plainBody struct{}

// RoundTrip sends the request with a body that has no methods but Read and Close.
func (plainBody) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return http.DefaultTransport.RoundTrip(r)
}
