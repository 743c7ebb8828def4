package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// source is one member of a group on one topic, with a client of its own. The client's
// callbacks add and remove its partitions; poll fetches their records ahead, and Fetch
// hands these over, up to the window.
type source struct {
	driver *driver
	topic  string
	client *kgo.Client
	base   context.Context // its values are passed to the deliveries
	span   int
	window *kit.Window[*claim]
	log    *slog.Logger
	ready  kit.Signal // a partition has something to hand over

	polling turn
	commits sync.Mutex // held for a commit, and while partitions are taken away
	started kit.Signal // the first message of a partition has arrived

	mu     sync.Mutex
	claims []*claim   // of the partitions assigned to this member
	ahead  int        // bytes of their records ahead
	first  int        // the claim that Fetch begins with
	hungry kit.Signal // poll should look again

	lostClaims map[int32]*claim // the last of each partition that was lost

	trouble trouble
	life    context.Context // ends with Close
	end     context.CancelFunc
	ended   chan struct{} // closed when everything has ended
	err     error         // of leaving; read after ended
}

const (
	// maxSpan is how far the newest message handed over may be ahead of the first
	// unacknowledged one of its partition: a crash repeats no more.
	maxSpan = 25_000
	// How many records, or bytes, of a partition are enough to wait in memory.
	enoughAhead, enoughBytes = 512, 1 << 20
	// maxAhead is how many bytes of records wait in memory, beside those of the last fetch,
	// before fetching of partitions with enough records pauses.
	maxAhead = 8 << 20
	// patience is how long poll waits for partitions that have enough ahead, before it
	// fetches from the others alone.
	patience = 100 * time.Millisecond
)

// Source implements busdriver.Driver. A new group begins at the earliest retained message.
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
	topic, group = d.set.prefix+topic, d.set.prefix+group
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
		window: kit.NewWindow(size, (*claim).kick), ready: kit.NewSignal(), hungry: kit.NewSignal(), started: kit.NewSignal(),
		lostClaims: map[int32]*claim{},
		log:        d.set.Logger.With(slog.String("topic", topic), slog.String("group", group)),
		ended:      make(chan struct{}),
	}
	s.life, s.end = context.WithCancel(s.base)
	s.trouble.log = s.log
	instance, free := d.instance(group)
	var err error
	s.mu.Lock() // the client calls back as soon as it is made
	s.client, err = kgo.NewClient(append(d.set.options(), s.membership(group, instance)...)...)
	s.mu.Unlock()
	if err != nil {
		free()
		return nil, err
	}
	d.groups.Store(groupID{topic, group}, nil)
	go func() {
		s.run()
		free()
		close(s.ended)
	}()
	return s, nil
}

// Fetch is that of [busdriver.Source].
func (s *source) Fetch(ctx context.Context, most int) ([]busdriver.Delivery, error) {
	return busdriver.Fetch(ctx, s.ready, s.life.Done(), bus.ErrClosed, func() []busdriver.Delivery { return s.collect(most) })
}

// collect takes the ready messages of the partitions, and begins with another one each time.
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

// wants reports whether poll should continue at once: a partition with little ahead has
// more to fetch, or every partition with enough is paused. s.mu is held, here and below.
func (s *source) wants() bool {
	return slices.ContainsFunc(s.claims, (*claim).hungry) ||
		!slices.ContainsFunc(s.claims, func(c *claim) bool { return c.fed() && !c.paused })
}

// feed makes poll continue if records are wanted.
func (s *source) feed() {
	if !s.wants() {
		return
	}
	s.pace() // poll may be waiting for others
	s.hungry.Send()
}

// Close is that of [busdriver.Source]: it commits finished messages and leaves the group.
// Further calls wait for the first.
func (s *source) Close() error {
	s.end()
	<-s.ended
	return s.err
}

