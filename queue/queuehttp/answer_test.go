package queuehttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// The hand-written JSON equals that of encoding/json.
func TestAnswerIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 1<<31)
		span := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "ns"))
		})
		p := queue.Place{
			Status:   queue.Status(rapid.IntRange(0, 3).Draw(t, "status")),
			Position: count.Draw(t, "position"), Ahead: count.Draw(t, "ahead"), Behind: count.Draw(t, "behind"),
			Wait: span.Draw(t, "wait"), WaitLow: span.Draw(t, "low"), WaitHigh: span.Draw(t, "high"), WaitKnown: rapid.Bool().Draw(t, "known"), NextPoll: span.Draw(t, "next"), Keep: span.Draw(t, "keep"),
			Active: count.Draw(t, "active"), Threshold: count.Draw(t, "threshold"), Waiting: count.Draw(t, "waiting"),
			Paused: rapid.Bool().Draw(t, "paused"), Turn: rapid.Bool().Draw(t, "turn"), Settling: span.Draw(t, "settling"), Opens: span.Draw(t, "opens"), Entry: queue.Entry{Left: span.Draw(t, "left")},
		}
		text := rapid.StringMatching(`[A-Za-z0-9_.-]{0,60}`)
		ticket, entry, gate := text.Draw(t, "ticket"), text.Draw(t, "entry"), text.Draw(t, "gate")
		up := func(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
		type object = map[string]any
		want := object{
			"status": map[queue.Status]string{queue.None: "none", queue.Gated: "none", queue.Waiting: "queued", queue.Active: "active"}[p.Status],
			"queued": p.Status == queue.Waiting, "position": p.Position, "peopleAhead": p.Ahead, "peopleBehind": p.Behind,
			"estimatedWait": nil, "nextPoll": float64(p.NextPoll.Milliseconds()) / 1000,
			"currentUsers": p.Active, "threshold": p.Threshold, "queueSize": p.Waiting, "entryToken": nil,
			"paused": p.Paused, "settling": up(p.Settling),
		}
		switch {
		case p.Status == queue.Active:
			want["estimatedWait"] = 0
		case p.WaitKnown:
			want["estimatedWait"] = up(p.Wait)
			want["estimatedWaitLow"], want["estimatedWaitHigh"] = up(p.WaitLow), up(p.WaitHigh)
		}
		if p.Status == queue.Waiting {
			want["keep"] = int64(p.Keep / time.Second)
		}
		if entry != "" {
			want["entryToken"] = entry
		}
		if p.Status == queue.Active {
			want["expiresIn"] = int64(p.Entry.Left / time.Second)
		}
		if ticket != "" {
			want["ticket"] = ticket
		}
		if p.Turn {
			want["turn"] = true
		}
		if p.SoldOut = rapid.Bool().Draw(t, "sold out"); p.SoldOut {
			want["soldOut"] = true
		}
		if p.Returner {
			want["returner"] = true
		}
		if p.Opens > 0 {
			want["opensIn"] = up(p.Opens)
		}
		if gate != "" {
			want["gated"], want["redirectTo"] = true, gate
		}
		got := queuehttp.AppendPlace(nil, p, ticket, entry, gate)
		require.Truef(t, same(t, got, want), "%s", got)
	})
}

func TestStateIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 1<<40).Draw(t, name) }
		s := queue.State{
			Threshold: n("threshold"), Paused: rapid.Bool().Draw(t, "paused"), Gated: rapid.Bool().Draw(t, "gated"),
			Settling: time.Duration(n("settling")), Waiting: n("waiting"), Active: n("active"), Entitled: n("entitled"),
			Joined: int64(n("joined")), Entered: int64(n("entered")), NoShows: int64(n("no-shows")), Expired: int64(n("expired")), Departed: int64(n("departed")), Swept: int64(n("swept")),
			Returning: n("returning"), Returned: int64(n("returned")),
		}
		want := map[string]any{
			"threshold": s.Threshold, "paused": s.Paused, "gated": s.Gated, "settling": int64((s.Settling + time.Second - 1) / time.Second),
			"currentUsers": s.Active, "entitled": s.Entitled, "queueSize": s.Waiting, "admittedPerSecond": nil,
			"joined": s.Joined, "entered": s.Entered, "noShows": s.NoShows, "expired": s.Expired, "departed": s.Departed, "swept": s.Swept,
			"returning": s.Returning, "returned": s.Returned,
		}
		if rapid.Bool().Draw(t, "rate") {
			s.Rate = driver.Rate{Admitted: 4 * rapid.IntRange(0, 1000).Draw(t, "admitted"), Over: 16 * time.Second}
			want["admittedPerSecond"] = float64(s.Rate.Admitted) / 16
		}
		if s.Stock.Known = rapid.Bool().Draw(t, "stock"); s.Stock.Known {
			s.Stock.Left = n("left")
			want["stock"] = s.Stock.Left
		}
		if rapid.Bool().Draw(t, "opens") {
			s.Opens = time.UnixMilli(int64(n("time")))
			want["opens"] = s.Opens.UTC().Format(time.RFC3339Nano)
		}
		if got := queuehttp.AppendState(nil, s); !same(t, got, want) {
			t.Fatalf("%s", got)
		}
	})
}

// same compares JSON by decoding both with encoding/json.
func same(t *rapid.T, got []byte, want any) bool {
	if !bytes.HasSuffix(got, []byte("}\n")) {
		return false
	}
	var a, b map[string]any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &b))
	if len(a) != len(b) {
		return false
	}
	for name, v := range b {
		if w, ok := a[name]; !ok || v != w {
			return false
		}
	}
	return true
}

// A crowd that polls during an outage of the store does not fill the log.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newSite(t, 1, func(c *queuehttp.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		s.store.away.Store(true)
		for range 10 {
			for range 10 {
				s.browser("alice").check("show-1")
			}
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 10 || !strings.Contains(lines[0], "not_logged=0") || !strings.Contains(lines[9], "not_logged=9") || !strings.Contains(lines[0], "connection refused") {
			t.Errorf("100 failures within 10 s made %d lines:\n%s", len(lines), log.String())
		}
		assert.NotContains(t, log.String(), secret, "the log tells the secret")
		log.Reset()
		gone, leave := context.WithCancel(t.Context())
		leave()
		r := httptest.NewRequestWithContext(gone, "POST", "/api/queue/check/show-1", nil)
		r.Header.Set("X-User", "bob")
		s.mux.ServeHTTP(httptest.NewRecorder(), r)
		if log.Len() != 0 {
			t.Errorf("a client that has gone is logged: %s", log.String())
		}
	})
}

// Config.Fail decides the answer, and gets the cause.
func TestFail(t *testing.T) {
	s := newSite(t, 1, func(c *queuehttp.Config) {
		c.Problems = "https://shop.test/problems/"
		c.Fail = func(w http.ResponseWriter, r *http.Request, p *queuehttp.Problem) {
			if errors.Is(p.Err, errNobody) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="shop"`)
				p.Detail = "POST /api/login first"
			}
			p.Write(w)
		}
	})
	a := s.browser("").check("show-1")
	if a.status != 401 || a.body.Type != "https://shop.test/problems/sign-in-required" || a.body.Detail != "POST /api/login first" || a.header.Get("WWW-Authenticate") != `Bearer realm="shop"` {
		t.Errorf("%d %v %s", a.status, a.header, a.text)
	}
}
