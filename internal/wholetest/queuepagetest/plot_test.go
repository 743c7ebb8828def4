package queuepagetest

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// TestBrowserPlot looks at the operator's plot of an on-sale of three hours, as axe and
// in both themes: all series are drawn, and no script, style or request is refused.
func TestBrowserPlot(t *testing.T) {
	chromium.Context(t)
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	ring, err := token.NewRing("a secret of this test that is long enough")
	require.NoError(t, err)
	room, err := queue.New(store, ring, queue.Config{})
	require.NoError(t, err)
	entries, err := token.NewEntries(ring, token.Config{})
	require.NoError(t, err)
	h, err := queuehttp.New(room, entries, queuehttp.Config{User: func(*http.Request) (string, error) { return "", http.ErrNoCookie }})
	require.NoError(t, err)
	s := driver.Sample{Epoch: 1}
	for i := range int64(180) {
		s.Minute = time.Now().Unix()/60 - 180 + i
		s.Joined += int64(9000*math.Exp(-float64(i)/12)) + 40 + i%7
		s.Entered = min(s.Joined, s.Entered+600+i%13)
		s.NoShows = s.Entered / 12
		s.Active, s.Entitled = int(min(s.Entered, 1000)), int(min(s.Entered, 90))
		s.Waiting = int(max(0, s.Joined-s.Entered-s.Joined/20))
		if left := 12_000 - int(60*i); i > 5 && i != 90 { // a minute without an answer
			s.Stock = &left
		} else {
			s.Stock = nil
		}
		s.Laned, s.Returning = s.Entered/400, s.Waiting/90
		s.Waits = map[int]int64{40 + int(i)/5: 300, 55 + int(i)/7: 200, 62 + int(i)/9: 40}
		require.NoError(t, store.Record(t.Context(), "show-1", s))
	}
	mux := http.NewServeMux()
	h.MountAdmin(mux.Handle, func(name string) string { return "/" + name + "/{eventId}" })
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	tb := open(t, server.URL, device{width: 1280, height: 860})
	for i, d := range []device{{width: 1280, height: 860}, {width: 390, height: 844, dark: true}} {
		tb.wear(d)
		tb.visit("/plot/show-1")
		if n := eval[int](tb, "[...document.querySelectorAll('svg[role=img] path.line')].filter((line) => line.getBBox().width > 700 && getComputedStyle(line).stroke !== 'none').length"); n != 12 {
			t.Errorf("%d lines are drawn, want 12", n)
		}
		tb.sound(fmt.Sprint("plot-", i))
		tb.shot(fmt.Sprint("plot-", i))
	}
}
