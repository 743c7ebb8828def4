package idempotency

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
)

// HTTPConfig is the configuration of [HTTP].
type HTTPConfig struct {
	// Scope returns the owner of the keys, e.g. the signed-in member's id; required. Two scopes
	// never see each other's keys and responses, so the scope must come from the client's
	// verified identity: put the middleware inside the sign-in. Requests whose scope is ""
	// share one scope.
	Scope func(r *http.Request) string
	// Required refuses a request without a key with 400. When false, such a request is handled
	// without protection.
	Required bool
	// Methods are the guarded methods; POST and PATCH when empty. Other requests pass.
	Methods []string
	// Group separates APIs that share a store; "http" when empty, without a colon.
	Group string
	// MaxKey is the longest key in bytes; 255 when zero.
	MaxKey int
	// MaxRequest is the largest request body in bytes; 1 MiB when zero. A larger body is
	// refused with 413. The body is held in memory.
	MaxRequest int64
	// MaxResponse is the largest response body that is kept, in bytes; 256 KiB when zero. A
	// larger body reaches the client, but is not kept: a repeated request is answered with 409
	// and the problem response-not-kept. The store must accept values of MaxResponse plus a
	// third.
	MaxResponse int
	// Headers are the headers of the response that are kept and replayed; Content-Type,
	// Content-Language, Content-Disposition, Location, ETag, Last-Modified and Cache-Control
	// when empty. Content-Encoding is always kept: the body cannot be read without it. Set-Cookie
	// is refused: every reader of the store could use the cookie.
	Headers []string
	// Keep decides by status whether a response is final. A response that is not final releases
	// the key, and a repeated request is handled again. When nil, 5xx and the statuses that ask
	// for a retry (408, 425, 429) are not final.
	Keep func(status int) bool
	// TTL is how long a crash blocks its key; 30 s when zero. The lease is renewed each third
	// of TTL while the handler works.
	TTL time.Duration
	// Finish bounds how long the response waits for the store to keep it; 5 s when zero. After
	// that the response is sent to the client unkept.
	Finish time.Duration
	// RetryAfter is the Retry-After of a repeated request while the first one runs, in whole
	// seconds rounded up; 1 s when zero.
	RetryAfter time.Duration
	// Problems is the beginning of problem types; "/problems/" when empty.
	Problems string
	// Logger receives the store's errors, which clients do not see; slog.Default() when nil.
	Logger *slog.Logger
}

func (c HTTPConfig) validate() error {
	if c.Scope == nil {
		return errors.New("idempotency: HTTPConfig.Scope is nil; give a function that returns the signed-in user's id, or users replay each other's responses")
	}
	if slices.Contains([]byte(c.Group), ':') {
		return fmt.Errorf("idempotency: HTTPConfig.Group %q holds a colon, which separates the parts of a key; use another character", c.Group)
	}
	if c.MaxKey < 0 || c.MaxRequest < 0 || c.MaxResponse < 0 {
		return errors.New("idempotency: HTTPConfig.MaxKey, MaxRequest and MaxResponse must not be negative; use 0 for the defaults")
	}
	if c.RetryAfter < 0 {
		return fmt.Errorf("idempotency: HTTPConfig.RetryAfter is %v; use a positive duration, or 0 for 1 s", c.RetryAfter)
	}
	for _, h := range c.Headers {
		if http.CanonicalHeaderKey(h) == "Set-Cookie" {
			return errors.New("idempotency: HTTPConfig.Headers holds Set-Cookie; leave it out, a stored cookie signs in every reader of the store")
		}
	}
	return checkTimes("HTTPConfig", c.TTL, c.Finish)
}

