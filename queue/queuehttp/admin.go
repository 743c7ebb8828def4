package queuehttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/queue"
)

const (
	maxBody      = 4 << 10
	maxThreshold = math.MaxInt32
)

// MountAdmin puts the operator's handlers on a mux, each at the path of its name. They check
// no rights: mount them where only operators are let in. All but the last two answer with the
// state of the room.
//
//	name             method  body
//	threshold        PUT     {"threshold": n}: how many users may be active, from 0
//	shares           PUT     {"shares": {"member": 0.4}}: see [queue.Room.SetShares]
//	challenge        PUT     {"on": true}: see [queue.Room.SetChallenge]; with Config.Challenge
//	opening          PUT     {"opens": "2027-05-01T11:00:00Z", "beacon": ""}, or null for no
//	                         opening: see [queue.Room.OpenAt]
//	pause, resume    POST
//	clear            POST    all users out, from the line and from inside; entry tokens stay
//	                         valid until they expire, except for writes that ask the room
//	status           GET
//	figures, plot    GET     by minute, as CSV and as a page
func (h *Handlers) MountAdmin(handle func(pattern string, handler http.Handler), path func(name string) string) {
	put := func(method, name string, answer func(http.ResponseWriter, *http.Request) error) {
		handle(method+" "+path(name), h.serve(answer))
	}
	operate := func(do func(context.Context, string) (queue.State, error)) func(http.ResponseWriter, *http.Request) error {
		return func(w http.ResponseWriter, r *http.Request) error { return h.operate(w, r, do) }
	}
	put("PUT", "threshold", h.setThreshold)
	put("PUT", "shares", h.setShares)
	put("PUT", "opening", h.setOpening)
	if h.cfg.Challenge != nil {
		put("PUT", "challenge", h.setChallenge)
	}
	put("POST", "pause", operate(h.room.Pause))
	put("POST", "resume", operate(h.room.Resume))
	put("POST", "clear", operate(h.room.Clear))
	put("GET", "status", operate(h.room.State))
	put("GET", "figures", h.csv)
	put("GET", "plot", h.plot)
}

func (h *Handlers) setThreshold(w http.ResponseWriter, r *http.Request) error {
	n, err := h.threshold(w, r)
	if err != nil {
		return err
	}
	return h.operate(w, r, func(ctx context.Context, event string) (queue.State, error) {
		return h.room.SetThreshold(ctx, event, n)
	})
}

func (h *Handlers) operate(w http.ResponseWriter, r *http.Request, do func(context.Context, string) (queue.State, error)) error {
	event, err := h.knownEvent(r)
	if err != nil {
		return err
	}
	s, err := do(r.Context(), event)
	if err != nil {
		return err
	}
	on := h.challenges(event, s)
	if s.Challenge = &on; h.cfg.Challenge == nil {
		s.Challenge = nil
	}
	h.answer(w, func(b []byte) []byte { return appendState(b, s) })
	return nil
}

func (h *Handlers) threshold(w http.ResponseWriter, r *http.Request) (int, error) {
	const name = "threshold"
	fields, err := h.fields(w, r, `{"threshold": 1000}`, name)
	if err != nil {
		return 0, err
	}
	var n *int64
	if raw, ok := fields[name]; !ok {
		return 0, h.invalid(name, "threshold is missing; give a whole number from 0", nil)
	} else if err := json.Unmarshal(raw, &n); err != nil || n == nil {
		return 0, h.invalid(name, "threshold is not a whole number", err)
	}
	if *n < 0 || *n > maxThreshold {
		return 0, h.invalid(name, fmt.Sprintf("threshold is %d; give 0 to %d", *n, maxThreshold), nil)
	}
	return int(*n), nil
}

func (h *Handlers) setShares(w http.ResponseWriter, r *http.Request) error {
	const name = "shares"
	fields, err := h.fields(w, r, `{"shares": {"member": 0.4}}`, name)
	if err != nil {
		return err
	}
	var shares map[string]float64
	if err := json.Unmarshal(fields[name], &shares); err != nil || shares == nil {
		return h.invalid(name, `shares are missing, or no numbers by the names of lanes; send {"shares": {"member": 0.4}}, or {} for those of the program`, err)
	}
	return h.operate(w, r, func(ctx context.Context, event string) (queue.State, error) {
		return h.room.SetShares(ctx, event, shares)
	})
}

func (h *Handlers) setChallenge(w http.ResponseWriter, r *http.Request) error {
	fields, err := h.fields(w, r, `{"on": true}`, "on")
	if err != nil {
		return err
	}
	var on *bool
	if err := json.Unmarshal(fields["on"], &on); err != nil || on == nil {
		return h.invalid("on", `on is missing, or not true or false; send {"on": true} or {"on": false}`, err)
	}
	return h.operate(w, r, func(ctx context.Context, event string) (queue.State, error) {
		return h.room.SetChallenge(ctx, event, *on)
	})
}

// fields reads a body that is a JSON object with no other fields than those known.
func (h *Handlers) fields(w http.ResponseWriter, r *http.Request, example string, known ...string) (map[string]json.RawMessage, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &refusal{h.problem(http.StatusRequestEntityTooLarge, "too-large", "The body is too large", fmt.Sprintf("a body may have %d bytes at most", maxBody), err)}
	case err != nil:
		return nil, h.invalid("", "the body ended early", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, h.invalid("", "the body is not a JSON object; send "+example, err)
	}
	for field := range fields {
		if !slices.Contains(known, field) {
			return nil, h.invalid(field, fmt.Sprintf("the body has the field %.40q, which this route does not know; it takes %s alone", field, strings.Join(known, " and ")), nil)
		}
	}
	return fields, nil
}
