package artist

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/ratelimit"
)

// Budget makes the calls of an [Upstream] out of a limiter's budget: its method
// Transport is for UpstreamConfig. Each priority
// has connections of its own.
type Budget struct{ high, low http.RoundTripper }

// idleConnections kept to the upstream: as many as calls can be in flight.
const idleConnections = 512

// NewBudget makes a Budget whose every call takes a permit. timeout is how long after
// the call was sent an answer may begin; 5 s when zero. It does no I/O.
func NewBudget(l *ratelimit.Limiter, timeout time.Duration) (*Budget, error) {
	if timeout < 0 {
		return nil, errors.New("artist: timeout is negative; use 0 for 5 s")
	}
	if timeout == 0 {
		timeout = 5 * time.Second
	}
	base := &http.Transport{
		Proxy:        http.ProxyFromEnvironment,
		MaxIdleConns: idleConnections, MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
	}
	of := func(p ratelimit.Priority) (http.RoundTripper, error) {
		return ratelimit.NewTransport(l, ratelimit.TransportConfig{
			Base: base, Priority: func(*http.Request) ratelimit.Priority { return p },
		})
	}
	high, err := of(ratelimit.High)
	if err != nil {
		return nil, fmt.Errorf("artist: %w", err)
	}
	low, err := of(ratelimit.Low)
	if err != nil {
		return nil, fmt.Errorf("artist: %w", err)
	}
	return &Budget{high: high, low: low}, nil
}

// Transport makes the calls of a priority.
func (b *Budget) Transport(p event.Priority) http.RoundTripper {
	if p == event.High {
		return ours{b.high}
	}
	return ours{b.low}
}

// Close closes the connections that no call uses.
func (b *Budget) Close() {
	for _, transport := range []http.RoundTripper{b.high, b.low} {
		(&http.Client{Transport: transport}).CloseIdleConnections()
	}
}

// ours marks the limiter's refusals as our own failures. The upstream has no part in
// them, and they must not make an artist a dead letter.
type ours struct{ next http.RoundTripper }

func (o ours) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := o.next.RoundTrip(r) //nolint:bodyclose // the caller's to close
	if errors.Is(err, ratelimit.ErrTooManyWaiting) || errors.Is(err, ratelimit.ErrPermitSpent) {
		return res, fault.MarkInfrastructure(err)
	}
	return res, err
}
