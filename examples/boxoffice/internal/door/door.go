package door

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/ratelimit/keyed"
)

// Config of a [Door]. The zero value bounds no address and trusts no proxy.
type Config struct {
	// Rate is how many costly requests an address may make each second; ten times as
	// many at once. 0 for no bound.
	Rate int
	// Proxies are the proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
	Proxies []netip.Prefix
}

// Door applies its limits before a handler. It is safe for concurrent use.
type Door struct {
	proxies queuehttp.Proxies
	rates   *keyed.Limiter // nil for no bound
	every   time.Duration
	burst   int
	origin  *http.CrossOriginProtection
}

// bursts is how many seconds of its rate an address may take at once.
const bursts = 10

// New makes a Door.
func New(cfg Config) (*Door, error) {
	if cfg.Rate < 0 || cfg.Rate > 1_000_000 {
		return nil, fmt.Errorf("door: Config.Rate is %d; give 1 to 1,000,000 requests a second, or 0 for no bound", cfg.Rate)
	}
	for _, p := range cfg.Proxies {
		if !p.IsValid() {
			return nil, errors.New("door: Config.Proxies has a prefix that is none; make them with netip.ParsePrefix")
		}
	}
	d := &Door{proxies: queuehttp.Proxies{Networks: cfg.Proxies}, origin: http.NewCrossOriginProtection()}
	if cfg.Rate == 0 {
		return d, nil
	}
	var err error
	d.every, d.burst = time.Second/time.Duration(cfg.Rate), min(bursts*cfg.Rate, 1_000_000)
	d.rates, err = keyed.New(nil, keyed.Config{}) // each process counts alone
	return d, err
}

// Before applies the limits before a handler.
func (d *Door) Before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if p := checkTarget(r); p != nil {
			p.write(w)
			return
		}
		if d.origin.Check(r) != nil {
			otherSite.write(w)
			return
		}
		from := d.proxies.Client(r)
		if d.rates != nil && !from.IsLoopback() && costly(r) {
			if wait := d.rates.Take(r.Context(), queuehttp.Subscriber(from), d.every, d.burst); wait > 0 {
				tooMany(wait).write(w)
				return
			}
		}
		seen := visitor{from: from, https: r.TLS != nil || d.proxies.Trusts(r) && r.Header.Get("X-Forwarded-Proto") == "https"}
		if seen.https {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		// The same request: the code that counts it reads the route from it.
		*r = *r.WithContext(context.WithValue(r.Context(), visitorKey{}, seen))
		next.ServeHTTP(w, r)
	})
}

// visitor has the door's findings about a request.
type visitor struct {
	from  netip.Addr
	https bool
}

type visitorKey struct{}

// HTTPS reports whether a request came over https, to this process or to a trusted
// proxy.
func HTTPS(r *http.Request) bool {
	seen, ok := r.Context().Value(visitorKey{}).(visitor)
	return r.TLS != nil || ok && seen.https
}

// From is the address of a request, for limits of its open streams; "" for a request
// without a limit: from the machine itself, or one that did not pass the door.
func From(ctx context.Context) string {
	seen, ok := ctx.Value(visitorKey{}).(visitor)
	if !ok || !seen.from.IsValid() || seen.from.IsLoopback() {
		return ""
	}
	return queuehttp.Subscriber(seen.from)
}

// secure sets the headers of every answer; pages have a policy of their own.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}
