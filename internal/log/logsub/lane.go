package logsub

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/lease"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/prefix"
)

// readBatch bounds how many entries are read at once.
const (
	minReadBatch = 32
	maxReadBatch = 256
)

// lane has the messages of one leased lane ready. Its life:
//
//	read      reads ahead, in order, for Fetch to take
//	settle    the intake has ended: waits for what was handed over
//	retire    writes the cursor, gives the lease back
//
// It goes on to settle when its intake is stopped (the group has more members now),
// skips settling when the source is closed, and skips the rest when the lease is lost.
type lane struct {
	sub   *Source
	lease log.Lease   // as it was taken; see held
	term  *lease.Term // of the lease
	start Start       // set before the first message is handed over

	ctx     context.Context // of deliveries: ends when the lease is lost
	revoke  context.CancelCauseFunc
	stop    context.CancelFunc // ends the intake
	kicked  chan struct{}      // capacity 1: look again at what can be done
	over    chan struct{}      // closed: wait for no acknowledgement any more
	settled chan struct{}      // closed: the intake has ended and nothing is open

	mu         sync.Mutex
	tracker    prefix.Tracker[place]
	done       map[int64]struct{} // entries that an earlier holder finished, by id; not yet met
	committed  log.Position       // where the cursor stands
	ready      []*delivery        // read and not handed over, in log order
	open       int                // handed over and not settled
	nacked     []*delivery        // to be handed over again, in log order
	stopped    bool               // the intake was told to end
	ended      bool               // it has ended
	ending     bool               // over is closed
	lost       bool               // the lease is
	careful    int                // so many messages are to be handled alone
	progressed bool               // the cursor has moved since the lease was taken
	counted    bool               // this start is, in Directory
	told       bool               // Directory knows that the cursor has moved
}

const (
	// carefulStarts is from which start without progress on messages are handled alone.
	carefulStarts = 3
	// mostCareful is how many of them at most.
	mostCareful = 256
)

// place is where an entry lies.
type place struct {
	position log.Position
	id       int64
}

// delivery is one entry on its way to an acknowledgement; it implements [driver.Delivery].
type delivery struct {
	lane    *lane
	message driver.Message
	place   place

	// Guarded by the lane's mu.
	seq     int64
	nacks   int
	due     time.Time // after a nack: when to hand it over again
	settled bool      // since it was handed over last
}

// Message is that of [driver.Delivery].
func (d *delivery) Message() driver.Message { return d.message }

// Context is that of [driver.Delivery].
func (d *delivery) Context() context.Context { return d.lane.ctx }

// Done is that of [driver.Delivery].
func (d *delivery) Done() { d.lane.ack(d) }

// Back is that of [driver.Delivery].
func (d *delivery) Back() { d.lane.nack(d) }

// Alone is that of [driver.Suspected].
func (d *delivery) Alone() bool {
	d.lane.mu.Lock()
	defer d.lane.mu.Unlock()
	return d.lane.careful > 0
}

// Begin is that of [driver.Suspected].
func (d *delivery) Begin(ctx context.Context) (before int, err error) {
	l := d.lane
	if l.start.Message == d.message.ID {
		before = l.start.Times
	}
	return before, l.note(ctx, d.message.ID, before+1)
}

// End is that of [driver.Suspected].
func (d *delivery) End(ctx context.Context) error { return d.lane.note(ctx, "", 0) }

func (l *lane) note(ctx context.Context, message string, times int) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if err := l.sub.hub.b.Directory.Alone(ctx, l.lease.Cursor, message, times); err != nil {
		return fmt.Errorf("logsub: note which message of lane %d is handled alone: %w", l.lease.Lane, err)
	}
	return nil
}

