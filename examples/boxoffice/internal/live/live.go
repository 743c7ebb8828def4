package live

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/sse"
)

// Replayer reads the events that a member has missed; see [sse.Replayer].
type Replayer interface {
	Replay(ctx context.Context, member string, since sse.Cursors) (sse.Missed, error)
}

// Config of a [Live]. The zero value works.
type Config struct {
	// Replayers read the first events of a stream, one after the other.
	Replayers []Replayer
	// Rooms returns the rooms that a member is in; none when nil.
	Rooms func(ctx context.Context, member string) ([]string, error)
	// Muted reports whether a member muted notifications; none has when nil.
	Muted func(ctx context.Context, member string) (bool, error)
	// Streams configures the streams. Its Inbox is /api/notifications when empty, its
	// Logger is Logger when nil, and its Delivered is the Live's own.
	Streams sse.Config
	// Secure reports whether a cookie is for HTTPS only; by default [door.HTTPS].
	Secure func(*http.Request) bool
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Live has the streams of one process.
type Live struct {
	cfg      Config
	hub      *sse.Hub
	spent    Spent
	timeout  time.Duration // of a call of spent
	tickets  seal
	cookies  seal
	outcomes *prometheus.CounterVec
	latency  *prometheus.HistogramVec
}

// New makes a Live; the secret needs at least 32 bytes, and is the same in all
// processes. It does no I/O.
func New(secret string, shared Shared, cfg Config) (*Live, error) {
	if err := auth.CheckSecret(secret); err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	if err := shared.validate(); err != nil {
		return nil, err
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Secure == nil {
		cfg.Secure = door.HTTPS
	}
	cfg.Streams.Inbox = cmp.Or(cfg.Streams.Inbox, "/api/notifications")
	cfg.Streams.Logger = cmp.Or(cfg.Streams.Logger, cfg.Logger)
	l := &Live{
		cfg: cfg, spent: shared.Spent, timeout: cmp.Or(cfg.Streams.Timeout, time.Second),
		tickets: newSeal(secret, "ticket"), cookies: newSeal(secret, "cookie"), outcomes: newOutcomes(), latency: newLatency(),
	}
	cfg.Streams.Delivered = l.delivered
	var err error
	if l.hub, err = sse.New(shared.Cap, shared.Broker, cfg.Streams); err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	return l, nil
}

// Hub sends events to the streams of all processes.
func (l *Live) Hub() *sse.Hub { return l.hub }

// Run serves streams until ctx ends, and then closes the streams of all tabs and
// waits for them to end.
func (l *Live) Run(ctx context.Context) error { return l.hub.Run(ctx) }

// Serve answers with a stream, or tells the client why there is none; see
// [sse.Hub.Serve].
func (l *Live) Serve(w http.ResponseWriter, r *http.Request, tab Tab) error {
	missed := &missed{live: l, member: tab.Member, failed: tab.unknown}
	if missed.failed == nil {
		missed.rooms, missed.muted, missed.failed = l.standing(r.Context(), tab.Member)
	}
	return l.hub.Serve(w, r, sse.Stream{
		Member: tab.Member, Token: tab.Token, Address: door.From(r.Context()), Rooms: missed.rooms, Muted: missed.muted, Replay: missed.Replay,
		OnlyIfFree: tab.OnlyIfFree,
	})
}

// standing is the member's rooms, and whether notifications are muted.
func (l *Live) standing(ctx context.Context, member string) (rooms []string, muted bool, err error) {
	if l.cfg.Rooms != nil {
		if rooms, err = l.cfg.Rooms(ctx, member); err != nil {
			return nil, false, fmt.Errorf("live: the rooms of a member: %w", err)
		}
	}
	if l.cfg.Muted != nil {
		if muted, err = l.cfg.Muted(ctx, member); err != nil {
			return nil, false, fmt.Errorf("live: whether a member is muted: %w", err)
		}
	}
	return rooms, muted, nil
}
