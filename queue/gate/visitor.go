package gate

import (
	"net/http"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/token"
)

// Names of cookies. That of the pass goes on with the event, so that gates for two
// events of one site do not take each other's.
const (
	visitorCookie = "millrace-visitor"
	passCookie    = "millrace-pass-"
)

// visitorLasts is how long a browser is the same visitor.
const visitorLasts = 30 * 24 * time.Hour

// hasPass says whether a request carries a valid pass of the visitor.
func (g *Gate) hasPass(r *http.Request, user string) bool {
	for _, c := range r.CookiesNamed(g.passCookie) {
		if g.verified.good(user, c.Value) {
			return true
		}
		if claims, err := g.entries.Verify(c.Value, g.cfg.Event); err == nil && claims.User == user {
			g.verified.keep(user, c.Value, claims.ExpiresAt)
			return true
		}
	}
	return false
}

// newVisitor is the cookie of a browser that has none.
func (g *Gate) newVisitor(secure bool) *http.Cookie {
	text, _ := g.visitors.Issue()
	return cookie(visitorCookie, text, visitorLasts, secure)
}

// newPass is the cookie of a visitor who has a place. It ends with the place.
func (g *Gate) newPass(user string, entry queue.Entry, secure bool) (*http.Cookie, error) {
	left := min(entry.Left, longest)
	text, err := g.entries.Issue(token.EntryClaims{Event: g.cfg.Event, User: user, ID: entry.ID, ExpiresAt: time.Now().Add(left)})
	if err != nil {
		return nil, err
	}
	return cookie(g.passCookie, text, left, secure), nil
}

// cookie is Lax, since a Strict one is not sent when a buyer returns from the page
// of a bank.
func cookie(name, value string, lasts time.Duration, secure bool) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: max(1, int(lasts/time.Second)),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}
}
