package gate

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// verdict is the gate's decision about a request.
type verdict uint8

const (
	goesOn  verdict = iota // to the origin
	enters                 // a navigation of a visitor just admitted
	waits                  // a navigation: it gets the waiting page
	refused                // anything else without a place
	odd                    // a path that can be read in more than one way, or a tunnel
)

// question is a request as the visitor made it.
type question struct {
	*http.Request
	target string // path and query, as they were on the wire
	secure bool   // it came over https
	by     string // the method of the request that is answered: a judge's is not the visitor's
	tunnel bool   // the proxy may change the connection to one of HTTP
}

type decision struct {
	verdict verdict
	user    string // of a visitor inside; empty for a request that needs no place
	cookie  *http.Cookie
}

// ask is the question of a request that came to the gate itself.
func (g *Gate) ask(r *http.Request) question {
	return question{Request: r, target: targetOf(r), secure: r.TLS != nil || g.cfg.Proxied && r.Header.Get("X-Forwarded-Proto") == "https", by: r.Method}
}

// targetOf is the path and query of a request as the client sent them.
func targetOf(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI() // it was in absolute form
}

// pathOf is the escaped path of a target.
func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

// decide judges a request. A visitor with a pass may go anywhere. Only a navigation
// asks the room for a place: a crowd's other requests cost nothing.
func (g *Gate) decide(q question) decision {
	if q.tunnel {
		return decision{verdict: odd}
	}
	if q.Method == http.MethodOptions {
		return decision{verdict: goesOn} // a preflight carries no cookies
	}
	v := g.visitorOf(q.Request)
	for _, user := range [...]string{v.member, v.browser} {
		if user != "" && g.hasPass(q.Request, user) && g.stillInside(q.Context(), user) {
			return decision{verdict: goesOn, user: user}
		}
	}
	paths, err := readPath(pathOf(q.target))
	switch {
	case err != nil:
		return decision{verdict: odd}
	case !paths.waits(g.wait, g.pass):
		return decision{verdict: goesOn}
	case !navigates(q.Request):
		return decision{verdict: refused}
	case !v.known():
		// A place is for a browser that has shown that it keeps cookies: a crawler or a
		// monitor would take one with each request.
		return decision{verdict: waits, cookie: g.newVisitor(q.secure)}
	}
	user, place, err := g.place(q, v)
	if err == nil && place.Status == queue.Active {
		if place.Entry.Left < time.Second { // a pass counts whole seconds, and may have ended before it is back
			return decision{verdict: goesOn, user: user}
		}
		var pass *http.Cookie
		if pass, err = g.newPass(user, place.Entry, q.secure); err == nil {
			g.alive.forget(user)
			return decision{verdict: enters, user: user, cookie: pass}
		}
	}
	if err != nil && !errors.Is(err, queuehttp.ErrRefused) {
		g.complain("gate: the room cannot be asked; the visitor waits", err)
	}
	return decision{verdict: waits} // the page goes on asking, also when the room could not be asked, or the visitor may not join yet
}

// place is the place of a visitor who navigates. While others wait, the page lines the
// visitor up: its ticket may be that of a kept place, which a navigation does not carry.
func (g *Gate) place(q question, v visitor) (user string, place queue.Place, err error) {
	if user, err = g.userIn(q.Request, v); err != nil {
		return user, place, err
	}
	place, err = g.room.Heartbeat(q.Context(), g.cfg.Event, queue.Visitor{User: user})
	if err != nil || place.Status != queue.None || place.Waiting > 0 {
		return user, place, err
	}
	place, err = g.room.Check(q.Context(), g.cfg.Event, queue.Visitor{
		User: user, Lane: v.laneAs(user), Join: g.rooms.Join(q.Request, g.cfg.Event, user),
	})
	return user, place, err
}

// navigates says whether a browser loads a document.
func navigates(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") || r.Header.Get("Upgrade") != "" {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "", "document", "iframe", "frame":
		return true
	}
	return false
}

// sameAddress is a Location that leads to the target on the same site, whatever the
// target is: "//host" alone would lead to another one.
func sameAddress(target string) string {
	if len(target) > 1 && (target[1] == '/' || target[1] == '\\') {
		return "/." + target
	}
	return target
}
