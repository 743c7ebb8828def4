package outbox

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox/internal/headers"
)

// round is one pass over a work's lanes. It only publishes and takes notes;
// what follows from them is decided in settle.go.
type round struct {
	s     *shard
	w     *work
	start time.Time
	seen  int64 // events confirmed by the relay when the round began
	// probe, when not negative, is the only untried item to publish.
	probe int32
	// barren: a dead letter was refused that should have shown that the publisher
	// works. Others of the round would only wait for more timeouts.
	barren bool

	stop    atomic.Bool // begin no further Publish call
	mu      sync.Mutex
	outage  error             // an infrastructure failure of the publisher
	culprit *Item             // where it struck
	tries   map[*Item]attempt // what judge found of the items that failed
}

// all lets a round try every untried item.
const all = int32(-1)

// run publishes, weighs what failed, and returns what was confirmed.
func (rd *round) run() []*Item {
	confirmed := rd.runLanes()
	rd.weigh(int64(len(confirmed)))
	return confirmed
}

func (rd *round) runLanes() []*Item {
	if len(rd.w.lanes) == 1 {
		return rd.run1(&rd.w.lanes[0])
	}
	var wg sync.WaitGroup
	confirmed := make([][]*Item, len(rd.w.lanes))
	for i := range rd.w.lanes {
		if l := &rd.w.lanes[i]; len(l.items) > 0 {
			wg.Go(func() { confirmed[i] = rd.run1(l) })
		}
	}
	wg.Wait()
	return slices.Concat(confirmed...)
}

func (rd *round) run1(l *lane) []*Item {
	s := sender{rd: rd, l: l, confirmed: make([]*Item, 0, len(l.items))}
	s.fresh()
	for s.again() {
		s.fresh() // what waited behind an event that came through at last
	}
	return s.confirmed
}

// sender publishes one lane in one round.
type sender struct {
	rd        *round
	l         *lane
	confirmed []*Item
	decoder   headers.Decoder
	failed    int // attempts that failed in a row
}

// fresh publishes untried items whose key is not blocked, many per call.
func (s *sender) fresh() {
	s.failed = 0
	w, chunk := s.rd.w, s.rd.s.r.cfg.Chunk
	group := make([]int32, 0, min(chunk, len(s.l.items)))
	for _, i := range s.l.items {
		if w.state[i] != Waiting || (s.rd.probe != all && i != s.rd.probe) || s.l.isBlocked(w.items[i].Key) {
			continue
		}
		if len(group) == chunk || (len(group) > 0 && w.items[group[0]].Topic != w.items[i].Topic) {
			if !s.send(group) {
				return
			}
			group = group[:0]
			if s.l.isBlocked(w.items[i].Key) { // since the group before
				continue
			}
		}
		group = append(group, i)
	}
	if len(group) > 0 {
		s.send(group)
	}
}

// again tries failing items that are due, those that wait longest first. It
// reports whether any came through.
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
		over = out == ended || s.failed >= failuresInARow
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

// send publishes a group in one call, and one by one when that fails, because
// then nobody knows which were published. It reports whether to go on.
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
		if s.one(i, nil) == ended || s.failed >= failuresInARow {
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

// one publishes a single item and takes note of its failure.
func (s *sender) one(i int32, f *failure) outcome {
	out, err := s.publish([]int32{i})
	switch out {
	case through:
		s.failed = 0
	case refused:
		s.failed++
		if f == nil {
			f = &failure{item: i, last: attempt{seen: s.rd.seen}}
			s.l.failing = append(s.l.failing, f)
			s.l.block(s.rd.w.items[i].Key)
		}
		f.tried, f.at, f.err = true, time.Now(), err
		f.permanent = fault.Of(err, s.rd.s.r.cfg.Classifiers...) == fault.Permanent
	}
	return out
}

func (s *sender) publish(group []int32) (outcome, error) {
	rd, r := s.rd, s.rd.s.r
	start := time.Now()
	if rd.s.expired(start) {
		rd.stop.Store(true) // the next round asks whether the lease is still ours
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
		msg.SetContext(rd.s.msgs)
		msgs[n] = msg
	}
	built := time.Now()
	err := r.send(rd.s.msgs, rd.w.items[group[0]].Topic, msgs)
	end := time.Now()
	switch {
	case err == nil:
	case rd.s.msgs.Err() != nil:
		rd.stop.Store(true) // the lease or the time to shut down is over, and so the error says nothing
		return ended, nil
	case fault.Of(err, r.cfg.Classifiers...) == fault.Infrastructure:
		rd.unreachable(&rd.w.items[group[0]], err)
		return ended, nil
	default:
		return refused, err
	}
	cost := r.cost.Load()
	r.cost.Store(cost + (int64(end.Sub(built))/int64(len(group))-cost)/8)
	for _, i := range group {
		it := &rd.w.items[i]
		rd.w.state[i] = Published
		s.confirmed = append(s.confirmed, it)
		if r.cfg.Hooks.Published != nil {
			r.cfg.Hooks.Published(rd.s.id, it.Topic, end.Sub(it.CreatedAt))
		}
	}
	return through, nil
}

// unreachable ends the round: the publisher is away, as was seen at this item.
func (rd *round) unreachable(it *Item, err error) {
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
