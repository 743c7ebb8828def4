package logsub

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// lookSpacing is the least time between two looks at a group, however many
// changes are signalled.
const lookSpacing = 50 * time.Millisecond

// subscription is one member of a group on one topic. Its coordinator decides
// which lanes it holds; each lane has a goroutine of its own.
type subscription struct {
	hub    *Hub
	topic  Topic
	me     Member
	log    *slog.Logger
	out    chan *message.Message
	window *window
	nudge  chan struct{} // capacity 1: a lane has ended

	joined      bool          // of coordinate: the group knows this member
	stop        chan struct{} // closed by close: end the intake
	stopOnce    sync.Once
	coordinated chan struct{} // closed when no further lane is started
	done        chan struct{} // closed when everything has ended

	mu    sync.Mutex
	lanes map[int]*lane
	err   error // what close could not do

	senders sync.WaitGroup // lanes that may send on out
	workers sync.WaitGroup // lanes
}

func newSubscription(s *Subscriber, t Topic) *subscription {
	me := s.hub.names.take(t.Name, s.group)
	return &subscription{
		hub: s.hub, topic: t, me: me,
		log:    s.hub.cfg.Logger.With(slog.String("topic", t.Name), slog.String("group", s.group)),
		out:    make(chan *message.Message),
		window: newWindow(s.window),
		nudge:  make(chan struct{}, 1),
		stop:   make(chan struct{}), coordinated: make(chan struct{}), done: make(chan struct{}),
		lanes: make(map[int]*lane),
	}
}

// run lives as long as the subscription has anything to do.
func (s *subscription) run(ctx context.Context) {
	defer close(s.done)
	intake, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-intake.Done():
		}
	}()

	s.coordinate(intake)
	close(s.coordinated)
	s.senders.Wait()
	close(s.out)

	// The others may share the lanes from now on; each is free once what was
	// handed over from it is settled.
	bounded, cancelLeave := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancelLeave()
	if err := s.hub.pulse.leave(bounded, s.me); err != nil {
		s.log.Warn("bus: the group could not be left; the others notice later", slog.Any("error", err))
	}
	s.hub.groupsChanged()
	s.workers.Wait()
	s.hub.names.give(s.me)
}

