package outbox

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/headers"
)

// round is one pass over a work's lanes. It only publishes and records the results; settle.go
// decides about them.
type round struct {
	s     *shard
	w     *work
	start time.Time
	seen  int64 // events confirmed by the relay when the round began
	// careful: of the untried items only the probes are published.
	careful bool
	probes  []int32 // ascending
	// calm: the first round of its batch, and no event is deferred: the next one may overlap it.
	calm   bool
	before []laneEnd // of the round that this one overlaps
	// barren: a dead letter that should have shown that the publisher works was refused.
	// Further ones in this round would only wait for more timeouts.
	barren bool

	stop    atomic.Bool   // begin no further Publish call
	abandon chan struct{} // closed when calls that have not returned are to be abandoned
	lanes   []laneEnd
	mu      sync.Mutex
	outage  error                    // an infrastructure failure of the publisher
	culprit *driver.Item             // the item at which it happened
	hung    []*call                  // calls that were abandoned
	first   *failure                 // the first one that is not logged yet
	tries   map[*driver.Item]attempt // the attempts of the failed items, from judge

	ended     chan struct{}
	confirmed []*driver.Item // valid once ended is closed
}

// laneEnd tells that a lane of a round has ended, and whether it published all its items.
type laneEnd struct {
	ended   chan struct{}
	through bool // valid once ended is closed
}

func (s *shard) newRound(w *work) *round {
	rd := &round{s: s, w: w, start: time.Now(), seen: s.r.confirmed.Load(), abandon: make(chan struct{}),
		lanes: make([]laneEnd, len(w.lanes)), ended: make(chan struct{})}
	for i := range rd.lanes {
		rd.lanes[i].ended = make(chan struct{})
	}
	return rd
}

// mayTry reports whether an untried item may be published in this round.
func (rd *round) mayTry(i int32) bool {
	if !rd.careful {
		return true
	}
	_, ok := slices.BinarySearch(rd.probes, i)
	return ok
}

// run publishes, weighs the failures, and returns the confirmed items.
func (rd *round) run() []*driver.Item {
	confirmed := rd.runLanes()
	rd.weigh(int64(len(confirmed)))
	return confirmed
}

func (rd *round) runLanes() []*driver.Item {
	if len(rd.w.lanes) == 1 {
		return rd.run1(0)
	}
	var wg sync.WaitGroup
	confirmed := make([][]*driver.Item, len(rd.w.lanes))
	for i := range rd.w.lanes {
		wg.Go(func() { confirmed[i] = rd.run1(i) })
	}
	wg.Wait()
	return slices.Concat(confirmed...)
}

// run1 runs a lane, once the same lane of the round before is through.
func (rd *round) run1(n int) (confirmed []*driver.Item) {
	l, end := &rd.w.lanes[n], &rd.lanes[n]
	defer func() {
		end.through = len(confirmed) == len(l.items) && !rd.stop.Load()
		close(end.ended)
	}()
	if rd.before != nil {
		if <-rd.before[n].ended; !rd.before[n].through {
			return nil
		}
	}
	s := sender{rd: rd, l: l, ctx: rd.s.lanes[n], confirmed: make([]*driver.Item, 0, len(l.items))}
	s.fresh()
	for s.again() {
		s.fresh() // items that waited behind an event that was published at last
	}
	return s.confirmed
}

// sender publishes one lane in one round.
type sender struct {
	rd        *round
	l         *lane
	ctx       laneContext
	confirmed []*driver.Item
	decoder   headers.Decoder
	failed    int       // consecutive failed attempts
	since     time.Time // when the first of them began
}

// hopeless reports whether further attempts of the lane can wait for the next round.
func (s *sender) hopeless() bool {
	return s.failed >= failuresInARow || (s.failed >= slowFailures && time.Since(s.since) >= slowRow)
}

// fresh publishes untried items whose key is not blocked, many per call.
func (s *sender) fresh() {
	s.failed = 0
	w, chunk := s.rd.w, s.rd.s.r.chunk()
	group := make([]int32, 0, min(chunk, len(s.l.items)))
	for _, i := range s.l.items {
		if w.state[i] != driver.Waiting || !s.rd.mayTry(i) || s.l.isBlocked(w.items[i].Key) {
			continue
		}
		if len(group) == chunk || (len(group) > 0 && w.items[group[0]].Topic != w.items[i].Topic) {
			if !s.send(group) {
				return
			}
			group = group[:0]
			if s.l.isBlocked(w.items[i].Key) { // blocked by the group before
				continue
			}
		}
		group = append(group, i)
	}
	if len(group) > 0 {
		s.send(group)
	}
}

