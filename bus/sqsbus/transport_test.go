package sqsbus

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request in flight does not depend on the client's body, which is closed as soon as the
// answer begins.
func TestRequestsAreWhole(t *testing.T) {
	var sent *http.Request
	client := http.Client{Transport: whole{roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	})}}
	given, writer := io.Pipe()
	go func() {
		writer.Write([]byte("question")) //nolint:errcheck // read in full below
		writer.Close()
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sqs/", given)
	require.NoError(t, err)
	r.ContentLength = int64(len("question"))
	answer, err := client.Do(r)
	require.NoError(t, err)
	answer.Body.Close()
	given.Close()
	var body strings.Builder
	if _, err := io.Copy(&body, sent.Body); err != nil || body.String() != "question" || sent.ContentLength != r.ContentLength {
		t.Errorf("%d bytes are sent as %q (%v)", sent.ContentLength, body.String(), err)
	}
	if again, err := sent.GetBody(); err != nil {
		t.Error(err)
	} else if all, err := io.ReadAll(again); err != nil || string(all) != "question" {
		t.Errorf("sent again as %q (%v)", all, err)
	}
}
