package sqsbus

import (
	"bytes"
	"io"
	"net/http"
)

// whole sends requests whose bodies are in memory. The AWS client closes the body
// of a request when the answer begins, and its body reports that as an error to a
// connection that has sent all of it and has not seen its end yet. The connection
// is then closed under the answer, whose messages are lost on the way.
type whole struct{ next http.RoundTripper }

func (w whole) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return w.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if cerr := r.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return w.next.RoundTrip(r)
}
