package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/complaint"
	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/queuepage"
	"github.com/millrace-go/millrace/queue/token"
)

// Gate stands before a site and lets in the visitors that the room admits. Its
// methods are safe for concurrent use. It has no goroutine besides those of the
// requests that it serves.
type Gate struct {
	cfg        Config
	room       *queue.Room
	wait, pass []pattern
	visitors   *seal.Visitors
	tickets    *seal.Tickets
	entries    *token.Entries
	origins    *seal.Origins
	page       http.Handler
	rooms      *queuehttp.Handlers
	own        *http.ServeMux
	proxy      *httputil.ReverseProxy
	idle       func() // closes the connections of the default transport
	passCookie string
	alive      alive
	verified   verified
	counts     counts
	complaints complaint.Log
}

// longest bounds a pass whatever Config.Active of the room is; a pass ends with the
// place in any case.
const longest = 7 * 24 * time.Hour

// New makes a gate before a room.
func New(room *queue.Room, cfg Config) (*Gate, error) {
	if room == nil {
		return nil, errors.New("gate: the room is nil; make one with queue.New")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g := &Gate{
		cfg: cfg, room: room, own: http.NewServeMux(), idle: func() {},
		visitors: seal.NewVisitors(cfg.Keys), tickets: seal.NewTickets(cfg.Keys), origins: seal.NewOrigins(cfg.Keys),
		passCookie: passCookie + url.QueryEscape(cfg.Event),
		alive:      alive{every: cfg.AliveEvery},
	}
	var err error
	if g.wait, err = parsePatterns("Wait", cfg.Wait); err != nil {
		return nil, err
	}
	if g.pass, err = parsePatterns("Pass", cfg.Pass); err != nil {
		return nil, err
	}
	if g.entries, err = token.NewEntries(cfg.Keys, token.Config{Lasts: longest}); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	solver := ""
	if cfg.Challenge != nil {
		solver = cfg.Below + "/solver.js"
		g.own.Handle("GET "+solver, challenge.Solver())
	}
	if g.page, err = queuepage.New(queuepage.Config{
		Event: cfg.Event, Check: cfg.Below + "/check/{eventId}", Heartbeat: cfg.Below + "/heartbeat/{eventId}", Leave: cfg.Below + "/leave/{eventId}",
		Solver: solver, Brand: cfg.Brand, Language: cfg.Language, RetryAfter: cfg.RetryAfter,
	}); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	if rates := cfg.JoinRates; rates != nil {
		own := *rates
		own.Proxies.Peer = own.Proxies.Peer || cfg.Proxied || cfg.Origin == nil
		cfg.JoinRates = &own
	}
	if g.rooms, err = queuehttp.New(room, g.entries, queuehttp.Config{
		User: userOf, Event: g.eventOf, Known: g.known, NoCookies: true, Lane: laneOf, Challenge: cfg.Challenge, JoinRates: cfg.JoinRates, Logger: cfg.Logger,
	}); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	g.rooms.Mount(g.own.Handle, cfg.Below, nil)
	if cfg.Origin != nil {
		g.proxy = g.newProxy()
	}
	return g, nil
}

// eventOf is the event of a request to the gate's own routes.
func (g *Gate) eventOf(r *http.Request) string {
	if r.Pattern == "" || !strings.Contains(r.Pattern, "{eventId}") {
		return g.cfg.Event // an operator's
	}
	return r.PathValue("eventId")
}

// known keeps visitors from opening other rooms.
func (g *Gate) known(_ context.Context, event string) error {
	if event != g.cfg.Event {
		return queuehttp.ErrUnknownEvent
	}
	return nil
}

// Handler is the gate as a reverse proxy: it answers its own routes, keeps
// visitors without a place waiting, and hands everything else on to Config.Origin.
func (g *Gate) Handler() (http.Handler, error) {
	if g.proxy == nil {
		return nil, errors.New("gate: Config.Origin is nil; give the address of the site behind the gate, or use Judge")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.serveOwn(w, r) {
			return
		}
		q := g.ask(r)
		d := g.decide(q)
		if d.verdict != goesOn {
			g.answer(w, q, d)
			return
		}
		g.forward(w, q, d)
	}), nil
}

// Operator is for operators of the event: it checks no rights, so serve it where
// visitors cannot reach it.
//
//	GET  /room             the state of the room, and its figures
//	PUT  /room/threshold   {"threshold": 500}
//	POST /room/pause       /room/resume, /room/clear
//	PUT  /room/shares      {"shares": {"member": 0.4}}
//	PUT  /room/challenge   {"on": true}, with Config.Challenge
//	PUT  /room/opening     {"opens": "2027-05-01T11:00:00Z"}
//	GET  /room/figures     by minute, as CSV
//	GET  /room/plot        the same as a page
//
// The headers X-Operator and X-Reason name the operator and the reason of a change: the
// room's settings keep them, where it has any.
func (g *Gate) Operator() http.Handler {
	mux := http.NewServeMux()
	g.rooms.MountAdmin(mux.Handle, func(name string) string {
		if name == "status" {
			return "/room"
		}
		return "/room/" + name
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := queue.By(r.Context(), r.Header.Get("X-Operator"), r.Header.Get("X-Reason"))
		mux.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Close closes the idle connections to the origin. Requests in flight go on.
func (g *Gate) Close() { g.idle() }

// serveOwn answers the routes of the gate's own.
func (g *Gate) serveOwn(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != g.cfg.Below && !strings.HasPrefix(r.URL.Path, g.cfg.Below+"/") {
		return false
	}
	v := g.visitorOf(r)
	if !v.known() && !strings.HasPrefix(r.URL.Path, g.cfg.Below+"/draw/") { // what is published is for everyone
		g.problem(w, http.StatusForbidden, "cookies-needed", "The browser has sent no cookie of this gate", "load the page again, and accept its cookies", 0)
		return true
	}
	switch r.URL.Path {
	case g.cfg.Below + "/leave/" + g.cfg.Event, g.cfg.Below + "/done/" + g.cfg.Event:
		// The next request of a visitor who has left asks the room.
		defer g.alive.forget(v.browser)
		defer g.alive.forget(v.member)
	}
	g.own.ServeHTTP(w, g.withPlace(r, v))
	return true
}
