package gate_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/gate"
)

// A browser that discards a hidden tab loads the page again. The place is kept all the
// same, since the page brings the ticket, and a navigation joins no line that others are in.
func TestAReloadAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, queue.Config{Threshold: 1}, nil)
		s.browser().enter()
		_, err := s.room.SetThreshold(t.Context(), "sale", 0)
		require.NoError(t, err)
		phone, other := s.browser(), s.browser()
		tickets := map[*browser]string{}
		ask := func(b *browser) (answer struct {
			Position int
			Returner bool
			Ticket   string
		}) {
			got := b.do("POST", "/millrace-gate/check/sale", http.Header{"Accept": {"application/json"}, "X-Queue-Ticket": {tickets[b]}})
			require.NoError(t, json.Unmarshal([]byte(got.text), &answer), got.text)
			if answer.Ticket != "" {
				tickets[b] = answer.Ticket
			}
			return answer
		}
		for i, b := range []*browser{phone, other} {
			b.open("/")
			require.Equal(t, i+1, ask(b).Position)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.room.Run(ctx) }()
		for range 30 {
			time.Sleep(minute)
			ask(other)
		}
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, 1, ask(other).Position)
		require.Equal(t, http.StatusServiceUnavailable, phone.open("/").StatusCode)
		back := ask(phone)
		require.True(t, back.Returner)
		require.Equal(t, 1, back.Position)
		require.Equal(t, 1, ask(other).Position)
		s.gate.Close()
	})
}

// A visitor has a lane, by what the site says of a request.
func TestLane(t *testing.T) {
	lanes := []queue.Lane{{Name: "member", Share: 0.5}}
	s := newSite(t, queue.Config{Threshold: 1, Lanes: lanes}, func(c *gate.Config) {
		c.Member = func(r *http.Request) (user, lane string) {
			if r.Header.Get("X-Member") != "" {
				return "", "member"
			}
			return "", ""
		}
	})
	s.browser().enter()
	for _, h := range []http.Header{{}, {}, {"X-Member": {"1"}}} {
		b := s.browser()
		b.open("/")
		h["Accept"] = []string{"application/json"}
		require.Equal(t, http.StatusOK, b.do("POST", "/millrace-gate/check/sale", h).StatusCode)
	}
	_, err := s.room.SetThreshold(t.Context(), "sale", 3)
	require.NoError(t, err)
	admission, err := s.store.Admit(t.Context(), "sale", driver.Rules{
		Threshold: 1, Active: minute, Seen: 10 * minute, NoShow: minute, Tick: time.Second, Batch: 10, SweepEvery: minute, Lanes: lanes,
	})
	require.NoError(t, err)
	require.Len(t, admission.Admitted, 2)
	require.Equal(t, 1, admission.Laned)
}