// run lasts until Close.
func (s *source) run() {
	var parts sync.WaitGroup
	parts.Go(func() { s.poll(s.life) })
	parts.Go(func() { s.commitRegularly(s.life) })
	parts.Wait()
	s.err = wrap(s.leave(), "leave the group of %s", s.topic)
}

// poll takes records from the client as they are wanted.
func (s *source) poll(ctx context.Context) {
	for ctx.Err() == nil {
		s.await(ctx)
		gone := false
		s.polling.take(ctx, func(ctx context.Context) {
			fetched := s.client.PollFetches(ctx)
			fetched.EachError(func(_ string, _ int32, err error) {
				gone = gone || errors.Is(err, kerr.UnknownTopicID)
				s.fetchFailed(ctx, err)
			})
			s.add(fetched)
		})
		if gone {
			s.renew()
		}
	}
}

// renew begins with the new topic after a topic was deleted and created again. The client does
// not accept it until the old one is purged, and would then commit offsets of the old one to it.
func (s *source) renew() {
	var all []int32
	for _, c := range s.ours() {
		all = append(all, c.partition)
	}
	s.drop(s.stop(all), false)
	s.client.PurgeTopicsFromConsuming(s.topic)
	s.client.AddConsumeTopics(s.topic)
}

// await waits until records are wanted. If some partitions have enough ahead and others
// are at their end, it does not wait for long.
func (s *source) await(ctx context.Context) {
	var late <-chan time.Time
	for {
		s.mu.Lock()
		wants, ended := s.wants(), slices.ContainsFunc(s.claims, (*claim).ended)
		s.pace()
		s.mu.Unlock()
		if wants {
			return
		}
		if ended && late == nil {
			late = time.After(patience)
		}
		select {
		case <-s.hungry:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// pace pauses partitions that have enough ahead when all together have too much, and
// resumes them once they have little. Pausing has a price: records that the client has
// fetched of a paused partition are fetched again.
func (s *source) pace() {
	var pause, resume []int32
	for _, c := range s.claims {
		switch {
		case !c.paused && c.fed() && s.ahead >= maxAhead:
			c.paused, pause = true, append(pause, c.partition)
		case c.paused && !c.fed():
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

// fetchFailed reports errors that the client does not recover from on its own.
func (s *source) fetchFailed(ctx context.Context, err error) {
	if session := (*kgo.ErrGroupSession)(nil); ctx.Err() != nil || errors.As(err, &session) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	s.trouble.begun(ofFetching, err)
}

// add gives records to their partitions. Records of lost partitions are dropped: their next
// owner reads them.
func (s *source) add(fetched kgo.Fetches) {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := false
	fetched.EachPartition(func(p kgo.FetchTopicPartition) {
		if c := s.claim(p.Partition); c != nil && !c.stopped && len(p.Records) > 0 {
			if p.Records[0].Offset < c.written { // the committed offset was beyond the end: other messages get those behind it
				c.done, c.written = nil, -1
			}
			c.ahead = append(c.ahead, p.Records...)
			for _, r := range p.Records {
				c.bytes += size(r)
				s.ahead += size(r)
			}
			c.more = p.Records[len(p.Records)-1].Offset+1 < p.LastStableOffset
			some = true
		}
	})
	if some {
		s.trouble.over(ofFetching)
		s.ready.Send()
		if len(s.uncounted()) > 0 {
			s.started.Send()
		}
	}
}

// size is the approximate memory of a record.
func size(r *kgo.Record) int {
	n := 100 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// claim returns the claim of a partition, nil if this member has none; s.mu is held.
func (s *source) claim(partition int32) *claim {
	for _, c := range s.claims {
		if c.partition == partition {
			return c
		}
	}
	return nil
}

// turn keeps polls and changes of the assignment apart. A change interrupts a poll.
type turn struct {
	mu      sync.Mutex // held by a poll, and by fn of between
	waiting sync.Mutex // guards the next two
	wanted  int
	cancel  context.CancelFunc
}

// take polls, unless a call of between waits.
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

// between runs fn while no poll runs: the records of earlier polls are added already.
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
