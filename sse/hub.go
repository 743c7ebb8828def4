package sse

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/otelmsg"
	"github.com/millrace-go/millrace/sse/driver"
)

// Hub has the streams of one process. Make one with [New]; it takes streams while
// Run runs.
type Hub struct {
	cfg       Config
	cap       driver.Cap
	broker    driver.Broker
	audience  *audience
	wheel     *wheel
	closer    *closer
	checker   *checker
	flusher   *flusher
	resyncer  *resyncer
	answerer  *answerer
	questions questions
	stats     counters
	seed      maphash.Seed
	pingFrame []byte
	nothing   []string // the cursors of a client that has seen nothing
	made      time.Time
	tracer    *otelmsg.Tracer // nil when no spans are made
	number    atomic.Int64
	started   atomic.Bool

	mu       sync.Mutex
	lease    instanceLease
	brokerUp bool
	draining bool
	ready    chan struct{} // closed while the hub takes streams
}

// New makes a hub. All processes whose members should reach each other share the
// cap and the broker.
func New(c driver.Cap, b driver.Broker, cfg Config) (*Hub, error) {
	if c == nil || b == nil {
		return nil, errors.New("sse: the cap or the broker is nil; give both, such as memsse's or redissse's")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	h := &Hub{
		cfg: cfg, cap: c, broker: b,
		audience:  newAudience(cfg.Streams, cfg.PerAddress),
		wheel:     newWheel(cfg.Ping),
		closer:    &closer{backlog: newBacklog[driver.Conn](maxCloses)},
		checker:   &checker{newBacklog[*stream](0)},
		resyncer:  &resyncer{wake: make(chan struct{}, 1)},
		answerer:  &answerer{newBacklog[driver.Message](maxQuestions)},
		seed:      maphash.MakeSeed(),
		pingFrame: []byte(pingFrame),
		nothing:   make([]string, len(cfg.Cursors)),
		made:      time.Now(),
		ready:     make(chan struct{}),
		tracer:    otelmsg.New(cfg.TracerProvider, "sse", "millrace_sse"),
	}
	h.flusher = newFlusher(h)
	return h, nil
}

// Run keeps the streams until ctx ends, then sends all clients away, spread over
// Config.Spread, and waits for the streams to end. It returns nil then, or the
// error for which the broker cannot be listened to. A hub runs once.
func (h *Hub) Run(ctx context.Context) error {
	if h.started.Swap(true) {
		return errors.New("sse: this hub has run; make another")
	}
	// The ending streams need a context that outlives ctx.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 1)
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){
		h.keepLease, h.turnWheel, h.checker.run(h), h.closer.run(h), h.resyncer.run(h), h.answerer.run(h), h.sweep, h.flusher.run,
	} {
		parts.Go(func() { part(inner) })
	}
	parts.Go(func() {
		if err := h.broker.Listen(inner, driver.Listener{Hear: h.hear, Up: h.up, Down: h.down}); err != nil {
			failed <- fmt.Errorf("sse: listen: %w", err)
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	h.drain(inner)
	stop()
	parts.Wait()
	return err
}

// drain ends all streams and waits for them.
func (h *Hub) drain(ctx context.Context) {
	h.mu.Lock()
	h.draining = true
	instance := h.lease.instance
	h.settle()
	h.mu.Unlock()
	for _, s := range h.audience.close() {
		s.end(endedDrained, retryFrame(h.cfg.spread()))
	}
	// A handler is in a write or a replay at most; longer waits are not the hub's.
	late := time.NewTimer(2*h.cfg.WriteTimeout + h.cfg.ReplayTimeout + h.cfg.Timeout)
	defer late.Stop()
	select {
	case <-h.audience.empty:
	case <-late.C:
	}
	h.closer.flush(ctx, h)
	if instance != "" {
		ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
		defer cancel()
		if err := h.cap.Resign(ctx, instance); err != nil {
			h.failed("resign", err)
		}
	}
}

// Ready waits until the hub takes streams and hears other processes, or ctx ends.
func (h *Hub) Ready(ctx context.Context) error {
	h.mu.Lock()
	ready := h.ready
	h.mu.Unlock()
	select {
	case <-ready:
		return nil
	default:
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
}

// settle opens or closes ready; mu is held.
func (h *Hub) settle() {
	up := h.lease.instance != "" && h.brokerUp && !h.draining
	select {
	case <-h.ready:
		if !up {
			h.ready = make(chan struct{})
		}
	default:
		if up {
			close(h.ready)
		}
	}
}

// ToMember sends an event to all streams of a member, in any process. It is sent at
// most once and not retried: members that must not miss it read it where it is
// stored. An error says that perhaps no stream got it.
func (h *Hub) ToMember(ctx context.Context, member string, e Event) error {
	if err := checkName("member", member); err != nil {
		return err
	}
	return h.send(ctx, driver.ToMember, member, e)
}

// ToRoom sends an event to all streams in a room.
func (h *Hub) ToRoom(ctx context.Context, room string, e Event) error {
	if err := checkName("room", room); err != nil {
		return err
	}
	return h.send(ctx, driver.ToRoom, room, e)
}

// ToAll sends an event to all streams.
func (h *Hub) ToAll(ctx context.Context, e Event) error { return h.send(ctx, driver.ToAll, "", e) }

// Join adds the present streams of a member to a room. Streams that open later
// bring their rooms ([Stream.Rooms]).
func (h *Hub) Join(ctx context.Context, member, room string) error {
	return h.tell(ctx, driver.Message{Kind: driver.Join, To: member, Arg: room})
}

// Leave takes a member's streams out of a room.
func (h *Hub) Leave(ctx context.Context, member, room string) error {
	return h.tell(ctx, driver.Message{Kind: driver.Leave, To: member, Arg: room})
}

// Mute stops the events of Config.Muted for the present streams of a member, or
// lets them through again. Streams that open later bring it ([Stream.Muted]).
func (h *Hub) Mute(ctx context.Context, member string, muted bool) error {
	kind := driver.Unmute
	if muted {
		kind = driver.Mute
	}
	if err := checkName("member", member); err != nil {
		return err
	}
	return h.publish(ctx, driver.Message{Kind: kind, To: member})
}

func (h *Hub) tell(ctx context.Context, m driver.Message) error {
	if err := errors.Join(checkName("member", m.To), checkName("room", m.Arg)); err != nil {
		return err
	}
	return h.publish(ctx, m)
}

func (h *Hub) send(ctx context.Context, kind driver.Kind, to string, e Event) error {
	id := e.ID
	if id != "" {
		i := slices.Index(h.cfg.Cursors, e.Name)
		if i < 0 {
			return invalid("the event %q has an id, and no cursor; name it in Config.Cursors, or give it no id", e.Name)
		}
		if !validID(id) {
			return invalid("the event id %q is not 1 to %d bytes of visible ASCII without ; and =", id, maxEventID)
		}
		id = h.plainID(i, id)
	}
	b, err := encode(e.Name, id, e.Data)
	if err != nil {
		return err
	}
	if len(b) > h.cfg.MaxBytes {
		return invalid("the event has %d bytes, and Config.MaxBytes is %d", len(b), h.cfg.MaxBytes)
	}
	return h.publish(ctx, driver.Message{Kind: kind, To: to, Arg: originOf(ctx, e.At), Event: e.Name, ID: e.ID, Frame: b})
}

// plainID is the id line for a client that has seen nothing else.
func (h *Hub) plainID(cursor int, id string) string {
	ids := make([]string, len(h.cfg.Cursors))
	ids[cursor] = id
	return formatID(h.cfg.Cursors, ids)
}

func (h *Hub) publish(ctx context.Context, m driver.Message) error {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	if err := h.broker.Publish(ctx, m); err != nil {
		h.stats.unpublished.Add(1)
		if fault.Of(err) == fault.Permanent {
			return fmt.Errorf("sse: publish: %w", err)
		}
		return fault.MarkTransient(fmt.Errorf("sse: publish: %w", err))
	}
	h.stats.published.Add(1)
	return nil
}

// hear carries a message out on the streams of this process.
func (h *Hub) hear(m driver.Message) {
	switch m.Kind {
	case driver.ToMember, driver.ToRoom, driver.ToAll:
		f := h.frame(m.Event, m.ID, m.Frame)
		f.trace = h.follows(m)
		h.audience.each(m.Kind, m.To, func(s *stream) { s.push(&f) })
		f.trace.release()
	case driver.Disconnect:
		if s := h.audience.connection(m.Arg); s != nil && s.conn.Member == m.To {
			s.end(endedEvicted, []byte(evictedFrame))
		}
	case driver.Join:
		h.audience.join(m.To, m.Arg)
	case driver.Leave:
		h.audience.leave(m.To, m.Arg)
	case driver.Ask:
		h.answerer.add(m)
	case driver.Answer:
		h.questions.answer(m.To, m.Frame)
	case driver.Mute, driver.Unmute:
		h.audience.each(driver.ToMember, m.To, func(s *stream) {
			s.mu.Lock()
			s.muted = m.Kind == driver.Mute
			s.mu.Unlock()
		})
	}
}

func (h *Hub) frame(name, id string, b []byte) frame {
	f := frame{bytes: b, body: len(b), cursor: -1, id: id, mutes: slices.Contains(h.cfg.Muted, name)}
	if id == "" {
		return f
	}
	cursor := slices.Index(h.cfg.Cursors, name)
	if cursor < 0 {
		return f // of an instance with other cursors
	}
	if body := len(b) - len(appendID(nil, h.plainID(cursor, id))) - 1; body >= 0 {
		f.body, f.cursor = body, cursor
		f.key = h.key(name, id)
	}
	return f
}

func (h *Hub) key(name, id string) uint64 {
	return maphash.String(h.seed, name+"\x00"+id)
}

func (h *Hub) failed(what string, err error) {
	h.stats.storeErrors.Add(1)
	h.cfg.Logger.Warn("sse: "+what+" failed", "error", err)
}

func checkName(what, name string) error {
	if name == "" || len(name) > driver.MaxMember {
		return invalid("a %s has %d bytes; give 1 to %d", what, len(name), driver.MaxMember)
	}
	return nil
}
