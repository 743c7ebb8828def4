package logsub

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// readBatch bounds how many entries are read at once.
const (
	minReadBatch = 32
	maxReadBatch = 256
)

// lane hands over the messages of one leased lane. Its life:
//
//	deliver   reads and hands over, in order
//	settle    the intake has ended: waits for what was handed over
//	retire    writes the cursor, gives the lease back
//
// It goes on to settle when its intake is stopped (the subscription ends, or
// the group has more members now), skips settling when the subscriber is closed,
// and skips the rest when the lease is lost.
type lane struct {
	sub   *subscription
	lease sqllog.Lease // as it was taken; see held

	stop     context.CancelFunc // ends the intake
	kicked   chan struct{}      // capacity 1: look again at what can be done
	expiry   *time.Timer        // of deliver: the lease may have run out
	over     chan struct{}      // closed: wait for no acknowledgement any more
	settled  chan struct{}      // closed: the intake has ended and nothing is open
	watchers sync.WaitGroup

	mu        sync.Mutex
	tracker   tracker
	committed sqllog.Position // where the cursor stands
	until     time.Time       // how long the lease is valid at least
	open      int             // handed over and not settled
	nacked    []*delivery     // to be handed over again, in log order
	stopped   bool            // the intake was told to end
	ended     bool            // it has ended
	ending    bool            // over is closed
	lost      bool            // the lease is
}

// delivery is one entry on its way to an acknowledgement.
type delivery struct {
	entry  sqllog.Entry
	seq    int64
	nacks  int
	due    time.Time // after a nack: when to hand it over again
	msg    *message.Message
	cancel context.CancelFunc
}

// newLane makes a lane; stop ends the context that run is called with.
func newLane(s *subscription, lease sqllog.Lease, until time.Time, stop context.CancelFunc) *lane {
	return &lane{
		sub: s, lease: lease, stop: stop,
		kicked: make(chan struct{}, 1), over: make(chan struct{}), settled: make(chan struct{}),
		tracker: tracker{prefix: lease.Position}, committed: lease.Position, until: until,
	}
}

// run lives as long as the lane is held; ctx is the intake's.
func (l *lane) run(ctx context.Context) error {
	defer l.stop()
	l.deliver(ctx)
	l.endIntake()
	l.sub.senders.Done()

	select {
	case <-l.settled:
	case <-l.over:
	}
	l.watchers.Wait()

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

// kick makes deliver look again.
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
	l.end()
}

// endIntake gives up what waits for another try: who leases the lane next will
// read it again.
func (l *lane) endIntake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for range l.nacked {
		l.close()
	}
	l.nacked = nil
	if l.open == 0 {
		close(l.settled)
	}
}

// close settles one delivery; l.mu is held.
func (l *lane) close() {
	l.open--
	l.sub.window.give(l)
}

// watch waits for the fate of a delivery.
func (l *lane) watch(d *delivery) {
	defer l.watchers.Done()
	defer d.cancel()
	select {
	case <-d.msg.Acked():
		l.ack(d)
	case <-d.msg.Nacked():
		l.nack(d)
	case <-l.over:
		// It counts what was acknowledged before, seen or not.
		select {
		case <-d.msg.Acked():
			l.ack(d)
		default:
		}
	}
}

func (l *lane) ack(d *delivery) {
	l.mu.Lock()
	full := l.tracker.span() >= l.sub.hub.cfg.Span
	l.tracker.confirm(d.seq)
	l.close()
	if l.ended && l.open == 0 {
		close(l.settled)
	}
	l.mu.Unlock()
	l.sub.hub.committer.signal()
	if full {
		l.kick()
	}
}

func (l *lane) nack(d *delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		l.close()
		if l.open == 0 {
			close(l.settled)
		}
		return
	}
	d.nacks++
	d.due = time.Now().Add(nackDelay.Delay(d.nacks))
	i := 0
	for i < len(l.nacked) && l.nacked[i].seq < d.seq {
		i++
	}
	l.nacked = append(l.nacked, nil)
	copy(l.nacked[i+1:], l.nacked[i:])
	l.nacked[i] = d
	l.kick()
}

// held is the lease with the place where the cursor stands now.
func (l *lane) held() sqllog.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	lease := l.lease
	lease.Position = l.committed
	return lease
}

// progress returns where the cursor may stand, and whether that is news.
func (l *lane) progress() (p sqllog.Position, moved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tracker.prefix, l.tracker.prefix != l.committed
}

// due returns what to write for the lane now: progress, or a third of the
// lease is over.
func (l *lane) due(now time.Time) (sqllog.Position, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	renew := l.until.Sub(now) <= l.sub.hub.cfg.LeaseTTL*3/4
	return l.tracker.prefix, renew || l.tracker.prefix != l.committed
}

// moved notes that the cursor was written and the lease extended.
func (l *lane) moved(p sqllog.Position, until time.Time) {
	l.mu.Lock()
	expired := !time.Now().Before(l.until)
	l.committed, l.until = p, until
	l.mu.Unlock()
	if expired {
		l.kick()
	}
}