// close ends the subscription, settled or not.
func (s *subscription) close() error {
	s.stopOnce.Do(func() { close(s.stop) })
	<-s.coordinated
	s.mu.Lock()
	for _, l := range s.lanes {
		l.end()
	}
	s.mu.Unlock()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// coordinate keeps the member's share of lanes until ctx is done.
func (s *subscription) coordinate(ctx context.Context) {
	changes, cancel := s.hub.wakes.groups.Subscribe()
	defer cancel()
	failures := 0
	for ctx.Err() == nil {
		wait, err := s.balance(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failures++
			wait = retry.Delay(failures)
			s.log.Warn("bus: partitions could not be shared out; trying again", slog.Int("attempt", failures), slog.Any("error", err))
		default:
			failures = 0
		}
		timer := time.NewTimer(wait)
		looked := time.Now()
		select {
		case <-timer.C:
		case <-changes:
		case <-s.nudge:
		case <-ctx.Done():
		}
		timer.Stop()
		if backoff.Sleep(ctx, lookSpacing-time.Since(looked)) != nil {
			return
		}
	}
}

// balance looks who is there, and takes or gives up lanes. It returns when to
// look again if nothing is signalled before.
func (s *subscription) balance(ctx context.Context) (time.Duration, error) {
	// What is begun is finished: a lease that was taken while ctx ended would
	// be nobody's until it runs out.
	op, cancel := context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
	defer cancel()

	members, err := s.hub.b.Directory.Members(op, s.me.Topic, s.me.Group)
	if err != nil {
		return 0, err
	}
	rank := slices.Index(members, s.me.ID)
	// A member with a name of its own may be listed from before a crash: it is
	// the heartbeat that has to learn of it.
	if rank < 0 || !s.joined {
		if err := s.hub.pulse.join(op, s.me); err != nil {
			return 0, err
		}
		s.joined = true
		s.hub.groupsChanged()
		if members, err = s.hub.b.Directory.Members(op, s.me.Topic, s.me.Group); err != nil {
			return 0, err
		}
		if rank = slices.Index(members, s.me.ID); rank < 0 {
			return 0, errors.New("the group's table does not list a member that has just joined")
		}
	}
	want := share(s.topic.Partitions, len(members), rank)

	held, present := s.held()
	for len(held) > want {
		last := held[len(held)-1]
		held = held[:len(held)-1]
		last.stopIntake()
	}
	// Members begin at different lanes, so that they seldom ask for the same one.
	start := rank * s.topic.Partitions / len(members)
	var free []int
	for i := range s.topic.Partitions {
		if n := s.topic.FirstLane + (start+i)%s.topic.Partitions; !present[n] {
			free = append(free, n)
		}
	}
	missing := want - len(held)
	if missing > 0 {
		taken, err := s.take(ctx, op, free, missing)
		if err != nil {
			return 0, err
		}
		missing -= taken
	}
	if missing > 0 {
		return s.hub.cfg.PollInterval, nil
	}
	return s.hub.cfg.LeaseTTL / 3, nil
}

// take leases up to so many of the lanes, starts them, and returns how many.
func (s *subscription) take(ctx, op context.Context, lanes []int, most int) (taken int, err error) {
	if s.hub.b.LeasesTogether {
		var leases []sqllog.Lease
		asked := time.Now()
		err := s.hub.b.Begin(op, func(op context.Context, _ sqltx.Execer) error {
			leases = leases[:0]
			for _, n := range lanes {
				if len(leases) == most {
					break
				}
				lease, err := s.lease(op, n)
				if err == nil {
					leases = append(leases, lease)
				} else if !errors.Is(err, sqllog.ErrLeaseHeld) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		for _, lease := range leases {
			s.start(ctx, lease, asked.Add(s.hub.cfg.LeaseTTL))
		}
		return len(leases), nil
	}
	for _, n := range lanes {
		if taken == most || ctx.Err() != nil {
			break
		}
		asked := time.Now()
		lease, err := s.lease(op, n)
		switch {
		case err == nil:
			s.start(ctx, lease, asked.Add(s.hub.cfg.LeaseTTL))
			taken++
		case !errors.Is(err, sqllog.ErrLeaseHeld):
			return taken, err
		}
	}
	return taken, nil
}

func (s *subscription) lease(ctx context.Context, lane int) (sqllog.Lease, error) {
	return s.hub.b.Log.Lease(ctx, sqllog.Cursor{Consumer: s.me.Group, Lane: lane}, s.me.ID, s.hub.cfg.LeaseTTL)
}

// share is how many of n partitions the member at rank of so many gets: equal
// parts, the first ones get what is left over. The shares sum up to n.
func share(n, members, rank int) int {
	part := n / members
	if rank < n%members {
		part++
	}
	return part
}

// held returns the lanes that take in messages, by number, and which lanes are
// here at all, those that are being given up included.
func (s *subscription) held() (held []*lane, present map[int]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present = make(map[int]bool, len(s.lanes))
	for n, l := range s.lanes {
		present[n] = true
		if l.taking() {
			held = append(held, l)
		}
	}
	slices.SortFunc(held, func(a, b *lane) int { return a.lease.Lane - b.lease.Lane })
	return held, present
}

// start works on a lane that was just leased.
func (s *subscription) start(ctx context.Context, lease sqllog.Lease, until time.Time) {
	intake, stop := context.WithCancel(ctx)
	l := newLane(s, lease, until, stop)
	s.mu.Lock()
	s.lanes[lease.Lane] = l
	s.mu.Unlock()
	s.window.join(l)
	s.hub.committer.add(l)
	s.senders.Add(1)
	s.workers.Go(func() {
		err := l.run(intake)
		s.window.leave(l)
		s.mu.Lock()
		delete(s.lanes, lease.Lane)
		s.err = errors.Join(s.err, err)
		s.mu.Unlock()
		select {
		case s.nudge <- struct{}{}:
		default:
		}
		s.hub.groupsChanged()
	})
}
