package kafkabus

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	busdriver "github.com/millrace-go/millrace/bus/driver"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// claim is a partition while the group assigns it to this member. Its source's mu guards
// the fields that change.
type claim struct {
	source    *source
	partition int32
	ctx       context.Context // of its deliveries: ends when the partition is lost
	revoke    context.CancelCauseFunc
	idle      chan struct{} // closed when stopped and no message is in flight

	ahead   []*kgo.Record      // fetched and not handed over
	bytes   int                // of these
	more    bool               // the last fetch showed records behind these
	paused  bool               // fetching is paused
	prefix  kit.Tracker[int64] // of offsets
	done    map[int64]struct{} // that an earlier owner finished; not fetched yet
	found   counts             // of the commit that the claim continues from
	again   []*flight          // returned by the engine, in order
	out     int                // handed over and not settled
	stopped bool               // nothing is handed over any more
	over    bool               // nothing is settled any more
	written int64              // the offset committed last, -1 for none
	wrote   string             // the note beside it

	counted bool         // its start is counted; nothing is handed over before
	base    int64        // the offset until progress is made; -1 before its start is counted
	counts  counts       // for the next commit
	working bool         // one message is being handled alone
	careful atomic.Int64 // this many messages are handled alone
}

// flight is a record that was handed over; it implements [busdriver.Delivery].
type flight struct {
	claim   *claim
	record  *kgo.Record // until it is decoded
	offset  int64
	seq     int64
	message busdriver.Message
	out     bool // guarded by the source's mu: handed over and not settled
}

func newClaim(s *source, partition int32) *claim {
	c := &claim{source: s, partition: partition, idle: make(chan struct{}), written: -1, base: -1}
	c.ctx, c.revoke = context.WithCancelCause(s.base)
	s.window.Join(c)
	return c
}

// kick makes Fetch look again: the window may have room.
func (c *claim) kick() { c.source.ready.Send() }

// fed reports whether enough is ahead, hungry whether more can be fetched and is needed,
// and ended whether no more records are known. The source's mu is held, here and below.
func (c *claim) fed() bool    { return len(c.ahead) >= enoughAhead || c.bytes >= enoughBytes }
func (c *claim) hungry() bool { return c.more && !c.stopped && !c.fed() }
func (c *claim) ended() bool  { return !c.more && !c.fed() }

// hand hands over as many messages as the window has room for. Returned messages come
// before new ones.
func (c *claim) hand(all []busdriver.Delivery, most int) []busdriver.Delivery {
	if c.stopped || !c.counted {
		return all
	}
	n := min(len(c.again), most-len(all))
	for _, f := range c.again[:n] {
		all = c.give(all, f)
	}
	c.again = slices.Delete(c.again, 0, n)
	c.skip()
	n = c.source.window.Take(c, max(0, min(len(c.ahead), most-len(all), c.source.span-c.prefix.Span())))
	for ; n > 0 && len(c.ahead) > 0; n-- {
		r := c.pop()
		all = c.give(all, &flight{claim: c, record: r, offset: r.Offset, seq: c.prefix.Add(r.Offset)})
		c.skip()
	}
	for ; n > 0; n-- {
		c.source.window.Give(c) // the place of a skipped message
	}
	return all
}

func (c *claim) give(all []busdriver.Delivery, f *flight) []busdriver.Delivery {
	f.out = true
	c.out++
	return append(all, f)
}

// skip skips the messages that an earlier owner has finished.
func (c *claim) skip() {
	for len(c.done) > 0 && len(c.ahead) > 0 {
		offset := c.ahead[0].Offset
		if _, done := c.done[offset]; !done {
			return
		}
		delete(c.done, offset)
		c.pop()
		c.prefix.Done(c.prefix.Add(offset))
	}
}

func (c *claim) pop() *kgo.Record {
	r := c.ahead[0]
	c.ahead[0] = nil
	c.ahead = c.ahead[1:]
	c.bytes -= size(r)
	c.source.ahead -= size(r)
	return r
}

// decode makes the message of the record, once.
func (f *flight) decode() {
	if f.record != nil {
		f.message, f.record = messageOf(f.record), nil
	}
}

// Message is that of [busdriver.Delivery].
func (f *flight) Message() busdriver.Message { return f.message }

// Context is that of [busdriver.Delivery].
func (f *flight) Context() context.Context { return f.claim.ctx }

// Done is that of [busdriver.Delivery].
func (f *flight) Done() { f.settle(true) }

// Back is that of [busdriver.Delivery].
func (f *flight) Back() { f.settle(false) }

func (f *flight) settle(done bool) {
	c := f.claim
	c.source.mu.Lock()
	defer c.source.mu.Unlock()
	if !f.out || c.over {
		return
	}
	f.out = false
	c.out--
	switch {
	case done:
		c.source.window.Give(c)
		c.prefix.Done(f.seq)
		if n := c.careful.Load(); n > 0 {
			c.careful.Store(n - 1)
		}
	case !c.stopped:
		i, _ := slices.BinarySearchFunc(c.again, f, func(a, b *flight) int { return cmp.Compare(a.seq, b.seq) })
		c.again = slices.Insert(c.again, i, f)
		c.source.ready.Send()
	}
	if c.stopped && c.out == 0 {
		close(c.idle)
	}
}

// stop ends handing over. idle is closed once no message is in flight.
func (c *claim) stop() {
	if c.stopped {
		return
	}
	for len(c.ahead) > 0 {
		c.pop()
	}
	c.stopped, c.ahead, c.again = true, nil, nil
	if c.out == 0 {
		close(c.idle)
	}
}

// end ends settling, and returns how many messages are in flight.
func (c *claim) end() int {
	c.stop()
	c.over = true
	c.source.window.Leave(c)
	return c.out
}

// reason is the purpose of a commit.
type reason int

const (
	progress reason = iota // the progress of a claim
	counting               // also the state that must survive a crash
	leaving                // the end in order, which is no crash
)

// next returns the next commit; ok is whether it differs from the last. Messages done
// behind a gap are noted when a claim ends, and while messages are handled alone.
func (c *claim) next(why reason) (offset int64, text string, ok bool) {
	last, moved := c.prefix.Prefix()
	at, gap := c.prefix.Gap()
	switch {
	case why == progress && !moved:
		return 0, "", false
	case why == progress && c.counts.times == 0:
		return last + 1, "", last+1 != c.written
	case gap:
	case moved: // everything that was handed over is done
		at = last + 1
	case c.base >= 0:
		at = c.base
	default:
		return 0, "", false
	}
	left := c.counts
	if moved || why == leaving {
		left.starts = 0
	}
	if why == leaving && c.working {
		left.times--
	}
	done := append(slices.Collect(maps.Keys(c.done)), c.prefix.Behind()...)
	done = slices.DeleteFunc(done, func(n int64) bool { return n < at }) // records that no longer exist
	text = noteOf(at, left, done)
	return at, text, at != c.written || text != c.wrote
}
