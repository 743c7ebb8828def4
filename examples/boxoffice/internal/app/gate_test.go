package app

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

const edgeSecret = "0123456789-edge-0123456789-edge-0123"

// passTo signs a request of ann as an edge does.
func passTo(t *testing.T, secret, method, path, user string) string {
	t.Helper()
	ring, err := token.NewRing(secret)
	require.NoError(t, err)
	return token.Pass{Method: method, Path: path, Event: "show-1", User: user}.Sign(ring)
}

// with makes a request of a member with an edge's header.
func (f *fan) with(method, path, body, pass string) int {
	f.p.t.Helper()
	r, err := http.NewRequestWithContext(f.p.t.Context(), method, f.p.app.URL()+path, strings.NewReader(body))
	if err != nil {
		f.p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	r.Header.Set(queuehttp.PassHeader, pass)
	res, err := f.p.http.Do(r)
	if err != nil {
		f.p.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		f.p.t.Fatal(err)
	}
	return res.StatusCode
}

// TestTrustedEdge: an edge with the secret sends the reading requests that it signs
// past the waiting room; its header alone does nothing.
func TestTrustedEdge(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--edge-secret", "another-0123456789-0123456789-0123,"+edgeSecret)
	const seats = "/api/seats/show-1"
	ann := p.visitor("ann") // never comes to the room
	for name, c := range map[string]struct {
		method, path, pass string
		want               int
	}{
		"no pass":            {http.MethodGet, seats, "", 403},
		"its mere presence":  {http.MethodGet, seats, "true", 403},
		"an unsigned one":    {http.MethodGet, seats, fmt.Sprintf("00000000.%d.AAAA", time.Now().Unix()), 403},
		"another secret":     {http.MethodGet, seats, passTo(t, strings.Repeat("x", 32), "GET", seats, "ann"), 403},
		"another's request":  {http.MethodGet, seats, passTo(t, edgeSecret, "GET", seats, "bob"), 403},
		"another path":       {http.MethodGet, seats, passTo(t, edgeSecret, "GET", "/api/seats/show-2", "ann"), 403},
		"signed by the edge": {http.MethodGet, seats, passTo(t, edgeSecret, "GET", seats, "ann"), 200},
		"a writing request":  {http.MethodPost, "/api/seats/reserve", passTo(t, edgeSecret, "POST", "/api/seats/reserve", "ann"), 403},
	} {
		assert.Equalf(t, c.want, ann.with(c.method, c.path, `{"eventId":"show-1","seatIds":["A-1"]}`, c.pass), "%s", name)
	}
}

// TestNoEdgeIsTrusted: by default no edge is trusted, whether or not it signs.
func TestNoEdgeIsTrusted(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	const seats = "/api/seats/show-1"
	assert.Equal(t, 403, p.visitor("ann").with(http.MethodGet, seats, "", passTo(t, edgeSecret, "GET", seats, "ann")))
}

// TestGateByURLAway: without the store of its counters the front gate is shut, and
// all else works.
func TestGateByURLAway(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--gate-url", "dynamodb://key:secret@local/t-?create=true&endpoint=http://"+closedPort(t))
	admin := &fan{p: p, token: p.app.AdminToken()}
	admin.call(http.MethodPost, "/api/admin/vwr/activate/show-1", "", nil, 503, nil)
	p.fan("ann").hold("A-1")
}

// TestGateByURL: the counters are in DynamoDB, where another process finds them.
func TestGateByURL(t *testing.T) {
	t.Parallel()
	at := "dynamodb://key:secret@local/t" + uuid.NewString()[:8] + "-?create=true&endpoint=" + url.QueryEscape(servicetest.DynamoDB(t))
	p, other := start(t, "--data-dir", t.TempDir(), "--gate-url", at), start(t, "--data-dir", t.TempDir(), "--gate-url", at)
	admin := &fan{p: p, token: p.app.AdminToken()}
	boxtest.WaitFor(t, "the tables", func() bool {
		return admin.with(http.MethodPost, "/api/admin/vwr/activate/show-1", "", "") == 200
	})
	for i, office := range []*process{p, other, p} {
		boxtest.WaitFor(t, "the gate to be on", func() bool {
			var gate struct{ Active bool }
			(&fan{p: office, token: office.app.AdminToken()}).call(http.MethodGet, "/api/admin/vwr/status/show-1", "", nil, 200, &gate)
			return gate.Active
		})
		var given struct{ Position int64 }
		(&fan{p: office}).call(http.MethodPost, "/vwr/assign/show-1", "", nil, 200, &given)
		if given.Position != int64(i+1) {
			t.Errorf("position %d, want %d", given.Position, i+1)
		}
	}
}
