package bustest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// broken is membus with one fault. A field that is nil is no fault.
type broken struct {
	driver.Driver
	deliver func(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{})
	publish func(next message.Publisher, topic string, messages []*message.Message) error
	group   func(string) string
	declare func(context.Context, ...bus.Topic) error
	lag     func([]bus.Lag) []bus.Lag
	browse  func([]*message.Message) []*message.Message
	finds   func(bool) bool
	closed  func() error
	absent  func(error) error // the error of an absent server
	groups  func([]driver.Group) []driver.Group
	reset   func(next driver.GroupResetter, topic, group string, to bus.Place, dryRun bool) (driver.Moved, error)
	delete  func(next driver.GroupAdmin, topic, group string) error
	read    func(fn func(*message.Message) error) func(*message.Message) error

	unordered bool // claims that it keeps no order
	opening   bool // its sources end with the context that they were opened with
	generous  bool // its sources hand out more than was asked for
	begins    bool // reads from the beginning for any place but the end
}

func (b broken) Capabilities() driver.Capabilities {
	c := b.Driver.Capabilities()
	c.OrderedPerKey = c.OrderedPerKey && !b.unordered
	return c
}

// absent is a driver whose server is absent until it has arrived.
type absent struct {
	driver.Driver
	judge   func(error) error
	arrived atomic.Bool
}

func (a *absent) Ping(context.Context) error {
	if a.arrived.Load() {
		return nil
	}
	return a.judge(fault.MarkInfrastructure(errors.New("connection refused")))
}

func (a *absent) Declare(ctx context.Context, topics ...bus.Topic) error {
	if err := a.Ping(ctx); err != nil {
		return err
	}
	return a.Driver.Declare(ctx, topics...)
}

func (a *absent) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	if err := a.Ping(ctx); err != nil {
		return nil, err
	}
	return a.Driver.Source(ctx, topic, group, window)
}

func (a *absent) Publisher() message.Publisher { return absentPublisher{a.Driver.Publisher(), a} }

type absentPublisher struct {
	message.Publisher
	driver *absent
}

func (p absentPublisher) Publish(topic string, messages ...*message.Message) error {
	if err := p.driver.Ping(context.Background()); err != nil {
		return err
	}
	return p.Publisher.Publish(topic, messages...)
}

// Ping calls the wrapped driver.
func (b broken) Ping(ctx context.Context) error {
	if p, ok := b.Driver.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (b broken) Publisher() message.Publisher { return brokenPublisher{b.Driver.Publisher(), b} }

func (b broken) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	if b.group != nil {
		group = b.group(group)
	}
	if b.opening || b.generous {
		s, err := b.Driver.Source(ctx, topic, group, window)
		if b.generous {
			return generous{s}, err
		}
		return brief{s, ctx}, err
	}
	if b.deliver == nil {
		return b.Driver.Source(ctx, topic, group, window)
	}
	return sourcetest.Source(ctx, b.Driver, topic, group, window, func(s message.Subscriber) message.Subscriber {
		return &brokenSubscriber{Subscriber: s, deliver: b.deliver, stop: make(chan struct{})}
	})
}

// brief is a source that ends with a context.
type brief struct {
	driver.Source
	until context.Context
}

func (s brief) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	if s.until.Err() != nil {
		return nil, driver.ErrEnded
	}
	return s.Source.Fetch(ctx, most)
}

type generous struct{ driver.Source }

func (s generous) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	return s.Source.Fetch(ctx, most+1)
}

func (b broken) Declare(ctx context.Context, topics ...bus.Topic) error {
	if b.declare != nil {
		return b.declare(ctx, topics...)
	}
	return b.Driver.Declare(ctx, topics...)
}

func (b broken) Close() error {
	if b.closed != nil {
		return b.closed()
	}
	return b.Driver.Close()
}

func (b broken) Lag(ctx context.Context) ([]bus.Lag, error) {
	all, err := b.Driver.(driver.Lagger).Lag(ctx)
	if b.lag != nil {
		all = b.lag(all)
	}
	return all, err
}

func (b broken) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	all, err := b.Driver.(driver.Inspector).Browse(ctx, topic, limit)
	if b.browse != nil {
		all = b.browse(all)
	}
	return all, err
}

func (b broken) HasTopic(ctx context.Context, name string) (bool, error) {
	has, err := b.Driver.(driver.TopicFinder).HasTopic(ctx, name)
	if b.finds != nil {
		has = b.finds(has)
	}
	return has, err
}

func (b broken) Topics(ctx context.Context) ([]string, error) {
	return b.Driver.(driver.TopicFinder).Topics(ctx)
}

func (b broken) Groups(ctx context.Context, topics ...string) ([]driver.Group, error) {
	all, err := b.Driver.(driver.GroupAdmin).Groups(ctx, topics...)
	if b.groups != nil {
		all = b.groups(all)
	}
	return all, err
}

func (b broken) ResetGroup(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (driver.Moved, error) {
	next := b.Driver.(driver.GroupResetter)
	if b.reset != nil {
		return b.reset(next, topic, group, to, dryRun)
	}
	return next.ResetGroup(ctx, topic, group, to, dryRun)
}

func (b broken) DeleteGroup(ctx context.Context, topic, group string) error {
	next := b.Driver.(driver.GroupAdmin)
	if b.delete != nil {
		return b.delete(next, topic, group)
	}
	return next.DeleteGroup(ctx, topic, group)
}

func (b broken) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	if b.read != nil {
		fn = b.read(fn)
	}
	if b.begins && !from.Latest {
		from = bus.Place{}
	}
	return b.Driver.(driver.Reader).Read(ctx, topic, from, fn)
}