// newLane makes a lane of a lease that was asked for at the given time; stop ends the context that run is called with.
func newLane(s *Source, held log.Lease, asked time.Time, stop context.CancelFunc) *lane {
	l := &lane{
		sub: s, lease: held, term: lease.NewTerm(s.hub.cfg.LeaseTTL, 0), stop: stop,
		kicked: make(chan struct{}, 1), over: make(chan struct{}), settled: make(chan struct{}),
		committed: held.Position,
	}
	l.term.Extended(asked)
	l.ctx, l.revoke = context.WithCancelCause(s.base)
	return l
}

// run lives as long as the lane is held; ctx is the intake's.
func (l *lane) run(ctx context.Context) error {
	defer l.stop()
	l.read(ctx)
	l.endIntake()
	l.sub.intakes.Done()
	select {
	case <-l.settled:
	case <-l.over:
	}
	l.mu.Lock()
	lost := l.lost
	l.mu.Unlock()
	if lost {
		l.sub.log.Warn("bus: a partition was lost, to another instance or with the database's server; what follows its cursor is delivered again",
			slog.Int("lane", l.lease.Lane))
		return nil
	}
	return l.sub.hub.committer.retire(context.WithoutCancel(ctx), l)
}

// kick makes read look again.
func (l *lane) kick() {
	select {
	case l.kicked <- struct{}{}:
	default:
	}
}

// stopIntake lets the lane be given up once it is settled.
func (l *lane) stopIntake() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.stop()
}

// taking is whether nobody has told the intake to end.
func (l *lane) taking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.stopped
}

// end stops waiting for acknowledgements.
func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ending {
		l.ending = true
		close(l.over)
	}
	l.stopped = true
	l.stop()
}

// lose drops everything: reading goes on from the cursor, under another lease.
func (l *lane) lose() {
	l.mu.Lock()
	l.lost = true
	l.mu.Unlock()
	l.revoke(driver.ErrRevoked)
	l.end()
}

// endIntake gives up what was not handed over, or waits for another try: the next holder
// of the lane will read it again.
func (l *lane) endIntake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for range l.ready {
		l.sub.window.Give(l)
	}
	for range l.nacked {
		l.close()
	}
	l.ready, l.nacked = nil, nil
	if l.open == 0 {
		close(l.settled)
	}
}

// close settles one delivery; l.mu is held.
func (l *lane) close() {
	l.open--
	l.sub.window.Give(l)
}

// take hands over what is ready: first what was refused, whose successors wait for it, but
// nothing when the lease may have run out, because another instance may be handing out
// the same messages.
func (l *lane) take(all []driver.Delivery, most int) []driver.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.ready)+len(l.nacked) == 0 {
		return all
	}
	now := time.Now()
	if !l.term.Valid(now) {
		l.sub.hub.committer.signal()
		return all
	}
	for len(all) < most {
		var d *delivery
		switch {
		case len(l.nacked) > 0 && l.nacked[0].due.After(now):
			return all
		case len(l.nacked) > 0:
			d = l.nacked[0]
			l.nacked = slices.Delete(l.nacked, 0, 1)
		case len(l.ready) > 0:
			d, l.ready[0] = l.ready[0], nil
			l.ready = l.ready[1:]
			d.seq = l.tracker.Add(d.place)
			if _, done := l.done[d.place.id]; done {
				delete(l.done, d.place.id)
				l.finish(d)
				continue
			}
			l.open++
		default:
			return all
		}
		d.settled = false
		all = append(all, d)
	}
	return all
}

func (l *lane) ack(d *delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.settled {
		return
	}
	d.settled = true
	l.careful = max(0, l.careful-1)
	l.open--
	l.finish(d)
	if l.ended && l.open == 0 {
		close(l.settled)
	}
}

// finish confirms a delivery; l.mu is held.
func (l *lane) finish(d *delivery) {
	full := l.room() <= 0
	l.tracker.Done(d.seq)
	l.sub.window.Give(l)
	l.sub.hub.committer.signal()
	if full {
		l.kick()
	}
}