// again retries failing items that are due, the longest waiting first. It reports whether any
// was published.
func (s *sender) again() (any bool) {
	s.failed = 0
	slices.SortStableFunc(s.l.failing, func(a, b *failure) int { return a.due.Compare(b.due) })
	keep := s.l.failing[:0]
	over := false
	for _, f := range s.l.failing {
		if over || f.tried || f.due.After(s.rd.start) {
			keep = append(keep, f)
			continue
		}
		it := &s.rd.w.items[f.item]
		out := s.one(f.item, f)
		over = out == ended || s.hopeless()
		if out != through {
			keep = append(keep, f)
			continue
		}
		delete(s.l.blocked, it.Key)
		any = true
	}
	clear(s.l.failing[len(keep):])
	s.l.failing = keep
	return any && !over
}

// send publishes a group in one call. If the call fails, it is unknown which items were
// published, so send publishes them one by one. It reports whether to go on.
func (s *sender) send(group []int32) bool {
	if len(group) > 1 {
		switch out, _ := s.publish(group); out {
		case through:
			s.failed = 0
			return true
		case ended:
			return false
		}
	}
	for _, i := range group {
		if s.l.isBlocked(s.rd.w.items[i].Key) {
			continue
		}
		if s.one(i, nil) == ended || s.hopeless() {
			return false
		}
	}
	return true
}

type outcome uint8

const (
	through outcome = iota // confirmed
	refused                // failed; the round goes on
	ended                  // the round ends, and nothing is known of these items
)

// one publishes a single item and records its failure.
func (s *sender) one(i int32, f *failure) outcome {
	began := time.Now()
	out, err := s.publish([]int32{i})
	switch out {
	case through:
		s.failed = 0
	case refused:
		if s.failed++; s.failed == 1 {
			s.since = began
		}
		if f == nil {
			f = &failure{item: i, last: attempt{seen: s.rd.seen}}
			s.l.failing = append(s.l.failing, f)
			s.l.block(s.rd.w.items[i].Key)
		}
		f.tried, f.at, f.err = true, time.Now(), err
		if f.permanent = fault.Of(err, s.rd.s.r.cfg.Classifiers...) == fault.Permanent; f.permanent {
			s.failed = 0 // an answer: the next attempt need not wait for a timeout
		}
	}
	return out
}

func (s *sender) publish(group []int32) (outcome, error) {
	rd, r := s.rd, s.rd.s.r
	start := time.Now()
	if !rd.s.term.Valid(start) {
		rd.stop.Store(true) // the next round checks the lease
	}
	if rd.stop.Load() {
		return ended, nil
	}
	msgs := make([]*message.Message, len(group))
	for n, i := range group {
		it := &rd.w.items[i]
		msg := message.NewMessage(it.MessageID, it.Payload)
		if err := s.decoder.Decode(msg.Metadata, it.Headers, it.Key); err != nil {
			return refused, fault.MarkPermanent(err)
		}
		msg.SetContext(s.ctx)
		msgs[n] = msg
	}
	built := time.Now()
	first := &rd.w.items[group[0]]
	returned, err := rd.call(s.ctx, first, first.Topic, msgs)
	end := time.Now()
	switch {
	case !returned:
		return ended, nil
	case err == nil:
	case rd.s.msgs.Err() != nil:
		rd.stop.Store(true) // the lease or the shutdown time is over, so the error is meaningless
		return ended, nil
	case fault.Of(err, r.cfg.Classifiers...) == fault.Infrastructure:
		rd.unreachable(first, err)
		return ended, nil
	default:
		return refused, err
	}
	cost := r.cost.Load()
	r.cost.Store(cost + (int64(end.Sub(built))/int64(len(group))-cost)/8)
	for _, i := range group {
		it := &rd.w.items[i]
		rd.w.state[i] = driver.Published
		s.confirmed = append(s.confirmed, it)
		if r.cfg.Hooks.Published != nil {
			r.cfg.Hooks.Published(rd.s.id, it.Topic, end.Sub(it.CreatedAt))
		}
	}
	return through, nil
}

// unreachable ends the round: the publisher was unreachable at this item.
func (rd *round) unreachable(it *driver.Item, err error) {
	rd.mu.Lock()
	if rd.outage == nil {
		rd.outage, rd.culprit = err, it
	}
	rd.mu.Unlock()
	rd.stop.Store(true)
}

// publish turns a panic of the publisher into an error of these messages.
func publish(pub message.Publisher, topic string, msgs []*message.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("outbox: the publisher panicked: %v", p)
		}
	}()
	return pub.Publish(topic, msgs...)
}
