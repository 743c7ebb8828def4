package gate_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/gate"
)

// members is a site that knows members by a cookie, which a test sets as it likes.
func members(c *gate.Config) {
	c.Member = func(r *http.Request) (user, lane string) {
		if cookie, err := r.Cookie("member"); err == nil {
			return "member:" + cookie.Value, "member"
		}
		return "", ""
	}
}

// signIn gives a browser the cookie of a member.
func (b *browser) signIn(member string) *browser {
	b.jar.SetCookies(shop, []*http.Cookie{{Name: "member", Value: member, Path: "/"}})
	return b
}

// check is a poll of the page, with its ticket.
func (b *browser) check(ticket string) (answer struct {
	Status   string
	Position int
	Ticket   string
}) {
	b.s.t.Helper()
	got := b.do("POST", "/millrace-gate/check/sale", http.Header{"Accept": {"application/json"}, "X-Queue-Ticket": {ticket}})
	require.Equal(b.s.t, http.StatusOK, got.StatusCode, got.text)
	require.NoError(b.s.t, json.Unmarshal([]byte(got.text), &answer))
	return answer
}

// A member has one place in all browsers with a copy of the cookie.
func TestMember(t *testing.T) {
	lanes := []queue.Lane{{Name: "member", Share: 0.5}}
	s := newSite(t, queue.Config{Threshold: 1, Lanes: lanes}, members)
	s.browser().enter()
	plain, other := s.browser(), s.browser()
	for _, b := range []*browser{plain, other} {
		b.open("/")
		b.poll()
	}
	mine, copied := s.browser().signIn("kim"), s.browser().signIn("kim")
	for _, b := range []*browser{mine, copied} {
		require.Equal(t, http.StatusServiceUnavailable, b.open("/").StatusCode)
		require.Equal(t, 3, b.check("").Position)
	}
	state, err := s.room.SetThreshold(t.Context(), "sale", 2)
	require.NoError(t, err)
	require.Equal(t, 3, state.Waiting)
	rules := driver.Rules{Threshold: 1, Active: minute, Seen: 10 * minute, NoShow: minute, Tick: time.Nanosecond, Batch: 1, SweepEvery: minute, Lanes: lanes}
	for _, laned := range []int{0, 1} { // one turn of two is the lane's
		admission, err := s.store.Admit(t.Context(), "sale", rules)
		require.NoError(t, err)
		require.Equal(t, laned, admission.Laned)
		if laned == 0 {
			require.Equal(t, "active", plain.check("").Status)
			_, err = s.room.SetThreshold(t.Context(), "sale", 3)
			require.NoError(t, err)
		}
	}
	require.Equal(t, "active", mine.check("").Status)
	require.Equal(t, http.StatusSeeOther, mine.open("/").StatusCode)
	require.Equal(t, http.StatusOK, mine.open("/").StatusCode)
	require.Equal(t, "member:kim", s.last.Load().Header.Get("X-Millrace-User"))
	state, err = s.room.State(t.Context(), "sale")
	require.NoError(t, err)
	require.Equal(t, 3, state.Active)
	// Both browsers have the one place, and it ends for both.
	require.Equal(t, http.StatusSeeOther, copied.open("/").StatusCode)
	require.Equal(t, http.StatusNoContent, copied.do("POST", "/millrace-gate/leave/sale", nil).StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, mine.open("/").StatusCode)
}

// A visitor that signs in while waiting or inside keeps that place until it ends, and has no
// lane by it. Then the visitor is the member.
func TestSignInWhileWaiting(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1, Lanes: []queue.Lane{{Name: "member", Share: 0.5}}}, members)
	inside, waits := s.browser().enter(), s.browser()
	waits.open("/")
	ticket := waits.check("").Ticket
	require.NotEmpty(t, ticket)
	for _, b := range []*browser{inside, waits} {
		b.signIn("kim")
	}
	require.Equal(t, http.StatusOK, inside.open("/seats").StatusCode)
	again := waits.check(ticket)
	require.Equal(t, 1, again.Position)
	require.Equal(t, http.StatusServiceUnavailable, waits.open("/").StatusCode)
	state, err := s.room.State(t.Context(), "sale")
	require.NoError(t, err)
	require.Equal(t, 1, state.Waiting)
	require.Equal(t, http.StatusNoContent, inside.do("POST", "/millrace-gate/leave/sale", nil).StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, inside.open("/").StatusCode)
	member := inside.check("")
	require.Equal(t, 2, member.Position)
	visits := s.store.visits.Load()
	require.Equal(t, 2, inside.check(member.Ticket).Position)
	require.Equal(t, visits, s.store.visits.Load(), "a member with a ticket costs more than a poll")
	require.Equal(t, http.StatusNoContent, waits.do("POST", "/millrace-gate/leave/sale", http.Header{"X-Queue-Ticket": {ticket}}).StatusCode)
	require.Equal(t, "queued", waits.check(member.Ticket).Status)
	state, err = s.room.State(t.Context(), "sale")
	require.NoError(t, err)
	require.Equal(t, 1, state.Waiting, "the browser and the member have the one place")
}

// While the room cannot be asked, it is not known whose place counts: no place is lost.
func TestMemberWhileTheStoreIsAway(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1, Lanes: []queue.Lane{{Name: "member", Share: 0.5}}}, members)
	b := s.browser()
	b.open("/")
	b.signIn("kim")
	s.store.away.Store(true)
	require.Equal(t, http.StatusServiceUnavailable, b.open("/").StatusCode)
	answer := b.do("POST", "/millrace-gate/check/sale", http.Header{"Accept": {"application/json"}})
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, answer.text)
	s.store.away.Store(false)
}
