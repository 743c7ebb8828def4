package gate_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

// A visitor gets the page, lines up by its polls, is admitted when another leaves,
// reaches the origin, and is out when the place ends.
func TestJourney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, queue.Config{Threshold: 1, Active: 5 * minute}, nil)
		go s.room.Run(t.Context()) //nolint:errcheck // it returns nil

		first, second := s.browser().enter(), s.browser()
		require.Equal(t, "the origin at /seats?row=7", first.open("/seats?row=7").text)

		page := second.open("/seats?row=8")
		require.Equal(t, 503, page.StatusCode)
		require.Equal(t, "5", page.Header.Get("Retry-After"))
		require.Contains(t, page.text, `"event":"sale"`)
		require.Len(t, page.Cookies(), 1)
		require.Contains(t, second.poll(), `"status":"queued"`)
		require.Equal(t, 503, second.open("/seats?row=8").StatusCode)

		left := first.do("POST", "/millrace-gate/leave/sale", nil)
		require.Equal(t, 204, left.StatusCode)
		require.Equal(t, 503, first.open("/seats").StatusCode, "a visitor who left is out at once")
		time.Sleep(2 * time.Second) // an admission
		require.Contains(t, second.poll(), `"status":"active"`)
		entry := second.open("/seats?row=8")
		require.Equal(t, http.StatusSeeOther, entry.StatusCode)
		require.Equal(t, "/seats?row=8", entry.Header.Get("Location"))
		require.Len(t, entry.Cookies(), 1)
		require.Equal(t, "the origin at /seats?row=8", second.open("/seats?row=8").text)
		require.Equal(t, 200, second.do("POST", "/pay", nil).StatusCode)

		time.Sleep(5*minute + 2*time.Second) // and an admission
		require.Equal(t, 429, second.do("POST", "/pay", nil).StatusCode)
		require.Contains(t, first.poll(), `"status":"active"`, "the next in line has the place")
	})
}

// A pass counts whole seconds, and the place ends within one: in between a new pass would have
// ended already, and the browser be sent to the same address until it stops.
func TestLastSecondOfAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, queue.Config{Threshold: 1, Active: 10 * time.Second}, nil)
		time.Sleep(time.Second / 2)
		b := s.browser().enter()
		time.Sleep(10*time.Second - time.Millisecond)
		require.Equal(t, "the origin at /pay", b.open("/pay").text)
		time.Sleep(time.Millisecond)
		require.Equal(t, http.StatusSeeOther, b.open("/pay").StatusCode, "the place has ended, and the next one begins")
	})
}

// A pass is of one browser and one event.
func TestPassOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, queue.Config{Threshold: 1}, nil)
		inside, other := s.browser().enter(), s.browser()
		other.open("/")
		var pass *http.Cookie
		for _, c := range inside.jar.Cookies(shop) {
			if strings.HasPrefix(c.Name, "millrace-pass-") {
				pass = c
			}
		}
		other.jar.SetCookies(shop, []*http.Cookie{pass})
		require.Equal(t, 429, other.do("GET", "/api", nil).StatusCode)
		require.Equal(t, 200, inside.do("GET", "/api", nil).StatusCode)

		elsewhere := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Event = "fair" })
		inside.s = elsewhere
		renamed := *pass
		renamed.Name = "millrace-pass-fair"
		inside.jar.SetCookies(shop, []*http.Cookie{&renamed})
		require.Equal(t, 429, inside.do("GET", "/api", nil).StatusCode)
	})
}

// A browser that keeps no cookies takes no place, however often it comes.
func TestWithoutCookiesNoPlace(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 3}, nil)
	for range 10 {
		require.Equal(t, 503, s.browser().open("/").StatusCode)
	}
	require.Zero(t, s.store.visits.Load(), "the store is asked")
	answer := s.browser().do("POST", "/millrace-gate/check/sale", nil)
	require.Equal(t, 403, answer.StatusCode)
	require.Contains(t, answer.text, "cookies-needed")
}

// What is published of a draw can be read without a cookie: by programs, and by caches.
func TestDrawWithoutCookies(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 3}, nil)
	for path, want := range map[string]int{"/draw/sale": 204, "/draw/sale/leaves": 404, "/draw/fair": 404, "/receipt/sale": 403} {
		got := s.browser().do("GET", "/millrace-gate"+path, nil)
		require.Equalf(t, want, got.StatusCode, "GET %s: %s", path, got.text)
	}
}

// Cookies are set one at a time, on navigations only.
func TestCookies(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Proxied = secure })
		b := s.browser()
		h := navigation.Clone()
		if secure {
			h.Set("X-Forwarded-Proto", "https")
		}
		seen := map[string]bool{}
		for range 4 {
			answer := b.do("GET", "/", h)
			require.LessOrEqual(t, len(answer.Cookies()), 1)
			for _, c := range answer.Cookies() {
				seen[c.Name] = true
				require.True(t, c.HttpOnly && c.SameSite == http.SameSiteLaxMode && c.Path == "/" && c.Secure == secure && c.Domain == "", c.String())
				require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
				c.Secure = false // the jar's address is http
				b.jar.SetCookies(shop, []*http.Cookie{c})
			}
		}
		require.Equal(t, map[string]bool{"millrace-visitor": true, "millrace-pass-sale": true}, seen)
	}
}
