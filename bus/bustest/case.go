package bustest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

// Case is one requirement on a transport. Test returns the failure, or nil; the context ends
// when the case takes too long.
type Case struct {
	Name string
	Test func(ctx context.Context, env Env) error
}

// Env is the environment of a case.
type Env struct {
	// Bus is open, and empty for the case's own topics.
	Bus *bus.Bus
	// Again opens another Bus on the same store as Bus, which may be open or closed. The caller
	// closes it.
	Again func() (*bus.Bus, error)
	// OpenURL opens the transport's URL with a query appended.
	OpenURL func(ctx context.Context, query string) (*bus.Bus, error)
	// Absent opens a Bus whose server is absent until arrive is called. The caller closes it. It
	// is nil where the transport has no server.
	Absent func() (b *bus.Bus, arrive func() error, err error)
}

// Cases returns Millrace's own cases. [Run] runs them beside Watermill's.
func Cases() []Case {
	var all []Case
	all = append(all, orderCases()...)
	all = append(all, groupCases()...)
	all = append(all, groupAdminCases()...)
	all = append(all, transportCases()...)
	all = append(all, absentCases()...)
	all = append(all, consumerCases()...)
	all = append(all, batchCases()...)
	all = append(all, redriveCases()...)
	return all
}

// name returns a unique topic or group name.
func name(prefix string) string { return prefix + "-" + uuid.NewString() }

// msg makes the n-th message of a key.
func msg(key string, n int) *message.Message {
	m := message.NewMessage(uuid.NewString(), []byte(key+"#"+strconv.Itoa(n)))
	if key != "" {
		m.Metadata.Set(event.KeyHeader, key)
	}
	return m
}

// series makes the messages from..to of a key.
func series(key string, from, to int) []*message.Message {
	var all []*message.Message
	for n := from; n <= to; n++ {
		all = append(all, msg(key, n))
	}
	return all
}

// keyed is the name of the k-th key of a case with several.
func keyed(k int) string { return "key-" + strconv.Itoa(k) }

// inTurn makes the messages from..to of each of the keys: the first of every key, then the second.
func inTurn(keys, from, to int) []*message.Message {
	var all []*message.Message
	for n := from; n <= to; n++ {
		for k := range keys {
			all = append(all, msg(keyed(k), n))
		}
	}
	return all
}

// publishInTurn publishes the messages of inTurn one by one.
func publishInTurn(b *bus.Bus, topic string, keys, from, to int) error {
	for _, m := range inTurn(keys, from, to) {
		if err := b.Publisher().Publish(topic, m); err != nil {
			return err
		}
	}
	return nil
}

// eachKey calls check with each of the keys and its payloads 1..each.
func eachKey(keys, each int, check func(key string, want []string) error) error {
	for k := range keys {
		if err := check(keyed(k), payloads(keyed(k), 1, each)); err != nil {
			return err
		}
	}
	return nil
}

// declare makes a group before the first publish: on a transport without Replay a later group
// would miss those messages.
func declare(ctx context.Context, b *bus.Bus, topic string, groups ...string) error {
	return b.Declare(ctx, bus.Topic{Name: topic, Groups: groups})
}

// published makes a topic with a group, and publishes messages to it in one call.
func published(ctx context.Context, b *bus.Bus, messages ...*message.Message) (topic, group string, err error) {
	topic, group = name("topic"), name("group")
	if err := declare(ctx, b, topic, group); err != nil {
		return topic, group, err
	}
	return topic, group, b.Publisher().Publish(topic, messages...)
}

// subscribing is an open subscription.
type subscribing struct {
	message.Subscriber
	ch      <-chan *message.Message
	ordered bool // the transport keeps the order of keys
}

func subscribe(ctx context.Context, b *bus.Bus, group, topic string) (*subscribing, error) {
	sub, err := b.Subscriber(group, bus.SubscriberConfig{Concurrency: 16, Redelivery: atOnce})
	if err != nil {
		return nil, err
	}
	ch, err := sub.Subscribe(context.WithoutCancel(ctx), topic)
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return &subscribing{sub, ch, ordered(b)}, nil
}

// during calls do with a subscription and closes it.
func during(ctx context.Context, b *bus.Bus, topic, group string, do func(*subscribing) error) error {
	sub, err := subscribe(ctx, b, group, topic)
	if err != nil {
		return err
	}
	err = do(sub)
	sub.closing(&err)
	return err
}

// getsAll subscribes, receives exactly these payloads and acknowledges them.
func getsAll(ctx context.Context, b *bus.Bus, topic, group string, want ...string) error {
	return during(ctx, b, topic, group, func(sub *subscribing) error { return sub.expectAll(ctx, want...) })
}

// getsSome subscribes, acknowledges n messages and returns their payloads.
func getsSome(ctx context.Context, b *bus.Bus, topic, group string, n int) (payloads []string, err error) {
	err = during(ctx, b, topic, group, func(sub *subscribing) (err error) {
		payloads, err = sub.take(ctx, n)
		return err
	})
	return payloads, err
}

// ordered reports whether a transport keeps the order of keys. Messages from one that does not
// are compared in any order.
func ordered(b *bus.Bus) bool { return b.Capabilities().OrderedPerKey }

