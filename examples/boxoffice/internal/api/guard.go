package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
	"github.com/millrace-go/millrace/fault"
)

const (
	// maxWriters is how many writing requests run at once. A commit has up to 64 of
	// them, so this keeps a few commits' worth ready.
	maxWriters = 256
	// maxWait is how long the others wait for their turn.
	maxWait = 10 * time.Second
)

// guard stands before all handlers: it identifies members and operators, bounds the
// writing requests and turns errors into answers.
type guard struct {
	mux        *routes.Mux
	login      *auth.Login
	adminToken string
	writers    *semaphore.Weighted
	wait       time.Duration
	classify   fault.Classifier // of the database's errors
	log        *slog.Logger
}

func newGuard(cfg Config) *guard {
	return &guard{
		mux: routes.New(), login: cfg.Login, adminToken: cfg.AdminToken,
		writers: semaphore.NewWeighted(int64(cmp.Or(cfg.Writers, maxWriters))), wait: cmp.Or(cfg.Wait, maxWait),
		classify: cfg.Store.Classify, log: cmp.Or(cfg.Logger, slog.Default()),
	}
}

// handler answers a request, or returns an error that describes the problem.
type handler func(w http.ResponseWriter, r *http.Request) error

// memberHandler is a handler for a signed-in member.
type memberHandler func(w http.ResponseWriter, r *http.Request, member string) error

// public adds a route for all visitors.
func (g *guard) public(pattern string, h handler) { g.mux.Handle(pattern, g.handle(h)) }

// member adds a route that reads, for signed-in members.
func (g *guard) member(pattern string, h memberHandler) { g.public(pattern, g.signedIn(h)) }

// writes adds a route that writes, for signed-in members.
func (g *guard) writes(pattern string, h memberHandler) { g.public(pattern, g.bounded(g.signedIn(h))) }

// operator adds a route for operators.
func (g *guard) operator(pattern string, h handler) { g.public(pattern, g.admin(h)) }

// handle turns errors into answers.
func (g *guard) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil || r.Context().Err() != nil {
			return // answered, or the client is gone
		}
		g.problem(r.Context(), err, "request failed", "method", r.Method, "route", r.Pattern).write(w)
	})
}

// problem is the answer to an error. An error that the client did not cause is logged.
func (g *guard) problem(ctx context.Context, err error, failed string, about ...any) *problem {
	p := problemOf(err, g.classify)
	if p.status >= http.StatusInternalServerError && p.name != "busy" && ctx.Err() == nil {
		g.log.ErrorContext(ctx, failed, append(about, "status", p.status, "error", err)...)
	}
	return p
}

// signedIn identifies the member by the sign-in.
func (g *guard) signedIn(h memberHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		member, err := g.login.Member(r)
		if err != nil {
			return signIn(err)
		}
		return h(w, r, member)
	}
}

// maybeMember is the signed-in member, or "" without a sign-in.
func (g *guard) maybeMember(r *http.Request) (string, error) {
	member, err := g.login.Member(r)
	if errors.Is(err, auth.ErrMissing) {
		return "", nil
	}
	if err != nil {
		return "", signIn(err)
	}
	return member, nil
}

// admin lets only the admin token pass.
func (g *guard) admin(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Header.Get("Authorization") == "" {
			return newProblem(http.StatusUnauthorized, "admin-token-required", "Operators only",
				"send the admin token in the header Authorization: Bearer").withHeader("WWW-Authenticate", `Bearer realm="boxoffice admin"`)
		}
		if !auth.IsAdmin(r, g.adminToken) {
			return newProblem(http.StatusForbidden, "admin-token-wrong", "Operators only", "this is not the admin token")
		}
		return h(w, r)
	}
}

// bounded lets a number of writing requests work at once; others wait in their
// order. A client that sends its body slowly holds no turn.
func (g *guard) bounded(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return unread(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx, cancel := context.WithTimeout(r.Context(), g.wait)
		err = g.writers.Acquire(ctx, 1)
		cancel()
		if err != nil {
			return newProblem(http.StatusServiceUnavailable, "busy", "Too many at once",
				"too many requests are waiting; repeat it, a payment with the same Idempotency-Key").withHeader("Retry-After", "1")
		}
		defer g.writers.Release(1)
		return h(w, r)
	}
}
