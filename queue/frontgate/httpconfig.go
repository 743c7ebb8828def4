package frontgate

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// tokenHeader carries the token of the gate for clients without cookies. It has
// precedence: with the header in a request, its cookie is not read.
const tokenHeader = "x-vwr-token"

// HTTPConfig is the configuration of [Handlers]. The zero value works.
type HTTPConfig struct {
	// Event returns the event of a request; the path's {eventId} by default.
	Event func(*http.Request) string
	// Member returns the user who is signed in, or "" for none. A position that a
	// member takes is good for that member alone, in all browsers. No member by
	// default. A name that begins with "browser:" counts as none.
	Member func(*http.Request) string
	// GatePath, EventPath and QueuePath are where visitors are sent; {eventId}
	// stands for the event. /vwr/{eventId}, /events/{eventId} and /queue/{eventId}
	// by default.
	GatePath  string
	EventPath string
	QueuePath string
	// Cookie is the name of the token's cookie; "urr-vwr-token" by default.
	Cookie string
	// PerEvent puts a hyphen and the event after the name of the cookie, so that a
	// browser can have passed the gates of several events.
	PerEvent bool
	// Secure says whether a request came over https, and hence whether the cookie is
	// Secure; by default whether it has TLS. Behind a proxy that ends TLS let it
	// return true.
	Secure func(*http.Request) bool
	// RetryAfter is the Retry-After during an outage of the store; 3 s by default.
	RetryAfter time.Duration
	// Problems is the prefix of the types of problems; "/problems/" by default.
	Problems string
	// Logger gets the causes of 5xx answers, at most one a second; slog.Default()
	// when nil.
	Logger *slog.Logger
}

const placeholder = "{eventId}"

var cookieName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func (c HTTPConfig) complete() (HTTPConfig, error) {
	c.GatePath = cmp.Or(c.GatePath, "/vwr/"+placeholder)
	c.EventPath = cmp.Or(c.EventPath, "/events/"+placeholder)
	c.QueuePath = cmp.Or(c.QueuePath, "/queue/"+placeholder)
	c.Cookie = cmp.Or(c.Cookie, "urr-vwr-token")
	c.Problems = cmp.Or(c.Problems, "/problems/")
	c.RetryAfter = cmp.Or(c.RetryAfter, 3*time.Second)
	if c.Event == nil {
		c.Event = func(r *http.Request) string { return r.PathValue("eventId") }
	}
	if c.Member == nil {
		c.Member = func(*http.Request) string { return "" }
	}
	if c.Secure == nil {
		c.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	for _, p := range [...]struct{ field, path string }{{"GatePath", c.GatePath}, {"EventPath", c.EventPath}, {"QueuePath", c.QueuePath}} {
		if err := checkPath(p.path); err != nil {
			return c, fmt.Errorf("frontgate: HTTPConfig.%s is %q: %w", p.field, p.path, err)
		}
	}
	switch {
	case !cookieName.MatchString(c.Cookie):
		return c, fmt.Errorf("frontgate: HTTPConfig.Cookie is %q; use 1 to 64 letters, digits, dots, hyphens and underscores", c.Cookie)
	case c.RetryAfter < time.Second:
		return c, fmt.Errorf("frontgate: HTTPConfig.RetryAfter is %s; give at least 1 s, or 0 for 3 s", c.RetryAfter)
	}
	return c, nil
}

// checkPath refuses paths that a browser could take for another site.
func checkPath(path string) error {
	bad := func(r rune) bool { return r == '\\' || r <= ' ' || r == 0x7f }
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, bad):
		return errors.New("give a path of this site, such as /vwr/{eventId}")
	case strings.Count(path, placeholder) != 1 || strings.HasPrefix(path, "/"+placeholder):
		return errors.New("write {eventId} once, and not first, where the event goes")
	}
	return nil
}

func pathTo(path, event string) string {
	return strings.Replace(path, placeholder, url.PathEscape(event), 1)
}

func (c HTTPConfig) cookie(event string) string {
	if c.PerEvent {
		return c.Cookie + "-" + url.QueryEscape(event)
	}
	return c.Cookie
}
