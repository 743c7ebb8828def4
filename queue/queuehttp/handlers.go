package queuehttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/millrace-go/millrace/internal/challenger"
	"github.com/millrace-go/millrace/internal/complaint"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/token"
)

// Handlers serve a waiting room over HTTP. [Handlers.Mount] puts them on a mux, which
// any router can serve.
type Handlers struct {
	room       *queue.Room
	entries    *token.Entries
	cfg        Config
	events     *finder
	passes     *tokens.Passes         // nil: no edge is trusted
	challenge  *challenger.Challenger // nil: newcomers are asked for nothing
	catalog    catalog
	buffers    sync.Pool // of *[]byte
	complaints complaint.Log
}

// New makes the handlers of a room, which sign entry tokens with entries.
func New(room *queue.Room, entries *token.Entries, cfg Config) (*Handlers, error) {
	switch {
	case room == nil:
		return nil, errors.New("queuehttp: the room is nil; make one with queue.New")
	case entries == nil:
		return nil, errors.New("queuehttp: the entries are nil; make them with token.NewEntries")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	var err error
	if cfg.JoinRates, err = cfg.JoinRates.complete(); err != nil {
		return nil, err
	}
	h := &Handlers{
		room: room, entries: entries, cfg: cfg, events: newFinder(cfg.Event),
		catalog: catalog{ask: cfg.Known, every: cfg.KnownFor},
		buffers: sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }},
	}
	if cfg.Challenge != nil {
		if h.challenge, err = newChallenger(cfg.Challenge); err != nil {
			return nil, fmt.Errorf("queuehttp: Config.Challenge: %w", err)
		}
	}
	if cfg.PassKeys != nil {
		h.passes = tokens.NewPasses(cfg.PassKeys)
	}
	return h, nil
}

// Mount puts the handlers on a mux below a path, such as "/api/queue"; handle is the mux's,
// such as Handle of [http.ServeMux]. admin wraps the operator's handlers, and has to refuse all other users; when it is nil they
// are not mounted. See [Handlers.MountAdmin].
//
//	POST /check/{eventId}              PUT  /admin/threshold/{eventId}
//	POST /heartbeat/{eventId}          POST /admin/pause/{eventId}
//	GET  /status/{eventId}             POST /admin/resume/{eventId}
//	POST /leave/{eventId}              POST /admin/clear/{eventId}
//	POST /done/{eventId}               GET  /admin/status/{eventId}
//	GET  /draw/{eventId}               PUT  /admin/opening/{eventId}
//	GET  /draw/{eventId}/leaves        GET  /admin/figures/{eventId}
//	GET  /receipt/{eventId}            GET  /admin/plot/{eventId}
//	                                   PUT  /admin/shares/{eventId}
//	                                   PUT  /admin/challenge/{eventId}
func (h *Handlers) Mount(handle func(pattern string, handler http.Handler), below string, admin func(http.Handler) http.Handler) {
	below = strings.TrimSuffix(below, "/")
	handle("POST "+below+"/check/{eventId}", h.polls(h.room.Check, true))
	handle("POST "+below+"/heartbeat/{eventId}", h.polls(h.room.Heartbeat, false))
	handle("GET "+below+"/status/{eventId}", h.polls(h.room.Status, false))
	handle("POST "+below+"/leave/{eventId}", h.departs(h.room.Leave))
	handle("POST "+below+"/done/{eventId}", h.departs(h.room.Done))
	handle("GET "+below+"/draw/{eventId}", h.serve(h.serveDraw))
	handle("GET "+below+"/draw/{eventId}/leaves", h.serve(h.serveLeaves))
	handle("GET "+below+"/receipt/{eventId}", h.serve(h.serveReceipt))
	if admin == nil {
		return
	}
	h.MountAdmin(func(pattern string, handler http.Handler) { handle(pattern, admin(handler)) },
		func(name string) string { return below + "/admin/" + name + "/{eventId}" })
}

type asks func(context.Context, string, queue.Visitor) (queue.Place, error)

// polls answers with the user's place. Joins says that the user may line up by it.
func (h *Handlers) polls(ask asks, joins bool) http.Handler {
	return h.serve(func(w http.ResponseWriter, r *http.Request) error { return h.poll(w, r, ask, joins) })
}

