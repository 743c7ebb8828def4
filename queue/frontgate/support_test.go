package frontgate_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/memgate"
	"github.com/millrace-go/millrace/queue/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const event = "show-1"

func ring(t testing.TB, secret string) *token.Ring {
	t.Helper()
	r, err := token.NewRing(secret)
	require.NoError(t, err)
	return r
}

const (
	secret = "0123456789abcdef0123456789abcdef"
	other  = "fedcba9876543210fedcba9876543210"
)

func memory(t testing.TB) driver.Store {
	t.Helper()
	s, err := memgate.New(memgate.Config{})
	require.NoError(t, err)
	return s
}

func newGate(t testing.TB, store driver.Store, cfg frontgate.Config) *frontgate.Gate {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	g, err := frontgate.New(store, ring(t, secret), cfg)
	require.NoError(t, err)
	return g
}

func activate(t testing.TB, g *frontgate.Gate) {
	t.Helper()
	_, err := g.Activate(t.Context(), event)
	require.NoError(t, err)
}

func assign(t testing.TB, g *frontgate.Gate) frontgate.Place {
	t.Helper()
	p, err := g.Assign(t.Context(), event, "")
	require.NoError(t, err)
	return p
}

func check(t testing.TB, g *frontgate.Gate, requestID string) frontgate.Place {
	t.Helper()
	turn, err := g.Check(t.Context(), event, requestID, "")
	require.NoError(t, err)
	return turn
}

// watched counts the calls of a store, and fails or loses them on demand.
type watched struct {
	driver.Store
	mu      sync.Mutex
	away    bool
	hold    chan struct{} // when set, State waits for it
	states  atomic.Int64
	assigns atomic.Int64
	rounds  atomic.Int64
}

var errAway = fault.MarkInfrastructure(errors.New("the store is away"))

func (w *watched) set(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

// lose replaces the store by an empty one.
func (w *watched) lose(t testing.TB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Store = memory(t)
}

func (w *watched) current() (driver.Store, chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, nil, errAway
	}
	return w.Store, w.hold, nil
}

func (w *watched) Assign(ctx context.Context, event string, n int) (driver.State, error) {
	w.assigns.Add(1)
	s, _, err := w.current()
	if err != nil {
		return driver.State{}, err
	}
	return s.Assign(ctx, event, n)
}

func (w *watched) State(ctx context.Context, event string) (driver.State, error) {
	w.states.Add(1)
	s, hold, err := w.current()
	if err != nil {
		return driver.State{}, err
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return driver.State{}, ctx.Err()
		}
	}
	return s.State(ctx, event)
}

func (w *watched) Advance(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
	s, _, err := w.current()
	if err != nil {
		return driver.Round{}, err
	}
	r, err := s.Advance(ctx, event, by, every)
	if r.Moved > 0 {
		w.rounds.Add(1)
	}
	return r, err
}

func (w *watched) Switch(ctx context.Context, event string, on bool) (driver.State, error) {
	s, _, err := w.current()
	if err != nil {
		return driver.State{}, err
	}
	return s.Switch(ctx, event, on)
}

func (w *watched) Events(ctx context.Context) ([]string, error) {
	s, _, err := w.current()
	if err != nil {
		return nil, err
	}
	return s.Events(ctx)
}

// line is the line behind a gate: the rules of [queuedriver.Gate] on a sequence.
type line struct {
	mu       sync.Mutex
	gated    bool
	sequence int64 // the highest order
	base     int64
	fail     error
}

func (l *line) Gate(_ context.Context, _ string, g queuedriver.Gate) (queue.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.fail != nil:
		return queue.State{}, l.fail
	case g.On && !l.gated:
		l.gated, l.base = true, l.sequence-g.Positions
	case !g.On && l.gated:
		l.gated, l.sequence = false, max(l.sequence, l.base+g.Positions)
	}
	return queue.State{Gated: l.gated}, nil
}

// join lines a visitor up and returns the order; false when a position is needed.
func (l *line) join(position int64) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case position > 0:
		l.sequence = max(l.sequence, l.base+position)
		return l.base + position, true
	case l.gated:
		return 0, false
	}
	l.sequence++
	return l.sequence, true
}

func (l *line) set(fail error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = fail
}

func (l *line) on() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gated
}

// slowLine takes a second for each change.
type slowLine struct{ line }

func (l *slowLine) Gate(ctx context.Context, event string, g queuedriver.Gate) (queue.State, error) {
	// Switching on takes longer, so that it ends after switching off.
	if g.On {
		time.Sleep(2 * time.Second)
	} else {
		time.Sleep(time.Second)
	}
	return l.line.Gate(ctx, event, g)
}

// badToken reports whether an error says that a token is not valid, or not any more.
func badToken(err error) bool { return token.Reason(err) != "" || errors.Is(err, frontgate.ErrLost) }
