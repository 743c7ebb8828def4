package logsub

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/internal/lease"
	"github.com/millrace-go/millrace/internal/log"
)

// readBatch bounds how many entries are read at once.
const (
	minReadBatch = 32
	maxReadBatch = 256
)

// lane reads the messages of one leased lane ahead. Its life:
//
//	read      reads ahead, in order, for Fetch to take
//	settle    the intake has ended: waits for the messages that were handed over
//	retire    writes the cursor, releases the lease
//
// It continues with settle when its intake is stopped (the group has more members now), skips
// settle when the source is closed, and skips the rest when the lease is lost.
type lane struct {
	sub       *Source
	committer *committer  // the hub's, or its own
	lease     log.Lease   // as taken; see held
	term      *lease.Term // of the lease
	start     Start       // set before the first message is handed over

	ctx     context.Context // of deliveries: ends when the lease is lost
	revoke  context.CancelCauseFunc
	stop    context.CancelFunc // ends the intake
	kicked  kit.Signal         // check again
	over    chan struct{}      // closed: wait for no more acknowledgements
	settled chan struct{}      // closed: the intake has ended and nothing is open

	mu         sync.Mutex
	tracker    kit.Tracker[place]
	done       map[int64]struct{} // entries that an earlier holder finished, by id; not yet read
	committed  log.Position       // the cursor's position
	ready      []*delivery        // read and not handed over, in log order
	open       int                // handed over and not settled
	nacked     []*delivery        // to be redelivered, in log order
	stopped    bool               // the intake was told to end
	ended      bool               // it has ended
	ending     bool               // over is closed
	careful    int                // the number of messages that are to be handled alone
	progressed bool               // the cursor has moved since the lease was taken
	counted    bool               // Directory has counted this start
	told       bool               // Directory knows that the cursor has moved
}

// place is the location of an entry.
type place struct {
	position log.Position
	id       int64
}

// newLane makes a lane of a lease that was requested at asked; stop ends the context of run.
func newLane(s *Source, held log.Lease, asked time.Time, stop context.CancelFunc) *lane {
	l := &lane{
		sub: s, committer: s.hub.committer, lease: held, term: lease.NewTerm(s.hub.cfg.LeaseTTL, 0), stop: stop,
		kicked: kit.NewSignal(), over: make(chan struct{}), settled: make(chan struct{}),
		committed: held.Position,
	}
	if s.hub.b.TopicsApart {
		l.committer = newCommitter(s.hub.b, s.hub.cfg)
	}
	l.committer.add(l)
	l.term.Extended(asked)
	l.ctx, l.revoke = context.WithCancelCause(s.base)
	return l
}

// run runs as long as the lane is held; ctx is the intake's.
func (l *lane) run(ctx context.Context) error {
	defer l.stop()
	if l.sub.hub.b.TopicsApart {
		committing, end := context.WithCancel(l.sub.base)
		var own sync.WaitGroup
		own.Go(func() { l.committer.run(committing) })
		defer own.Wait()
		defer end()
	}
	l.read(ctx)
	l.endIntake()
	l.sub.intakes.Done()
	select {
	case <-l.settled:
	case <-l.over:
	}
	if l.ctx.Err() != nil {
		l.sub.log.Warn("bus: a partition was lost, to another instance or with the database's server; what follows its cursor is delivered again",
			slog.Int("lane", l.lease.Lane))
		return nil
	}
	return l.committer.retire(context.WithoutCancel(ctx), l)
}

// kick makes read check again.
func (l *lane) kick() { l.kicked.Send() }

// stopIntake stops the intake; the lane is released once it is settled.
func (l *lane) stopIntake() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.stop()
}

// taking reports whether the intake was not stopped.
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

// lose discards all state: reading resumes from the cursor, under another lease.
func (l *lane) lose() {
	l.revoke(driver.ErrRevoked)
	l.end()
}

// endIntake discards the messages that were not handed over, or that wait for redelivery: the
// next holder of the lane reads them again.
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

// take hands over ready messages: first the nacked ones, since their successors wait for them.
// It hands over none when the lease may have expired, because another instance may be handing
// out the same messages.
func (l *lane) take(all []driver.Delivery, most int) []driver.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.ready)+len(l.nacked) == 0 {
		return all
	}
	now := time.Now()
	if !l.term.Valid(now) {
		l.committer.progress.Send()
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

// finish completes a delivery; l.mu is held.
func (l *lane) finish(d *delivery) {
	full := l.room() <= 0
	l.tracker.Done(d.seq)
	l.sub.window.Give(l)
	l.committer.progress.Send()
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
	time.AfterFunc(wait, l.sub.ready.Send)
}

// room is how many more messages the lane may have ahead of an unacknowledged one; l.mu is held.
func (l *lane) room() int { return l.sub.hub.cfg.Span - l.tracker.Span() - len(l.ready) }

// reached returns the position to which the cursor may move; l.mu is held.
func (l *lane) reached() log.Position {
	if last, ok := l.tracker.Prefix(); ok {
		return last.position
	}
	return l.lease.Position
}

// held returns the lease with the cursor's present position.
func (l *lane) held() log.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.lease
	held.Position = l.committed
	return held
}

// progress returns the position to which the cursor may move, and whether it differs from the
// committed one.
func (l *lane) progress() (p log.Position, moved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p = l.reached()
	return p, p != l.committed
}

// moved records that the cursor was written and the lease extended, by a call made at asked.
func (l *lane) moved(p log.Position, asked time.Time) {
	l.mu.Lock()
	l.progressed = l.progressed || p != l.lease.Position
	l.committed = p
	l.mu.Unlock()
	l.extended(asked)
}

// extended records that the lease was extended, by a call made at asked.
func (l *lane) extended(asked time.Time) {
	expired := !l.term.Valid(time.Now())
	if l.term.Extended(asked); expired {
		l.sub.ready.Send()
	}
}
