package upstream

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// call answers all requests except control requests, and counts them.
func (u *Upstream) call(w http.ResponseWriter, r *http.Request) {
	t := u.gate.arrival(r)
	u.gate.identify(t, identityOf(r.Header))
	begun := u.cfg.Clock()
	defer func() { u.gate.finish(t, u.cfg.Clock()-begun) }()

	id, n, known := artistOf(r)
	p := u.refuse(t)
	var e effect
	if p == nil {
		e = u.rules.strike(id)
		pause(r.Context(), e.delay+u.latency())
		p = problemOf(r, e, known)
	}
	if p != nil {
		u.gate.decide(t, p.status)
		p.write(w)
		return
	}
	status := http.StatusOK
	if e.kind == FaultDrop {
		status = 0 // the connection breaks
	}
	u.gate.decide(t, status)
	u.send(w, u.revisions.current(n), e)
}

// artistOf returns the id in the path with its number, and whether the artist exists.
func artistOf(r *http.Request) (id string, n int, known bool) {
	id, ok := strings.CutPrefix(r.URL.Path, "/artists/")
	if !ok {
		return "", 0, false
	}
	n, known = artistNumber(id)
	return id, n, known
}

// artistNumber reads an id the way the upstream writes it, and no other.
func artistNumber(id string) (int, bool) {
	n, err := strconv.Atoi(id)
	return n, err == nil && n >= 1 && n <= Artists && strconv.Itoa(n) == id
}

// refuse is the answer to a call over a limit.
func (u *Upstream) refuse(t ticket) *problem {
	switch {
	case t.banned > 0:
		return &problem{
			status: statusBanned, name: "banned", title: "You called too often",
			detail:     fmt.Sprintf("more than %d calls came within a second: every call is refused for a while", u.cfg.Limit),
			retryAfter: t.banned,
		}
	case t.overDay:
		now := time.Now().UTC()
		return &problem{
			status: statusBanned, name: "daily-budget", title: "The day's calls are used up",
			detail:     fmt.Sprintf("more than %d calls came today: every call is refused until midnight UTC", u.cfg.DailyBudget),
			retryAfter: now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now),
		}
	}
	return nil
}

// problemOf is the error answer to a permitted call, if it gets one.
func problemOf(r *http.Request, e effect, known bool) *problem {
	switch {
	case e.kind == FaultStatus:
		p := &problem{status: e.status, name: "simulated", title: http.StatusText(e.status), detail: "this answer was ordered"}
		if e.status == statusBanned || e.status == http.StatusServiceUnavailable {
			p.retryAfter = time.Second
		}
		return p
	case !known:
		return &problem{
			status: http.StatusNotFound, name: "artist-not-found", title: "No such artist",
			detail: fmt.Sprintf("GET /artists/{id} knows the ids 1 to %d", Artists),
		}
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return &problem{
			status: http.StatusMethodNotAllowed, name: "method-not-allowed", title: "An artist can only be read",
			detail: "use GET",
		}
	}
	return nil
}

func (u *Upstream) latency() time.Duration { return u.cfg.Latency + rand.N(u.cfg.Jitter+1) }

// send writes an artist, with its faults.
func (u *Upstream) send(w http.ResponseWriter, a artist, e effect) {
	head := u.bodies.headOf(a)
	defer u.bodies.free(head)
	parts := [2][]byte{*head, u.bodies.tailOf(a)}
	switch e.kind {
	case FaultTruncated:
		parts[1] = parts[1][:len(parts[1])/2]
	case FaultMalformed:
		parts[0][bytes.IndexByte(parts[0], ',')] = '!'
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(parts[0])+len(parts[1])))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if e.kind == FaultDrop {
		// The connection ends either way; with the flush it ends within the body.
		_, _ = w.Write(parts[0])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for _, part := range parts {
		_, _ = w.Write(part) // the client may be gone
	}
}

// pause waits for simulated time. It ends early when the client has gone or the
// service stops.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
