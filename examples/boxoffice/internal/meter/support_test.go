package meter_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	goleak.VerifyTestMain(m)
}

// silence drops the client's own log about unreachable servers.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func newMeter(t *testing.T, store meter.Store, cfg meter.Config) *meter.Meter {
	t.Helper()
	m, err := meter.New(store, cfg)
	require.NoError(t, err)
	return m
}

// run makes a meter write until the returned function is called or the test ends.
func run(t *testing.T, m *meter.Meter) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	t.Cleanup(end)
	return end
}

func series(t *testing.T, m *meter.Meter, n int) []meter.Second {
	t.Helper()
	seconds, err := m.Series(t.Context(), n)
	require.NoError(t, err)
	return seconds
}

// sum adds up seconds, by high and by low priority.
func sum(seconds []meter.Second) (high, low int64) {
	for _, s := range seconds {
		high += s.High
		low += s.Low
	}
	return high, low
}

// hurt is a store that can be unreachable, or hang, and whose clock may differ.
type hurt struct {
	*meter.Memory
	ahead time.Duration // of the clock, by which counts are stored

	mu    sync.Mutex
	away  bool
	hangs bool
	calls int
}

var errAway = errors.New("the store is away")

func (h *hurt) Add(ctx context.Context, counts []meter.Second) (time.Time, error) {
	if err := h.trouble(ctx); err != nil {
		return time.Time{}, err
	}
	now, err := h.Memory.Add(ctx, counts)
	return now.Add(h.ahead), err
}

func (h *hurt) Read(ctx context.Context, first int64, n int) ([]meter.Second, time.Time, error) {
	if err := h.trouble(ctx); err != nil {
		return nil, time.Time{}, err
	}
	seconds, now, err := h.Memory.Read(ctx, first, n)
	return seconds, now.Add(h.ahead), err
}

func (h *hurt) trouble(ctx context.Context) error {
	h.mu.Lock()
	away, hangs := h.away, h.hangs
	h.calls++
	h.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if away {
		return errAway
	}
	return nil
}

func (h *hurt) set(away, hangs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away, h.hangs = away, hangs
}

// lines keeps the logged lines.
type lines struct {
	mu  sync.Mutex
	out strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.out.String(), text)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
