package artist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

// rig is a mirror on a fresh database, with a bus in memory.
type rig struct {
	box       *boxtest.Box
	bus       *bus.Bus
	locks     *switched
	coalescer *coalesce.Coalescer
	mirror    *Mirror
	worker    *Worker
	upstream  *shelf
}

func newRig(t testing.TB, cfg Config, wcfg WorkerConfig) *rig {
	t.Helper()
	if wcfg.WriteTimeout == 0 {
		wcfg.WriteTimeout = time.Minute // however slow the disk is
	}
	r := &rig{box: boxtest.New(t)}
	r.assemble(t, r.box.Store, cfg, wcfg)
	return r
}

// assemble makes everything above the database.
func (r *rig) assemble(t testing.TB, s *store.Store, cfg Config, wcfg WorkerConfig) {
	t.Helper()
	r.bus = memBus(t)
	r.locks = &switched{Store: memcoalesce.New()}
	var err error
	// A breaker that never opens: the test decides whether the store is unreachable.
	r.coalescer, err = coalesce.New(r.locks, coalesce.Config{BreakerCalls: 1 << 30})
	require.NoError(t, err)
	cfg.Logger = quiet
	cfg.ReadTimeout, cfg.AskedFor = time.Minute, time.Minute // however loaded the machine is
	if r.mirror, err = New(s, r.coalescer, r.bus.Publisher(), cfg); err != nil {
		t.Fatal(err)
	}
	r.upstream = &shelf{}
	if r.worker, err = NewWorker(r.mirror, r.upstream, wcfg); err != nil {
		t.Fatal(err)
	}
}

func memBus(t testing.TB) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close the bus")
	})
	require.NoError(t, b.Declare(t.Context(), Topics()...))
	return b
}

// switched is a store of locks that can be unreachable.
type switched struct {
	driver.Store
	mu   sync.Mutex
	down bool
}

func (s *switched) set(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
}

func (s *switched) Request(ctx context.Context, key string, p coalesce.Priority, again bool, ttl driver.TTLs) (coalesce.Decision, error) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return coalesce.Decision{}, errors.New("connection refused")
	}
	return s.Store.Request(ctx, key, p, again, ttl)
}

// shelf is an upstream in memory: its answer for each artist, and the number of
// calls.
type shelf struct {
	mu    sync.Mutex
	says  map[string]func() (Document, error)
	calls map[string]int
}

func (s *shelf) Fetch(_ context.Context, _ event.Priority, id string) (Document, error) {
	s.mu.Lock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[id]++
	answer := s.says[id]
	s.mu.Unlock()
	if answer == nil {
		return Document{}, refusal(404)
	}
	return answer()
}

func (s *shelf) put(id string, answer func() (Document, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.says == nil {
		s.says = map[string]func() (Document, error){}
	}
	s.says[id] = answer
}

// has puts an artist of a level on the shelf.
func (s *shelf) has(t testing.TB, id string, level int) Document {
	t.Helper()
	d := document(t, id, level)
	s.put(id, func() (Document, error) { return d, nil })
	return d
}

func (s *shelf) asked(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

func refusal(status int) error {
	f := &Failure{Status: status, Reason: API4XX, err: fault.MarkPermanent(fmt.Errorf("the upstream answers %d", status))}
	if status >= 500 {
		f.Reason, f.err = API5XX, fault.MarkTransient(fmt.Errorf("the upstream answers %d", status))
	}
	return f
}

// text is an upstream's document.
func text(id string, level int) string {
	return fmt.Sprintf(`{"id":%q,"name":"Artist %s","level":%d,"updatedAt":"2026-01-02T03:04:05Z","attributes":{"b":[1,2.50],"a":"%s"},"history":[{"at":"x"},[]]}`,
		id, id, level, strings.Repeat("x", 300))
}

func document(t testing.TB, id string, level int) Document {
	t.Helper()
	d, err := Extract(strings.NewReader(text(id, level)), 1<<20, id)
	require.NoError(t, err)
	return d
}

// request makes the event of a refresh, as the coalescer would number it.
func request(t testing.TB, id string, p event.Priority, version int64) event.Event {
	t.Helper()
	e, err := newRequest(id, p, TooOld, version)
	require.NoError(t, err)
	return e
}

// refresh carries out requests in one batch.
func (r *rig) refresh(t testing.TB, all ...event.Event) error {
	t.Helper()
	return r.worker.handle(event.High)(t.Context(), all)
}

func (r *rig) get(t testing.TB, id string) View {
	t.Helper()
	v, err := r.mirror.Get(t.Context(), id)
	require.NoError(t, err)
	return v
}

// age makes an artist's last check a thing of the past.
func (r *rig) age(t testing.TB, id string, by time.Duration) {
	t.Helper()
	r.box.Exec(t, `UPDATE artists SET last_checked_at = last_checked_at - $2, last_updated_at = last_updated_at - $2 WHERE artist_id = $1`, id, by.Milliseconds())
}

// runs runs the mirror until the test's end.
func (r *rig) runs(t testing.TB) {
	t.Helper()
	start(t, "mirror", r.mirror.Run)
}

// consumes runs the workers until the test's end.
func (r *rig) consumes(t testing.TB) *bus.Runner {
	t.Helper()
	runner, err := bus.NewRunner(r.bus, bus.RunnerConfig{Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, runner.Add(r.worker.Pair(nil)))
	start(t, "runner", runner.Run)
	<-runner.Running()
	return runner
}

func start(t testing.TB, name string, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoErrorf(t, <-ended, "%s", name)
	})
}

// on subscribes to a topic as a group of its own.
func (r *rig) on(t testing.TB, topic, group string) <-chan *message.Message {
	t.Helper()
	s, err := r.bus.Subscriber(group, bus.SubscriberConfig{Concurrency: 64})
	require.NoError(t, err)
	messages, err := s.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	return messages
}

// next takes a message of a topic.
func next(t testing.TB, from <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case m := <-from:
		m.Ack()
		return m
	case <-time.After(time.Minute):
		t.Fatal("no message within a minute")
		return nil
	}
}

// send publishes requests.
func (r *rig) send(t testing.TB, all ...event.Event) {
	t.Helper()
	for _, e := range all {
		msg, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		require.NoError(t, r.bus.Publisher().Publish(topicOf(e.Priority), msg))
	}
}

// eventually waits until done, checking again when something may have changed.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func level(v View) string {
	_, rest, _ := bytes.Cut(v.Snapshot, []byte(`"level":`))
	n, _, _ := bytes.Cut(rest, []byte(","))
	return string(n)
}