func (c HTTPConfig) withDefaults() HTTPConfig {
	if len(c.Methods) == 0 {
		c.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	c.Group = cmp.Or(c.Group, "http")
	c.MaxKey = cmp.Or(c.MaxKey, 255)
	c.MaxRequest = cmp.Or(c.MaxRequest, 1<<20)
	c.MaxResponse = cmp.Or(c.MaxResponse, 256<<10)
	if len(c.Headers) == 0 {
		c.Headers = []string{"Content-Type", "Content-Language", "Content-Disposition", "Location", "ETag", "Last-Modified", "Cache-Control"}
	}
	c.Headers = append(slices.Clip(c.Headers), "Content-Encoding")
	if c.Keep == nil {
		c.Keep = final4xx
	}
	c.Finish = cmp.Or(c.Finish, 5*time.Second)
	c.RetryAfter = cmp.Or(c.RetryAfter, time.Second)
	c.Problems = cmp.Or(c.Problems, "/problems/")
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

func final4xx(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status < http.StatusInternalServerError
}

// HTTP gives requests that carry an Idempotency-Key one effect each, as
// draft-ietf-httpapi-idempotency-key-header describes.
type HTTP struct {
	cfg HTTPConfig
	run runner
}

// NewHTTP creates the middleware on a lease store, which can be shared.
func NewHTTP(store driver.LeaseStore, cfg HTTPConfig) (*HTTP, error) {
	if store == nil {
		return nil, errors.New("idempotency: the lease store is nil; make one with sqlidempotency.NewLeases")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &HTTP{cfg: cfg, run: newRunner(store, cfg.TTL, cfg.Finish, cfg.Logger)}, nil
}

// errNotKept releases a key whose response is not final.
var errNotKept = errors.New("the response is not final")

// Middleware guards a handler. The context of its request has the claim ([ClaimFrom]) and ends
// when the lease is lost, or the client leaves; its body was read into memory. A handler that ends
// without a response after its context has ended has answered 503, and releases the key. The
// response is held back until the store has it, up to MaxResponse; so the handler cannot stream.
func (h *HTTP) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(h.cfg.Methods, r.Method) {
			next.ServeHTTP(w, r)
			return
		}
		key, p := h.key(r)
		switch {
		case p != nil:
			h.refuse(w, p)
			return
		case key == "":
			next.ServeHTTP(w, r)
			return
		}
		body, p := h.body(w, r)
		if p != nil {
			h.refuse(w, p)
			return
		}
		print, err := fingerprint(r, body)
		if err != nil {
			h.refuse(w, incomplete())
			return
		}
		record := driver.Record{
			// The scope is escaped, so that a scope cannot contain the separator.
			Key:   h.cfg.Group + ":" + url.QueryEscape(h.cfg.Scope(r)) + ":" + key,
			Group: h.cfg.Group, EventType: r.Method + " " + r.URL.Path,
			Fingerprint: print,
		}
		began := time.Now()
		c, err := h.run.claim(r.Context(), record)
		if err != nil {
			h.cfg.Logger.ErrorContext(r.Context(), "claiming an idempotency key failed; the request was refused", "error", err)
			h.refuse(w, h.unavailable())
			return
		}
		switch c.State {
		case driver.Claimed:
			h.serve(w, r, body, began, c, next)
		case driver.Done:
			h.replay(w, r, c)
		case driver.Mismatch:
			h.refuse(w, mismatched())
		default:
			h.refuse(w, h.running())
		}
	})
}

// serve runs the handler under the claim.
func (h *HTTP) serve(w http.ResponseWriter, r *http.Request, body []byte, began time.Time, c Claim, next http.Handler) {
	rec := &recorder{real: w, limit: h.cfg.MaxResponse, header: w.Header().Clone()}
	_, err := h.run.held(r.Context(), began, c, func(ctx context.Context, _ Claim) ([]byte, error) {
		inner := r.WithContext(ctx)
		inner.Body = io.NopCloser(bytes.NewReader(body))
		inner.ContentLength = int64(len(body))
		next.ServeHTTP(rec, inner)
		if rec.status == 0 && ctx.Err() != nil {
			// It broke off: an empty 200 would stand for an effect that it may not have had.
			rec.WriteHeader(http.StatusServiceUnavailable)
			return nil, errNotKept
		}
		rec.finish()
		if !h.cfg.Keep(rec.status) {
			return nil, errNotKept
		}
		return rec.stored(h.cfg.Headers)
	})
	if err != nil && !errors.Is(err, errNotKept) {
		// The effect has happened, so the client still gets the response.
		h.cfg.Logger.ErrorContext(r.Context(), "keeping a response for its idempotency key failed; a repeated request is handled again after the lease",
			"class", fault.Of(err).String(), "error", err)
	}
	rec.send()
}

// replay sends the kept response.
func (h *HTTP) replay(w http.ResponseWriter, r *http.Request, c Claim) {
	s, err := parseStored(c.Result)
	switch {
	case err != nil:
		h.cfg.Logger.ErrorContext(r.Context(), "the response kept for an idempotency key cannot be read", "error", err)
		h.refuse(w, unreadable())
	case s.TooLarge:
		h.refuse(w, notKept(s.Status))
	default:
		s.write(w)
	}
}

func (h *HTTP) retryAfter() string {
	return strconv.FormatInt(int64((h.cfg.RetryAfter+time.Second-1)/time.Second), 10)
}
