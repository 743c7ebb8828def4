package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/window"
)

// source is one member of a group on one topic, with a client of its own. The client's
// callbacks give it partitions and take them away; poll fills what they have ahead, and
// Fetch hands that over, up to the window.
type source struct {
	driver *driver
	topic  string
	client *kgo.Client
	base   context.Context // its values are the deliveries'
	span   int
	window *window.Window[*claim]
	log    *slog.Logger
	ready  chan struct{} // capacity 1: a partition has something to hand over

	polling turn
	commits sync.Mutex // held for a commit, and by what takes partitions away

	mu     sync.Mutex
	claims []*claim      // of the partitions that are ours
	first  int           // the claim that Fetch begins with
	hungry chan struct{} // capacity 1: poll is to look again

	trouble   trouble
	closing   chan struct{}
	closeOnce sync.Once
	ended     chan struct{} // closed when everything has ended
	err       error         // of leaving; read after ended
}

const (
	// maxSpan is how far the newest message handed over may be ahead of the first
	// unacknowledged one of its partition: a crash repeats no more.
	maxSpan = 25_000
	// maxAhead is how many records of a partition wait in memory before it is fetched no
	// more, and pollMost how many are taken from the client at once.
	maxAhead = 1024
	pollMost = 512
	// What one answer of a broker holds at most, compressed, beside its first batch.
	fetchBytes, fetchPartitionBytes = 1 << 20, 256 << 10
)

// Source implements bus.Driver. A new group begins at the earliest retained message.
func (d *driver) Source(ctx context.Context, topic, group string, size int) (busdriver.Source, error) {
	switch {
	case group == "":
		return nil, errors.New("kafkabus: the group has no name")
	case size < 1:
		return nil, fmt.Errorf("kafkabus: the window of group %s is %d; give at least 1", group, size)
	}
	if d.set.Window > 0 {
		size = min(size, d.set.Window)
	}
	s, err := d.newSource(ctx, topic, group, size)
	if err != nil {
		return nil, wrap(err, "subscribe to %s", topic)
	}
	return s, nil
}

func (d *driver) newSource(ctx context.Context, topic, group string, size int) (*source, error) {
	if err := d.topics.ensure(ctx, topic); err != nil {
		return nil, err
	}
	s := &source{
		driver: d, topic: topic, base: context.WithoutCancel(ctx), span: max(maxSpan, size),
		window: window.New(size, (*claim).kick), ready: make(chan struct{}, 1), hungry: make(chan struct{}, 1),
		log:     d.set.Logger.With(slog.String("topic", topic), slog.String("group", group)),
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	s.trouble.log = s.log
	instance, free := d.instance(group)
	options, err := d.set.options()
	if err == nil {
		s.client, err = kgo.NewClient(append(options, s.membership(group, instance)...)...)
	}
	if err != nil {
		free()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		free()
		s.client.Close()
		return nil, bus.ErrClosed
	}
	d.sources[s] = struct{}{}
	d.knowLocked(topic, group)
	go func() {
		s.run()
		free()
		close(s.ended)
	}()
	return s, nil
}

// Fetch is that of [busdriver.Source].
func (s *source) Fetch(ctx context.Context, most int) ([]busdriver.Delivery, error) {
	return busdriver.Fetch(ctx, s.ready, s.closing, bus.ErrClosed, func() []busdriver.Delivery { return s.collect(most) })
}

// collect takes what the partitions have ready, beginning with another one each time.
func (s *source) collect(most int) []busdriver.Delivery {
	s.mu.Lock()
	var all []busdriver.Delivery
	s.first++
	for i := range s.claims {
		if len(all) < most {
			all = s.claims[(s.first+i)%len(s.claims)].hand(all, most)
		}
	}
	s.feed()
	s.mu.Unlock()
	for _, d := range all {
		d.(*flight).decode()
	}
	return all
}

// tell says that a partition has something to hand over.
func (s *source) tell() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// wants is whether anything is to be fetched; s.mu is held, here and below.
func (s *source) wants() bool {
	return len(s.claims) == 0 || slices.ContainsFunc(s.claims, (*claim).hungry)
}

// feed has poll look again if a partition has little ahead.
func (s *source) feed() {
	if s.wants() {
		select {
		case s.hungry <- struct{}{}:
		default:
		}
	}
}

// Close is that of [busdriver.Source]: it commits what is done and leaves the group.
// Further calls wait for the first.
func (s *source) Close() error {
	s.closeOnce.Do(func() { close(s.closing) })
	<-s.ended
	s.driver.mu.Lock()
	delete(s.driver.sources, s)
	s.driver.mu.Unlock()
	return s.err
}

// run lives until Close.
func (s *source) run() {
	ctx, stop := context.WithCancel(s.base)
	var polls, commits sync.WaitGroup
	polls.Go(func() { s.poll(ctx) })
	commits.Go(func() { s.commitNow(ctx) })
	<-s.closing
	stop()
	polls.Wait()
	commits.Wait()
	s.err = wrap(s.leave(), "leave the group of %s", s.topic)
}

// poll takes records from the client for as long as a partition has little ahead. Those
// that have much are paused meanwhile.
func (s *source) poll(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		wants := s.wants()
		if wants {
			s.pace()
		}
		s.mu.Unlock()
		if !wants {
			select {
			case <-s.hungry:
			case <-ctx.Done():
			}
			continue
		}
		s.polling.take(ctx, func(ctx context.Context) {
			fetched := s.client.PollRecords(ctx, pollMost)
			fetched.EachError(func(_ string, _ int32, err error) { s.fetchFailed(ctx, err) })
			s.add(fetched)
		})
	}
}

