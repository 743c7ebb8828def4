package sqsbus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// whole sends requests whose bodies are in memory. The AWS client closes the body of a
// request when the answer begins, and its body reports that as an error to a connection
// that has sent all of it and has not reached its end yet. The connection is then closed
// during the answer, whose messages are lost on the way.
type whole struct{ next http.RoundTripper }

func (w whole) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return w.send(r)
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
	return w.send(r)
}

// send adds the correction to errors of an endpoint that is not trusted, or requires TLS.
func (w whole) send(r *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(r)
	switch {
	case r.URL.Scheme != "http":
		return answer, kit.UntrustedHint(err, r.URL.Host, "?cacertfile=")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return nil, kit.PlainHint(err, r.URL.Host, "endpoint=https://")
	case err == nil && answer.StatusCode == http.StatusBadRequest && fromWebServer(answer):
		answer.Body.Close() //nolint:errcheck // it is of no use
		return nil, kit.PlainHint(fmt.Errorf("the endpoint answered %s", answer.Status), r.URL.Host, "endpoint=https://")
	}
	return answer, err
}

// fromWebServer reports whether an answer is of a server that did not understand the
// request, as web servers answer on a port for TLS: in HTML, or without a type. SQS, SNS
// and STS answer in JSON or XML.
func fromWebServer(answer *http.Response) bool {
	kind := answer.Header.Get("Content-Type")
	return kind == "" || strings.HasPrefix(kind, "text/html")
}