// atOnce keeps the cases short.
var atOnce = bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Multiplier: 1}

// next returns the next message, unacknowledged.
func (s *subscribing) next(ctx context.Context) (*message.Message, error) {
	select {
	case m, ok := <-s.ch:
		if !ok {
			return nil, errors.New("the channel was closed")
		}
		return m, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no message came: %w", ctx.Err())
	}
}

// expect takes the next message and checks its payload.
func (s *subscribing) expect(ctx context.Context, payload string) (*message.Message, error) {
	m, err := s.next(ctx)
	if err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", payload, err)
	}
	if string(m.Payload) != payload {
		return nil, fmt.Errorf("got %s, want %s", m.Payload, payload)
	}
	return m, nil
}

// expectAll receives and acknowledges messages with these payloads, in this order where the
// transport keeps it.
func (s *subscribing) expectAll(ctx context.Context, payloads ...string) error {
	left := slices.Clone(payloads)
	for len(left) > 0 {
		m, err := s.next(ctx)
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", left[0], err)
		}
		i := slices.Index(left, string(m.Payload))
		if i < 0 || i > 0 && s.ordered {
			return fmt.Errorf("got %s, want %s", m.Payload, left[0])
		}
		left = slices.Delete(left, i, i+1)
		m.Ack()
	}
	return nil
}

// take acknowledges n messages and returns their payloads.
func (s *subscribing) take(ctx context.Context, n int) (payloads []string, err error) {
	for range n {
		m, err := s.next(ctx)
		if err != nil {
			return payloads, err
		}
		m.Ack()
		payloads = append(payloads, string(m.Payload))
	}
	return payloads, nil
}

// takeBut receives n messages and acknowledges those of other keys than this one.
func (s *subscribing) takeBut(ctx context.Context, n int, key string) error {
	for range n {
		m, err := s.next(ctx)
		if err != nil {
			return err
		}
		if event.Key(m) != key {
			m.Ack()
		}
	}
	return nil
}

// payloads returns the payloads from..to of a key for expectAll.
func payloads(key string, from, to int) []string {
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, key+"#"+strconv.Itoa(n))
	}
	return all
}

// closing joins err with the error of closing s.
func (s *subscribing) closing(err *error) {
	if cerr := s.Close(); cerr != nil {
		*err = errors.Join(*err, fmt.Errorf("close the subscriber: %w", cerr))
	}
}

// trail records the messages that handlers received, by key.
type trail struct {
	bus *bus.Bus

	mu   sync.Mutex
	seen map[string][]string
	n    int
	more chan struct{} // closed and replaced by every add
}

func newTrail(b *bus.Bus) *trail {
	return &trail{bus: b, seen: map[string][]string{}, more: make(chan struct{})}
}

func (t *trail) add(m *message.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := event.Key(m)
	t.seen[key] = append(t.seen[key], string(m.Payload))
	t.n++
	close(t.more)
	t.more = make(chan struct{})
}

// wait returns when n messages were added.
func (t *trail) wait(ctx context.Context, n int) error {
	for {
		t.mu.Lock()
		have, more := t.n, t.more
		t.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages were handled: %w", have, n, ctx.Err())
		}
	}
}

// inOrder checks that the key had exactly these payloads, in this order where the transport
// keeps it.
func (t *trail) inOrder(key string, want []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return same(t.bus, key, t.seen[key], want)
}

// same is sameOrder where the transport keeps the order of keys, and elsewhere in any order.
func same(b *bus.Bus, key string, got, want []string) error {
	if !ordered(b) {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
	return sameOrder(key, got, want)
}

func sameOrder(key string, got, want []string) error {
	if len(got) != len(want) {
		return fmt.Errorf("key %q: got %d messages %v, want %d", key, len(got), got, len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("key %q: message %d is %s, want %s (%v)", key, i, got[i], want[i], got)
		}
	}
	return nil
}

// running is a started Runner.
type running struct {
	*bus.Runner
	stop context.CancelFunc
	done chan error
}

// run starts a Runner with the consumers and waits until it runs.
func run(ctx context.Context, b *bus.Bus, consumers ...bus.AnyConsumer) (*running, error) {
	r, err := bus.NewRunner(b, bus.RunnerConfig{DrainTimeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler), WorkerID: "worker-1"})
	if err != nil {
		return nil, err
	}
	for _, c := range consumers {
		if err := r.Add(c); err != nil {
			return nil, err
		}
	}
	rctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	x := &running{r, stop, make(chan error, 1)}
	go func() { x.done <- r.Run(rctx) }()
	select {
	case <-r.Running():
		return x, nil
	case err := <-x.done:
		stop()
		return nil, fmt.Errorf("the runner ended: %w", err)
	case <-ctx.Done():
		stop()
		return nil, errors.Join(fmt.Errorf("the runner did not start: %w", ctx.Err()), <-x.done)
	}
}

// finish stops the Runner and joins its error with err.
func (r *running) finish(err *error) {
	r.stop()
	if rerr := <-r.done; rerr != nil {
		*err = errors.Join(*err, fmt.Errorf("run: %w", rerr))
	}
}