// pace pauses the partitions that have much ahead, and fetches the others; s.mu is held.
func (s *source) pace() {
	var pause, resume []int32
	for _, c := range s.claims {
		switch much := len(c.ahead) >= maxAhead; {
		case much && !c.paused:
			c.paused, pause = true, append(pause, c.partition)
		case !much && c.paused && len(c.ahead) <= maxAhead/2:
			c.paused, resume = false, append(resume, c.partition)
		}
	}
	if len(pause) > 0 {
		s.client.PauseFetchPartitions(map[string][]int32{s.topic: pause})
	}
	if len(resume) > 0 {
		s.client.ResumeFetchPartitions(map[string][]int32{s.topic: resume})
	}
}

// fetchFailed tells of what the client does not get over by itself.
func (s *source) fetchFailed(ctx context.Context, err error) {
	if session := (*kgo.ErrGroupSession)(nil); ctx.Err() != nil || errors.As(err, &session) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	s.trouble.begun(ofFetching, err)
}

// add gives records to their partitions. What is not ours any more, its next owner reads.
func (s *source) add(fetched kgo.Fetches) {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := false
	fetched.EachPartition(func(p kgo.FetchTopicPartition) {
		if c := s.claim(p.Partition); c != nil && !c.stopped && len(p.Records) > 0 {
			c.ahead = append(c.ahead, p.Records...)
			some = true
		}
	})
	if some {
		s.trouble.over(ofFetching)
		s.tell()
	}
}

// claim returns the claim of a partition, nil if it is not ours; s.mu is held.
func (s *source) claim(partition int32) *claim {
	for _, c := range s.claims {
		if c.partition == partition {
			return c
		}
	}
	return nil
}

// turn lets one poll run at a time, and others in between: they interrupt it.
type turn struct {
	mu      sync.Mutex // held by who has the turn
	waiting sync.Mutex // guards the next two
	wanted  int
	cancel  context.CancelFunc
}

// take polls, unless somebody else wants the turn.
func (t *turn) take(ctx context.Context, poll func(context.Context)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.waiting.Lock()
	t.cancel = cancel
	if t.wanted > 0 {
		cancel()
	}
	t.waiting.Unlock()
	if ctx.Err() == nil {
		poll(ctx)
	}
}

// between runs fn while no poll does: what a poll has returned was added before.
func (t *turn) between(fn func()) {
	t.waiting.Lock()
	t.wanted++
	if t.cancel != nil {
		t.cancel()
	}
	t.waiting.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting.Lock()
	t.wanted--
	t.waiting.Unlock()
	fn()
}