type brokenPublisher struct {
	message.Publisher
	broken broken
}

func (p brokenPublisher) Publish(topic string, messages ...*message.Message) error {
	if p.broken.publish != nil {
		return p.broken.publish(p.Publisher, topic, messages)
	}
	return p.Publisher.Publish(topic, messages...)
}

type brokenSubscriber struct {
	message.Subscriber
	deliver func(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{})
	stop    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func (s *brokenSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.wg.Go(func() {
		defer close(out)
		s.deliver(in, out, s.stop)
	})
	return out, nil
}

func (s *brokenSubscriber) Close() error {
	s.once.Do(func() {
		// In the test's synthetic time: every answer sent so far is seen before the end.
		time.Sleep(time.Second)
		close(s.stop)
	})
	err := s.Subscriber.Close()
	s.wg.Wait()
	return err
}

func send(out chan<- *message.Message, stop <-chan struct{}, m *message.Message) {
	select {
	case out <- m:
	case <-stop:
	}
}

func copied(m *message.Message) *message.Message {
	c := m.Copy()
	c.SetContext(context.WithoutCancel(m.Context()))
	return c
}

// acksEarly acknowledges a message when it is delivered.
func acksEarly(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{}) {
	for m := range in {
		m.Ack()
		send(out, stop, copied(m))
	}
}

// reverses delivers the messages of a second in reverse order.
func reverses(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{}) {
	for first := range in {
		batch := []*message.Message{first}
		for idle := time.After(time.Second); ; {
			select {
			case m, ok := <-in:
				if ok {
					batch = append(batch, m)
					continue
				}
			case <-idle:
			}
			break
		}
		for _, m := range slices.Backward(batch) {
			send(out, stop, m)
		}
	}
}

// skips acknowledges every message before an acknowledged one.
func skips(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{}) {
	var before []*message.Message
	var wg sync.WaitGroup
	defer wg.Wait()
	for m := range in {
		before = append(before, m)
		upTo, c := slices.Clone(before), copied(m)
		wg.Go(func() {
			select {
			case <-c.Acked():
				for _, b := range upTo {
					b.Ack()
				}
			case <-c.Nacked():
			case <-stop:
			}
		})
		send(out, stop, c)
	}
}

// drops loses every seventh message.
func drops() func(message.Publisher, string, []*message.Message) error {
	var n atomic.Int32
	return func(next message.Publisher, topic string, messages []*message.Message) error {
		var kept []*message.Message
		for _, m := range messages {
			if n.Add(1)%7 != 0 {
				kept = append(kept, m)
			}
		}
		return next.Publish(topic, kept...)
	}
}

// dropsLetters loses dead letters.
func dropsLetters(next message.Publisher, topic string, messages []*message.Message) error {
	if strings.HasSuffix(topic, ".DLT") {
		return nil
	}
	return next.Publish(topic, messages...)
}

// deduplicates loses what has the id of an earlier message of the topic and is no newer version of it.
func deduplicates() func(message.Publisher, string, []*message.Message) error {
	var seen sync.Map
	return func(next message.Publisher, topic string, messages []*message.Message) error {
		return next.Publish(topic, slices.DeleteFunc(messages, func(m *message.Message) bool {
			_, twice := seen.LoadOrStore([4]string{topic, m.UUID, m.Metadata[driver.DLQRedrive], m.Metadata[driver.DLQEdits]}, nil)
			return twice
		})...)
	}
}

func changes(change func(*message.Message)) func(message.Publisher, string, []*message.Message) error {
	return func(next message.Publisher, topic string, messages []*message.Message) error {
		for _, m := range messages {
			m = m.Copy()
			change(m)
			if err := next.Publish(topic, m); err != nil {
				return err
			}
		}
		return nil
	}
}

// movesToTheEnd moves to the end, for any place.
func movesToTheEnd(next driver.GroupResetter, topic, group string, to bus.Place, dryRun bool) (driver.Moved, error) {
	moved, err := next.ResetGroup(context.Background(), topic, group, to, dryRun)
	if err != nil || dryRun || to.Latest {
		return moved, err
	}
	_, err = next.ResetGroup(context.Background(), topic, group, bus.Place{Latest: true}, false)
	return moved, err
}

// movesAlways also moves in a dry run.
func movesAlways(next driver.GroupResetter, topic, group string, to bus.Place, _ bool) (driver.Moved, error) {
	return next.ResetGroup(context.Background(), topic, group, to, false)
}

// movesToTheBeginning moves to the beginning, for any place.
func movesToTheBeginning(next driver.GroupResetter, topic, group string, _ bus.Place, dryRun bool) (driver.Moved, error) {
	return next.ResetGroup(context.Background(), topic, group, bus.Place{}, dryRun)
}

func ownGroups() func(string) string {
	var n atomic.Int32
	return func(group string) string { return fmt.Sprintf("%s-%d", group, n.Add(1)) }
}
