package queuehttp_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/queuehttp"
)

func TestCookies(t *testing.T) {
	for _, c := range []struct {
		name          string
		https         bool
		change        func(*queuehttp.Config)
		entry, ticket string
		secure        bool
	}{
		{"http", false, nil, "urr-entry-token-show-1", "urr-queue-ticket-show-1", false},
		{"https", true, nil, "urr-entry-token-show-1", "urr-queue-ticket-show-1", true},
		{"behind a proxy that ends TLS", false, func(c *queuehttp.Config) { c.Secure = func(*http.Request) bool { return true } }, "urr-entry-token-show-1", "urr-queue-ticket-show-1", true},
		{"host prefix", true, func(c *queuehttp.Config) { c.HostPrefix = true }, "__Host-urr-entry-token-show-1", "__Host-urr-queue-ticket-show-1", true},
		{"host prefix on http", false, func(c *queuehttp.Config) { c.HostPrefix = true }, "urr-entry-token-show-1", "urr-queue-ticket-show-1", false},
		{"names of one's own", false, func(c *queuehttp.Config) { c.EntryCookie, c.TicketCookie = "in-", "line-" }, "in-show-1", "line-show-1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, 1, c.change)
				s.https = c.https
				seen := map[string]*http.Cookie{}
				for _, user := range []string{"alice", "bob"} {
					for _, cookie := range s.browser(user).check("show-1").set {
						seen[user+" "+cookie.Name] = cookie
						if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Secure != c.secure || cookie.Path != "/" || cookie.Domain != "" {
							t.Errorf("%s: %s", user, cookie)
						}
					}
				}
				entry, ticket := seen["alice "+c.entry], seen["bob "+c.ticket]
				if len(seen) != 3 || entry == nil || ticket == nil || seen["alice "+c.ticket] == nil {
					t.Fatalf("the cookies are %v", seen)
				}
				if entry.MaxAge != 600 || ticket.MaxAge != 24*60*60 {
					t.Errorf("they last %d s and %d s", entry.MaxAge, ticket.MaxAge)
				}
			})
		})
	}
}

// A client without cookies keeps its place by the header.
func TestNoCookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, func(c *queuehttp.Config) { c.NoCookies = true })
		for _, user := range []string{"alice", "bob"} {
			b := s.browser(user)
			for _, path := range []string{"check/show-1", "heartbeat/show-1", "leave/show-1", "check/show-1"} {
				a := b.do("POST", "/api/queue/"+path, "")
				if len(a.set) > 0 || a.status >= 300 {
					t.Errorf("%s of %s: %d %v", path, user, a.status, a.set)
				}
				if path == "check/show-1" && a.body.Ticket == "" {
					t.Errorf("%s has no ticket: %s", user, a.text)
				}
			}
		}
	})
}

// On https a cookie without the prefix, which another host of the domain can set,
// is ignored.
func TestHostPrefixIsTheOnlyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, func(c *queuehttp.Config) { c.HostPrefix = true })
		s.https = true
		alice := s.browser("alice")
		alice.check("show-1")
		require.Equal(t, 200, alice.do("GET", "/seats/show-1", "").status, "with the prefix")
		c := alice.cookies["__Host-urr-entry-token-show-1"]
		c.Name = "urr-entry-token-show-1"
		if a := alice.do("GET", "/seats/show-1", ""); a.status != 403 || a.text != required {
			t.Errorf("without it: %d %s", a.status, a.text)
		}
	})
}

// Cookies of two events never have the same name, for any ids.
func TestCookieOfAnyEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 10, nil)
		alice := s.browser("alice")
		events := []string{"show-1", "%EC%87%BC", "a;b", "a=b", "a%2Cb", "%22a%22", "a%25b", "a%252Cb", "(1)", "%C5%81"}
		for _, event := range events {
			a := alice.check(event)
			alice.want(a, "active", 0, 0, 0)
			if a := alice.do("GET", "/seats/"+event, ""); a.status != 200 {
				t.Errorf("%s: %d %s", event, a.status, a.text)
			}
		}
		if len(alice.cookies) != 2*len(events) {
			t.Errorf("%d events have %d cookies", len(events), len(alice.cookies))
		}
		for _, event := range events {
			if a := alice.do("POST", "/api/queue/leave/"+event, ""); a.status != 204 {
				t.Errorf("%s: %d %s", event, a.status, a.text)
			}
		}
		assert.Empty(t, alice.cookies, "after leaving")
	})
}

func TestNewRefuses(t *testing.T) {
	s := newSite(t, 1, nil)
	user := func(*http.Request) (string, error) { return "u", nil }
	for field, cfg := range map[string]queuehttp.Config{
		"User":         {},
		"KnownFor":     {User: user, KnownFor: -1},
		"TicketLasts":  {User: user, TicketLasts: 1},
		"RetryAfter":   {User: user, RetryAfter: 1},
		"EntryCookie":  {User: user, EntryCookie: "a b"},
		"TicketCookie": {User: user, TicketCookie: "a;"},
		"both":         {User: user, TicketCookie: "a", EntryCookie: "a"},
		"GatePath":     {User: user, GatePath: "//evil.test/{eventId}"},
		"Redirect":     {User: user, Redirect: "https://evil.test"},
	} {
		if _, err := queuehttp.New(s.room, s.entries, cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := queuehttp.New(nil, s.entries, queuehttp.Config{User: user}); err == nil {
		t.Error("no room was taken")
	}
	if _, err := queuehttp.New(s.room, nil, queuehttp.Config{User: user}); err == nil {
		t.Error("no entries were taken")
	}
}
