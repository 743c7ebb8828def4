package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memBus opens an in-memory bus that is closed with the test.
func memBus(t *testing.T) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close the bus")
	})
	return b
}

var publish = sourcetest.Publish

// keyed makes a message whose UUID and payload are "key#n".
func keyed(key string, n int) *message.Message {
	id := key + "#" + strconv.Itoa(n)
	m := message.NewMessage(id, []byte(id))
	if key != "" {
		m.Metadata.Set(event.KeyHeader, key)
	}
	return m
}

// started is a running Runner; stop ends it and returns the result of Run.
type started struct {
	*bus.Runner
	cancel context.CancelFunc
	done   chan error
}

func start(t *testing.T, b *bus.Bus, cfg bus.RunnerConfig, consumers ...bus.AnyConsumer) *started {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := bus.NewRunner(b, cfg)
	require.NoError(t, err)
	for _, c := range consumers {
		require.NoError(t, r.Add(c))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &started{r, cancel, make(chan error, 1)}
	go func() { s.done <- r.Run(ctx) }()
	select {
	case <-r.Running():
	case err := <-s.done:
		cancel()
		t.Fatalf("Run ended: %v", err)
	}
	return s
}

func (s *started) stop(t *testing.T) {
	t.Helper()
	s.cancel()
	assert.NoError(t, <-s.done, "Run")
}

// journal records events and their times, relative to its creation.
type journal struct {
	begin time.Time
	mu    sync.Mutex
	lines []string
}

func newJournal() *journal { return &journal{begin: time.Now()} }

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%s ", time.Since(j.begin))+fmt.Sprintf(format, args...))
}

func (j *journal) expect(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range max(len(want), len(j.lines)) {
		switch {
		case i >= len(j.lines):
			t.Errorf("line %d: nothing, want %q", i, want[i])
		case i >= len(want):
			t.Errorf("line %d: %q, want nothing", i, j.lines[i])
		case j.lines[i] != want[i]:
			t.Errorf("line %d: %q, want %q", i, j.lines[i], want[i])
		}
	}
}

// exact is a backoff of 1 s, 2 s, 4 s … without jitter.
var exact = bus.Backoff{Initial: time.Second, Max: 30 * time.Second, Multiplier: 2}

// browse returns the retained payloads of a topic.
func browse(t *testing.T, b *bus.Bus, topic string) []*message.Message {
	t.Helper()
	got, err := b.Browse(t.Context(), topic, 1000)
	require.NoError(t, err)
	return got
}

// lag returns how many messages of the topic the group has not acknowledged.
func lag(t *testing.T, b *bus.Bus, topic, group string) int {
	t.Helper()
	all, err := b.Lag(t.Context())
	require.NoError(t, err)
	for _, l := range all {
		if l.Topic == topic && l.Group == group {
			return l.Messages
		}
	}
	t.Fatalf("no lag of %s on %s", group, topic)
	return 0
}
