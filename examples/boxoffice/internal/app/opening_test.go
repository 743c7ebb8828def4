package app

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// opensAt waits until a show has an opening.
func (p *process) opensAt(show string) (at time.Time) {
	p.t.Helper()
	boxtest.WaitFor(p.t, "an opening", func() bool {
		res, err := p.http.Get(p.app.URL() + "/api/queue/draw/" + show)
		require.NoError(p.t, err)
		text := readAll(p.t, res)
		if res.StatusCode == http.StatusNoContent {
			return false
		}
		var published struct{ Opens time.Time }
		require.NoError(p.t, json.Unmarshal([]byte(text), &published))
		at = published.Opens
		return true
	})
	return at
}

// TestOpening: a show opens some time after the first start, and a restart moves nothing.
func TestOpening(t *testing.T) {
	t.Parallel()
	dir, began := t.TempDir(), time.Now()
	p := start(t, "--data-dir", dir, "--opening", "show-1:600")
	at := p.opensAt("show-1")
	if late := at.Sub(began.Add(10 * time.Minute)); late < -time.Second || late > time.Minute {
		t.Errorf("it opens at %s, and the process started at %s", at, began)
	}
	ann := p.visitor("ann")
	var place struct {
		Status            string
		Position, OpensIn int
	}
	ann.call(http.MethodPost, "/api/queue/check/show-1", "", nil, 200, &place)
	require.Equal(t, "queued", place.Status)
	require.Zero(t, place.Position)
	require.Positive(t, place.OpensIn)
	ann.call(http.MethodPost, "/api/queue/check/show-2", "", nil, 200, &place)
	require.Equal(t, "active", place.Status, "another show")

	require.NoError(t, p.stop())
	again := start(t, "--data-dir", dir, "--opening", "show-1:60")
	require.True(t, again.opensAt("show-1").Equal(at), "after a restart")
}

// TestOpeningOfNoShow ends the process, with what to set.
func TestOpeningOfNoShow(t *testing.T) {
	t.Parallel()
	a, err := New(settings(t, "--data-dir", t.TempDir(), "--opening", "show-77:600"), Options{Gateway: quick()})
	require.NoError(t, err)
	err = a.Run(t.Context())
	require.ErrorContains(t, err, "BOXOFFICE_OPENING")
}