func (h *Handlers) poll(w http.ResponseWriter, r *http.Request, ask asks, joins bool) error {
	event, user, err := h.visitor(r, joins)
	if err != nil {
		return err
	}
	v := queue.Visitor{User: user, Ticket: h.carried(r, TicketHeader, h.cfg.TicketCookie, event)}
	if joins {
		v.Join = h.Join(r, event, user)
	}
	if joins && h.cfg.Lane != nil {
		v.Lane = h.cfg.Lane(r, event)
	}
	if joins && h.cfg.Gate != nil {
		if v.Position, err = h.position(r, event, h.cfg.Gate); err != nil {
			return err
		}
	}
	place, err := ask(r.Context(), event, v)
	if err == nil && place.Status == queue.Gated && v.Position > 0 && h.cfg.NewPosition != nil {
		if v.Position, err = h.position(r, event, h.cfg.NewPosition); err == nil && v.Position > 0 {
			place, err = ask(r.Context(), event, v)
		}
	}
	if err != nil {
		return err
	}
	return h.tell(w, r, event, v, place)
}

// position is that of the front gate; zero for a visitor who did not pass it.
func (h *Handlers) position(r *http.Request, event string, from func(*http.Request, string) (int64, error)) (int64, error) {
	position, err := from(r, event)
	switch {
	case err == nil:
		return position, nil
	case h.ours(err), r.Context().Err() != nil:
		return 0, err
	case token.Reason(err) == "":
		h.complain(r, "queuehttp: the position of the front gate could not be read; the visitor has none", err)
	}
	return 0, nil
}

// tell answers with a visitor's place, and sets the cookies that go with it.
func (h *Handlers) tell(w http.ResponseWriter, r *http.Request, event string, v queue.Visitor, place queue.Place) error {
	var ticket, entry, gate string
	switch place.Status {
	case queue.Active:
		left := min(place.Entry.Left, h.entries.Lasts())
		var err error
		entry, err = h.entries.Issue(token.EntryClaims{Event: event, User: v.User, ID: place.Entry.ID, ExpiresAt: time.Now().Add(left)})
		if err != nil {
			return fmt.Errorf("queuehttp: %w", err)
		}
		h.setCookie(w, r, h.cfg.EntryCookie, event, entry, left)
	case queue.Gated:
		gate = strings.Replace(h.cfg.GatePath, "{eventId}", url.PathEscape(event), 1)
	}
	if entry == "" && h.cookie(r, h.cfg.EntryCookie, event) != "" {
		h.setCookie(w, r, h.cfg.EntryCookie, event, "", 0)
	}
	// A ticket that the room does not know stays: after a loss of the store it is
	// worth its place at the next Check.
	if place.Ticket != "" && place.Ticket != v.Ticket {
		ticket = place.Ticket
		h.setCookie(w, r, h.cfg.TicketCookie, event, ticket, h.cfg.TicketLasts)
	}
	h.answer(w, func(b []byte) []byte { return appendPlace(b, place, ticket, entry, gate) })
	return nil
}

// departs takes the user out: 204, also for a user that is not there.
func (h *Handlers) departs(take func(context.Context, string, string) error) http.Handler {
	return h.serve(func(w http.ResponseWriter, r *http.Request) error {
		event, user, err := h.visitor(r, false)
		if err == nil {
			err = take(r.Context(), event, user)
		}
		if err != nil {
			return err
		}
		h.setCookie(w, r, h.cfg.EntryCookie, event, "", 0)
		h.setCookie(w, r, h.cfg.TicketCookie, event, "", 0)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// visitor returns the known event of a request and its signed-in user.
func (h *Handlers) visitor(r *http.Request, joins bool) (event, user string, err error) {
	if event, err = h.event(r, h.events); err == nil {
		user, err = h.user(r)
	}
	if err == nil {
		err = h.known(r, event, joins)
	}
	return event, user, err
}

// knownEvent returns the event of a request of no visitor's.
func (h *Handlers) knownEvent(r *http.Request) (string, error) {
	event, err := h.event(r, h.events)
	if err == nil {
		err = h.known(r, event, false)
	}
	return event, err
}

// user returns the signed-in user.
func (h *Handlers) user(r *http.Request) (string, error) {
	user, err := h.cfg.User(r)
	switch {
	case err != nil && h.ours(err):
		return "", err
	case err != nil:
		return "", h.signIn(err)
	case user == "":
		return "", h.signIn(token.ErrMissing)
	case len(user) > driver.MaxUser || !utf8.ValidString(user):
		return "", h.invalid("", fmt.Sprintf("a user id is at most %d bytes of UTF-8", driver.MaxUser), nil)
	}
	return user, nil
}

// known refuses an event that is not real; and, for users who would join, one that
// is over.
func (h *Handlers) known(r *http.Request, event string, joins bool) error {
	err := h.catalog.check(r.Context(), event)
	if !joins && (errors.Is(err, ErrEnded) || errors.Is(err, ErrSoldOut)) {
		return nil
	}
	return err
}