func (l *lane) nack(d *delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.settled {
		return
	}
	d.settled = true
	if l.ended {
		l.close()
		if l.open == 0 {
			close(l.settled)
		}
		return
	}
	d.nacks++
	wait := nackDelay.Delay(d.nacks)
	d.due = time.Now().Add(wait)
	i, _ := slices.BinarySearchFunc(l.nacked, d.seq, func(other *delivery, seq int64) int { return cmp.Compare(other.seq, seq) })
	l.nacked = slices.Insert(l.nacked, i, d)
	time.AfterFunc(wait, l.sub.tell)
}

// room is how many messages more the lane may have ahead of an unacknowledged one; l.mu
// is held.
func (l *lane) room() int { return l.sub.hub.cfg.Span - l.tracker.Span() - len(l.ready) }

// reached is where the cursor may stand; l.mu is held.
func (l *lane) reached() log.Position {
	if last, ok := l.tracker.Prefix(); ok {
		return last.position
	}
	return l.lease.Position
}

// held is the lease with the place where the cursor stands now.
func (l *lane) held() log.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.lease
	held.Position = l.committed
	return held
}

// progress returns where the cursor may stand, and whether that is news.
func (l *lane) progress() (p log.Position, moved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p = l.reached()
	return p, p != l.committed
}

// moved notes that the cursor was written and the lease extended, when the log was asked
// at the given time.
func (l *lane) moved(p log.Position, asked time.Time) {
	l.mu.Lock()
	l.progressed = l.progressed || p != l.lease.Position
	l.committed = p
	l.mu.Unlock()
	l.extended(asked)
}

// extended notes that the lease was, when the log was asked at the given time.
func (l *lane) extended(asked time.Time) {
	expired := !l.term.Valid(time.Now())
	if l.term.Extended(asked); expired {
		l.sub.tell()
	}
}

// count counts this start, before the first message is handed over: a process that dies
// while it has nothing to do says nothing about what comes later.
func (l *lane) count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	starts, err := l.sub.hub.b.Directory.Started(ctx, []log.Cursor{l.lease.Cursor})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start, l.counted = starts[0], true
	l.done = l.recall(starts[0].Done)
	if l.start.Starts >= carefulStarts || l.start.Times > 0 {
		l.careful = min(l.sub.window.Size(), mostCareful)
		l.sub.log.Warn("bus: a partition was started again and again without progress; its messages are handled one alone at a time",
			slog.Int("lane", l.lease.Lane), slog.Int("starts", l.start.Starts))
	}
	return nil
}

// unknownProgress reports whether the cursor has moved and Directory does not know.
func (l *lane) unknownProgress() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progressed && !l.told
}

// tellProgress notes that Directory knows.
func (l *lane) tellProgress() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = true
}

// leftover is what is done behind the cursor's place, for the next holder. tell is whether
// Directory has anything to learn of this stop.
func (l *lane) leftover() (done string, tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := slices.Collect(maps.Keys(l.done))
	for _, p := range l.tracker.Behind() {
		if p.id != 0 {
			ids = append(ids, p.id)
		}
	}
	if len(ids) == 0 {
		return "", l.counted && !l.told
	}
	return mark(l.reached()) + " " + prefix.Encode(0, ids, mostDone), true
}

// mostDone bounds in bytes what one stop keeps: some 100,000 gaps.
const mostDone = 512 << 10

// mark tells a place from any other. It has no space.
func mark(p log.Position) string { return fmt.Sprintf("%s/%s/%d", p.From, p.To, p.ID) }

// recall is what the last holder had done behind the cursor, if that is still where it
// was left.
func (l *lane) recall(kept string) map[int64]struct{} {
	at, list, ok := strings.Cut(kept, " ")
	if !ok || at != mark(l.lease.Position) {
		return nil
	}
	done, err := prefix.Decode(0, list)
	if err != nil {
		l.sub.log.Warn("bus: what the last holder of a partition had done behind its cursor cannot be read; it is delivered again",
			slog.Int("lane", l.lease.Lane), slog.Any("error", err))
		return nil
	}
	return done
}
