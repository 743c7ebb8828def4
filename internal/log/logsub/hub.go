package logsub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/parallel"
)

// ErrClosed is returned by calls after Close.
var ErrClosed = errors.New("logsub: closed")

// Config of a Hub. The zero value works.
type Config struct {
	// Holder names this process to the others, and is the same after every restart; a random
	// name by default. A killed process then gets its partitions back as soon as it restarts,
	// instead of after LeaseTTL. Only one live process may have the name: two would repeatedly
	// take each other's partitions. Nothing is lost then, since only the newest lease moves a
	// cursor, but messages are repeated and a key can be handled in two places at once.
	Holder string
	// Partitions of a topic that is used before it was declared; 3 by default. Each partition is
	// a lane read in order by one member of a group, so Partitions bounds how many instances can
	// share a group. It cannot be changed for a topic later.
	Partitions int
	// Retention is how long messages are kept at least; they are also kept until every group has
	// passed them. 72 h by default. A longer retention costs disk space.
	Retention time.Duration
	// LeaseTTL is how long a crashed instance keeps its partitions; 10 s by default. Leases are
	// renewed at a third of it: a shorter one costs writes.
	LeaseTTL time.Duration
	// PollInterval is the interval at which an idle partition is read without a wake-up; 1 s by
	// default.
	PollInterval time.Duration
	// CommitInterval is the least time between two writes of cursors; 20 ms by default. Messages
	// acknowledged within it are redelivered after a crash.
	CommitInterval time.Duration
	// PruneInterval is how often old messages are removed; 1 min by default.
	PruneInterval time.Duration
	// Span is how far the newest delivered message of a partition may be ahead of its oldest
	// unacknowledged one; 25,000 by default. It bounds the messages that a crash redelivers.
	Span int
	// Logger logs background errors; slog.Default() by default.
	Logger *slog.Logger
}

func (c Config) validate() error {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"Partitions", int64(c.Partitions)}, {"Span", int64(c.Span)}, {"Retention", int64(c.Retention)},
		{"LeaseTTL", int64(c.LeaseTTL)}, {"PollInterval", int64(c.PollInterval)},
		{"CommitInterval", int64(c.CommitInterval)}, {"PruneInterval", int64(c.PruneInterval)},
	} {
		if f.n < 0 {
			return fmt.Errorf("logsub: Config.%s is negative; give a positive value, or 0 for the default", f.name)
		}
	}
	if len(c.Holder) > maxHolder || !utf8.ValidString(c.Holder) {
		return fmt.Errorf("logsub: Config.Holder is no name; give at most %d bytes of UTF-8", maxHolder)
	}
	if c.Partitions > MaxPartitions {
		return fmt.Errorf("logsub: Config.Partitions is %d; at most %d are possible", c.Partitions, MaxPartitions)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Partitions = cmp.Or(c.Partitions, 3)
	c.Retention = cmp.Or(c.Retention, 72*time.Hour)
	c.LeaseTTL = cmp.Or(c.LeaseTTL, 10*time.Second)
	c.PollInterval = cmp.Or(c.PollInterval, time.Second)
	c.CommitInterval = cmp.Or(c.CommitInterval, 20*time.Millisecond)
	c.PruneInterval = cmp.Or(c.PruneInterval, time.Minute)
	c.Span = cmp.Or(c.Span, 25_000)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// retry is the backoff of the background parts after an error.
var retry = backoff.Policy{Initial: 20 * time.Millisecond, Max: 2 * time.Second, Jitter: 0.3}

// opTimeout bounds one operation on the database.
const opTimeout = 30 * time.Second

// Hub is one process's part of the bus: it makes a publisher and sources. Its Run does their
// shared work: it moves cursors, renews leases, reports members as alive, and removes old
// messages.
type Hub struct {
	b     Backend
	cfg   Config
	names *names

	topics    topics
	wakes     wakes
	committer *committer
	pulse     heartbeat

	mu        sync.Mutex
	closed    bool
	publisher *Publisher
	sources   map[*Source]struct{}
}

// New makes a Hub. It sends nothing; call Run.
func New(b Backend, cfg Config) (*Hub, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	h := &Hub{
		b: b, cfg: cfg.withDefaults(),
		names:   newNames(cfg.Holder),
		sources: make(map[*Source]struct{}),
	}
	h.topics = topics{b: b, cfg: h.cfg, known: make(map[string]Topic)}
	h.wakes = newWakes()
	h.committer = newCommitter(b, h.cfg)
	h.pulse = heartbeat{b: b, cfg: h.cfg, telling: newGate(), members: make(map[Member]struct{})}
	h.publisher = &Publisher{hub: h}
	return h, nil
}

// Run does the background work until ctx is done, and then returns nil. Without Run, no
// acknowledgement is stored and leases expire. Close the sources, or the Hub, before ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { h.committer.run(ctx) })
	wg.Go(func() { h.pulse.run(ctx) })
	wg.Go(func() { h.prune(ctx) })
	wg.Wait()
	return nil
}

// Wake wakes readers because the lanes, or without arguments all lanes, may have new entries.
// The hub's own publisher calls it after its commits. Call it for entries appended by others:
// another process, or an outbox on the same log.
func (h *Hub) Wake(lanes ...int) { h.wakes.data(lanes...) }

// WakeGroups reports that members may have joined or left in another process.
func (h *Hub) WakeGroups() { h.wakes.groups.Wake() }

// Reading returns the lanes that this process reads, and whether it has a member of any group.
// Only these changes of other processes matter here.
func (h *Hub) Reading() (lanes []int, member bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.sources {
		s.mu.Lock()
		lanes = slices.AppendSeq(lanes, maps.Keys(s.lanes))
		s.mu.Unlock()
	}
	slices.Sort(lanes)
	return slices.Compact(lanes), h.names.any()
}

// Publisher returns the one, shared publisher of the hub.
func (h *Hub) Publisher() *Publisher { return h.publisher }

// Close closes the publisher and every source. End Run afterwards.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	var open []io.Closer
	for s := range h.sources {
		open = append(open, s)
	}
	h.mu.Unlock()
	return parallel.Each(append(open, h.publisher), io.Closer.Close)
}

// groupsChanged reports that a member of this process joined or left, or released a lane.
func (h *Hub) groupsChanged() {
	h.wakes.groups.Wake()
	h.b.announce(Change{Groups: true})
}

func (h *Hub) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}
