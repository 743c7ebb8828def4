package ratelimit

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// HTTPConfig is the configuration of [NewHTTP].
type HTTPConfig struct {
	// Name of the budget in the RateLimit headers and in problems; "default" when
	// empty. Printable ASCII without quotes and backslashes.
	Name string
	// Limiter chooses another limiter for a request, for budgets by user or by route; if it
	// returns nil, the request passes. When the field is nil, it is the limiter of NewHTTP.
	Limiter func(*http.Request) *Limiter
	// Priority of a request; Low when nil.
	Priority func(*http.Request) Priority
	// Cost is how many calls of the budget a request takes; 1 when nil. A request that takes 0
	// passes.
	Cost func(*http.Request) int
	// Logger receives the errors of the store, which clients do not see; slog.Default() when
	// nil.
	Logger *slog.Logger
}

// limited is the middleware of NewHTTP.
type limited struct {
	limiter *Limiter
	cfg     HTTPConfig
}

// NewHTTP creates a middleware that refuses requests above a limiter's budget, with the headers
// of draft-ietf-httpapi-ratelimit-headers-11.
//
//	the budget has room       the handler's answer, with RateLimit-Policy and RateLimit
//	the budget is used up     429 quota-exceeded, with Retry-After as well
//	the store is unreachable  503 temporary-reduced-capacity, Retry-After
//
// Refusals are application/problem+json.
func NewHTTP(limiter *Limiter, cfg HTTPConfig) (func(next http.Handler) http.Handler, error) {
	if limiter == nil && cfg.Limiter == nil {
		return nil, errors.New("ratelimit: the limiter is nil; make one with ratelimit.New, or give HTTPConfig.Limiter")
	}
	if cfg.Name == "" {
		cfg.Name = "default"
	}
	if i := strings.IndexFunc(cfg.Name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }); i >= 0 {
		return nil, fmt.Errorf("ratelimit: HTTPConfig.Name %q holds a character that a header cannot carry; use printable ASCII without quotes and backslashes", cfg.Name)
	}
	if cfg.Limiter == nil {
		cfg.Limiter = func(*http.Request) *Limiter { return limiter }
	}
	if cfg.Priority == nil {
		cfg.Priority = func(*http.Request) Priority { return Low }
	}
	if cfg.Cost == nil {
		cfg.Cost = func(*http.Request) int { return 1 }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return (&limited{limiter: limiter, cfg: cfg}).middleware, nil
}

// middleware passes on the requests that fit into the budget.
func (h *limited) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, cost := h.cfg.Limiter(r), 0
		if l != nil {
			cost = h.cfg.Cost(r)
		}
		if cost == 0 {
			next.ServeHTTP(w, r)
			return
		}
		p := h.cfg.Priority(r)
		d, err := decide(l, r, p, cost)
		switch {
		case err == nil:
			h.headers(w, l, p, d)
			if d.Allowed {
				next.ServeHTTP(w, r)
			} else {
				h.refuse(w, http.StatusTooManyRequests, "quota-exceeded", "The budget is used up for the moment", d)
			}
		case r.Context().Err() != nil:
			// The client has gone and does not get this answer.
			h.refuse(w, http.StatusServiceUnavailable, "temporary-reduced-capacity", "Not available at the moment", d)
		case errors.Is(err, ErrUnavailable):
			h.cfg.Logger.ErrorContext(r.Context(), "the budget could not be asked; the request was refused", "error", err)
			h.refuse(w, http.StatusServiceUnavailable, "temporary-reduced-capacity", "Not available at the moment", d)
		default:
			h.cfg.Logger.ErrorContext(r.Context(), "the budget can never have room for the request", "error", err)
			h.refuse(w, http.StatusTooManyRequests, "quota-exceeded", "The request is larger than the budget", d)
		}
	})
}

// decide spends the permit. If the process was stopped for so long that the permit expired,
// decide asks once more.
func decide(l *Limiter, r *http.Request, p Priority, cost int) (Decision, error) {
	for range 2 {
		d, err := l.AllowN(r.Context(), p, cost)
		if err != nil || !d.Allowed {
			return d, err
		}
		if err := d.Permit.spend(); err == nil {
			return d, nil
		}
	}
	return Decision{Reason: driver.ReasonUnavailable}, unavailable(errPermitExpired)
}

// headers sets the headers that show the state of the budget.
func (h *limited) headers(w http.ResponseWriter, l *Limiter, p Priority, d Decision) {
	rate := l.plan.Rate
	if p == Low {
		rate = l.plan.LowRate
	}
	policy := fmt.Sprintf(`"%s";q=%d;w=1`, h.cfg.Name, rate)
	if day := l.plan.Day; day.Limit > 0 {
		most := day.Limit
		if p == Low {
			most -= day.HighReserve
		}
		policy += fmt.Sprintf(`, "%s-day";q=%d;w=86400`, h.cfg.Name, most)
	}
	to := w.Header()
	to.Set("RateLimit-Policy", policy)
	// The draft counts whole seconds: within the next second, only Remaining is guaranteed.
	to.Set("RateLimit", fmt.Sprintf(`"%s";r=%d;t=%d`, h.policy(d), max(0, d.Remaining), seconds(d.RetryAfter)))
}

func (h *limited) policy(d Decision) string {
	if d.Reason == driver.ReasonDay {
		return h.cfg.Name + "-day"
	}
	return h.cfg.Name
}

func (h *limited) refuse(w http.ResponseWriter, status int, kind, title string, d Decision) {
	after := seconds(d.RetryAfter)
	to := w.Header()
	to.Set("Retry-After", strconv.FormatInt(after, 10))
	to.Set("Content-Type", "application/problem+json")
	to.Set("Cache-Control", "no-store")
	to.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// Name is checked to need no escape.
	_, _ = fmt.Fprintf(w, // the client may be gone
		`{"type":"https://iana.org/assignments/http-problem-types#%s","title":"%s","status":%d,"detail":"nothing was done; send the request again after %d s","violated-policies":["%s"]}`+"\n",
		kind, title, status, after, h.policy(d))
}

// seconds rounds up to whole seconds, at least one.
func seconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}
