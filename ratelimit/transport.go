package ratelimit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"time"
)

// TransportConfig is the configuration of [NewTransport].
type TransportConfig struct {
	// Base is the transport to send with; http.DefaultTransport when nil. It is cloned, and the
	// clone speaks HTTP/1.1 only: a connection must carry one call at a time, so that each
	// write belongs to one call.
	//
	// Leave MaxConnsPerHost at 0, or well above rate × latency: a call that waits for a
	// connection after it got its permit lets the permit expire.
	Base *http.Transport
	// Priority of a request; Low when nil.
	Priority func(*http.Request) Priority
	// WriteTimeout bounds the first write of a call, which runs under the limiter's lock;
	// 100 ms by default. If the write takes longer, the connection is closed, and the call fails.
	WriteTimeout time.Duration
	// Logger receives errors that cannot be returned: a permit that could not be given back.
	// slog.Default() when nil.
	Logger *slog.Logger
}

// transport is what [NewTransport] returns.
type transport struct {
	limiter *Limiter
	cfg     TransportConfig
	base    *http.Transport
}

// NewTransport creates a transport that spends a permit for each call, in the first write of
// the call to its connection. Every call that is sent has its own permit, also each hop of a
// redirect and each retry of http.Transport. [http.Client.CloseIdleConnections] closes its idle
// connections.
//
// A call waits for its permit before it takes a connection, so that high priority overtakes
// low. If a connection has to be made first, the permit is given back before that. A permit that
// has expired at the write is replaced before anything is written. If a call gets no permit, the
// error is that of [Limiter.Wait].
func NewTransport(limiter *Limiter, cfg TransportConfig) (http.RoundTripper, error) {
	if limiter == nil {
		return nil, errors.New("ratelimit: the limiter is nil; make one with ratelimit.New")
	}
	if cfg.WriteTimeout < 0 {
		return nil, fmt.Errorf("ratelimit: TransportConfig.WriteTimeout is %s; give a positive duration, or 0 for 100 ms", cfg.WriteTimeout)
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 100 * time.Millisecond
	}
	if cfg.Priority == nil {
		cfg.Priority = func(*http.Request) Priority { return Low }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Base == nil {
		base, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			return nil, errors.New("ratelimit: http.DefaultTransport is no *http.Transport; give TransportConfig.Base")
		}
		cfg.Base = base
	}
	base := cfg.Base.Clone()
	if base.DialTLSContext != nil || base.DialTLS != nil { //nolint:staticcheck // DialTLS is deprecated, and still in use
		return nil, errors.New("ratelimit: TransportConfig.Base dials TLS by itself, which hides its connections; use DialContext and TLSClientConfig")
	}
	t := &transport{limiter: limiter, cfg: cfg, base: base}
	base.Protocols = new(http.Protocols)
	base.Protocols.SetHTTP1(true)
	base.ForceAttemptHTTP2 = false
	base.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	if base.TLSClientConfig == nil {
		base.TLSClientConfig = &tls.Config{}
	}
	// The clone shares this slice with its original.
	base.TLSClientConfig.NextProtos = slices.DeleteFunc(slices.Clone(base.TLSClientConfig.NextProtos), func(p string) bool { return p == "h2" })
	base.TLSClientConfig.DynamicRecordSizingDisabled = true // otherwise the head of a call is written in pieces
	dial := base.DialContext
	if old := base.Dial; dial == nil && old != nil { //nolint:staticcheck // Dial is deprecated, and still in use
		dial = func(_ context.Context, network, address string) (net.Conn, error) { return old(network, address) }
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second}).DialContext
	}
	base.Dial = nil //nolint:staticcheck // DialContext stands for it
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
			a.giveBack() // making a connection takes longer than a permit lasts
		}
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c}, nil
	}
	return t, nil
}

// CloseIdleConnections closes the connections that no call uses.
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

type permitKey struct{}

// WithPermit passes a permit to the transport of [NewTransport], which then need not wait for the
// first call. The caller still has to give the permit back.
func WithPermit(ctx context.Context, p *Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, p)
}

// RoundTrip sends one call, once it has a permit. If the call gets none, the error is that of
// [Limiter.Wait].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a := &attempt{t: t, ctx: req.Context(), p: t.cfg.Priority(req)}
	a.lent, _ = req.Context().Value(permitKey{}).(*Permit)
	if a.lent == nil || a.lent.expired() || a.lent.left.Load() <= 0 {
		p, err := t.limiter.Wait(a.ctx, a.p)
		if err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // required of RoundTrip; the error above is returned
			}
			return nil, err
		}
		a.lent, a.own = nil, p
	}
	ctx := context.WithValue(a.ctx, attemptKey{}, a)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: a.arm})
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if failed := a.end(); failed != nil && err != nil {
		err = failed
	}
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}
