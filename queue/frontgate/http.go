package frontgate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/complaint"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Handlers are the HTTP handlers of a gate:
//
//	h.Mount(mux.Handle, "/vwr")
//	mux.HandleFunc("GET /enter/{eventId}", h.Guard)
//	mux.Handle("GET /events/{eventId}", h.Protect(page))
//	h.MountAdmin(admins.Handle, "/api/admin/vwr") // a mux for operators alone
//
// Those of Mount are for all clients, without a sign-in. A position is sealed to the signed-in member
// (HTTPConfig.Member), else to the browser, which names itself by the cookie
// urr-vwr-browser of 22 to 64 random characters of base64url. A client that shows neither
// gets a position of all that have its request id or token. A bot that takes many positions delays later
// visitors by that much, so bound the requests of an address, with package
// ratelimit or at the edge. A client without cookies brings
// its token in the header X-Vwr-Token, which has precedence over the cookie. Every answer has
// Cache-Control: no-store.
type Handlers struct {
	gate       *Gate
	cfg        HTTPConfig
	complaints complaint.Log
}

// NewHandlers makes the handlers of a gate.
func NewHandlers(gate *Gate, cfg HTTPConfig) (*Handlers, error) {
	if gate == nil {
		return nil, errors.New("frontgate: the gate is nil; make one with frontgate.New")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Handlers{gate: gate, cfg: cfg}, nil
}

// maxBody is the longest body of a request, in bytes.
const maxBody = 1 << 10

// Mount puts the handlers that visitors poll on a mux, below a path such as "/vwr"; handle is
// the mux's, such as Handle of [http.ServeMux].
//
//	POST /assign/{eventId}             gives a position out; a body is ignored
//	  200 {requestId, position, nextPoll}
//	  409 gate-off, with redirectTo: the way is open
//	GET /check/{eventId}/{requestId}   says whether the visitor is admitted; then the answer
//	                                   has the token, and sets its cookie
//	  200 {admitted, position, servingCounter, nextPoll, token, estimatedWait}
//	  404 request-not-found: there is no such request id, or it is another visitor's
//	  410 position-lost: ask for a new one
//
// Both answer 503 unavailable, with Retry-After, during an outage of the store. Times are in
// seconds; token is null and estimatedWait above 0 until admitted.
func (h *Handlers) Mount(handle func(pattern string, handler http.Handler), below string) {
	below = strings.TrimSuffix(below, "/")
	handle("POST "+below+"/assign/{eventId}", http.HandlerFunc(h.assign))
	handle("GET "+below+"/check/{eventId}/{requestId}", http.HandlerFunc(h.check))
}

// MountAdmin puts the operator's handlers on a mux, below a path such as "/api/admin/vwr".
// They check no rights: mount them where only operators are let in.
//
//	POST /activate/{eventId}     switches the gate on
//	POST /deactivate/{eventId}   … and off
//	POST /advance/{eventId}      raises the serving counter at once: by {by} of the body, or by
//	                             Config.Step without one
//	GET  /status/{eventId}
//
// All of them answer with the state of the gate:
//
//	200 {eventId, active, nextPosition, servingCounter, waiting, advanced}
//
// nextPosition is the last position given out; waiting is the number of positions not served,
// and advanced the number by which the serving counter was raised.
func (h *Handlers) MountAdmin(handle func(pattern string, handler http.Handler), below string) {
	below = strings.TrimSuffix(below, "/")
	handle("POST "+below+"/activate/{eventId}", h.state(h.gate.Activate))
	handle("POST "+below+"/deactivate/{eventId}", h.state(h.gate.Deactivate))
	handle("POST "+below+"/advance/{eventId}", http.HandlerFunc(h.advance))
	handle("GET "+below+"/status/{eventId}", h.state(h.gate.Status))
}

func (h *Handlers) assign(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		h.fail(w, r, unread(err, "ended early"))
		return
	}
	place, err := h.gate.Assign(r.Context(), h.cfg.Event(r), h.members(r)[0])
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.write(w, r, struct {
		RequestID string  `json:"requestId"`
		Position  int64   `json:"position"`
		NextPoll  float64 `json:"nextPoll"`
	}{place.RequestID, place.Position, place.NextPoll.Seconds()})
}

func (h *Handlers) check(w http.ResponseWriter, r *http.Request) {
	event := h.cfg.Event(r)
	turn, err := h.gate.Check(r.Context(), event, r.PathValue("requestId"), h.members(r)...)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer := struct {
		Admitted bool    `json:"admitted"`
		Position int64   `json:"position"`
		Serving  int64   `json:"servingCounter"`
		NextPoll float64 `json:"nextPoll"`
		Token    *string `json:"token"`
		Wait     float64 `json:"estimatedWait"`
	}{turn.Admitted, turn.Position, turn.Serving, turn.NextPoll.Seconds(), nil, turn.Wait.Seconds()}
	if turn.Admitted {
		answer.Token = &turn.Token
		http.SetCookie(w, &http.Cookie{
			Name: h.cfg.cookie(event), Value: turn.Token, Path: "/", MaxAge: int(h.gate.tokens.Lasts() / time.Second),
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: h.cfg.Secure(r),
		})
	}
	h.write(w, r, answer)
}

// state answers with the state of the gate.
func (h *Handlers) state(of func(ctx context.Context, event string) (driver.State, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		state, err := of(r.Context(), h.cfg.Event(r))
		h.standing(w, r, driver.Round{State: state}, err)
	}
}

func (h *Handlers) advance(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		By int64 `json:"by"`
	}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&ask); err != nil && !errors.Is(err, io.EOF) {
		h.fail(w, r, unread(err, `is not {"by": a number}`))
		return
	}
	round, err := h.gate.Advance(r.Context(), h.cfg.Event(r), ask.By)
	h.standing(w, r, round, err)
}

// unread is the client's mistake in a body: it is too large, or as told.
func unread(err error, why string) error {
	if errors.As(err, new(*http.MaxBytesError)) {
		return err
	}
	return driver.Invalid("the body %s", why)
}

func (h *Handlers) standing(w http.ResponseWriter, r *http.Request, round driver.Round, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.write(w, r, struct {
		Event    string `json:"eventId"`
		Active   bool   `json:"active"`
		Assigned int64  `json:"nextPosition"`
		Serving  int64  `json:"servingCounter"`
		Waiting  int64  `json:"waiting"`
		Moved    int64  `json:"advanced"`
	}{h.cfg.Event(r), round.On, round.Assigned, round.Serving, round.Assigned - round.Serving, round.Moved})
}

func (h *Handlers) write(w http.ResponseWriter, r *http.Request, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	to := w.Header()
	to.Set("Content-Type", "application/json")
	to.Set("Cache-Control", "no-store")
	to.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}
