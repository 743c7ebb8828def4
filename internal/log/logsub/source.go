package logsub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/log"
)

// closeTimeout bounds how long Close waits for an absent database, answerTimeout for one that
// does not answer. Messages whose position is not written by then are redelivered.
const (
	closeTimeout  = 5 * time.Second
	answerTimeout = 15 * time.Second
)

// lookSpacing is the least time between two reads of a group, for any rate of change signals.
const lookSpacing = 50 * time.Millisecond

// Source is one member of a group on one topic; it implements [driver.Source]. Its coordinator
// determines the lanes it holds. Each lane has a goroutine that reads ahead, up to the window;
// Fetch takes the ready messages of the lanes.
type Source struct {
	hub    *Hub
	topic  Topic
	me     Member
	log    *slog.Logger
	base   context.Context // its values are passed to the deliveries
	window *kit.Window[*lane]
	nudge  kit.Signal // a lane has ended
	ready  kit.Signal // a lane has a message to hand over

	joined      bool          // used by coordinate: the group knows this member
	stop        chan struct{} // closed by Close: end the intake
	stopOnce    sync.Once
	coordinated chan struct{} // closed when no further lane is started
	done        chan struct{} // closed when everything has ended

	mu    sync.Mutex
	lanes map[int]*lane
	turn  int   // the lane that Fetch begins with
	err   error // the errors of Close

	intakes sync.WaitGroup // lanes that read
	workers sync.WaitGroup // lanes
}

// Source makes this process a member of a group on a topic. It hands over messages in order per
// key, with at most size of them unsettled. A new group starts at the earliest retained message.
// A delivery's context has the values of ctx, and ends when another instance has taken over its
// partition.
func (h *Hub) Source(ctx context.Context, topic, group string, size int) (*Source, error) {
	if err := checkName("group", group); err != nil {
		return nil, err
	}
	if size < 1 {
		return nil, fault.MarkPermanent(fmt.Errorf("logsub: the window of group %s is %d; give at least 1", group, size))
	}
	if h.isClosed() {
		return nil, ErrClosed
	}
	t, err := h.topics.get(ctx, topic)
	if err != nil {
		return nil, err
	}
	if err := h.topics.group(ctx, t, group); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	s := &Source{
		hub: h, topic: t, me: h.names.take(t.Name, group), base: context.WithoutCancel(ctx),
		log:    h.cfg.Logger.With(slog.String("topic", t.Name), slog.String("group", group)),
		window: kit.NewWindow(size, (*lane).kick),
		nudge:  kit.NewSignal(), ready: kit.NewSignal(),
		stop: make(chan struct{}), coordinated: make(chan struct{}), done: make(chan struct{}),
		lanes: make(map[int]*lane),
	}
	h.sources[s] = struct{}{}
	go s.run()
	return s, nil
}

// Fetch implements [driver.Source].
func (s *Source) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	return driver.Fetch(ctx, s.ready, s.stop, ErrClosed, func() []driver.Delivery { return s.collect(most) })
}

// collect takes the ready messages of the lanes, beginning with another lane each time.
func (s *Source) collect(most int) (all []driver.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	for i := range s.topic.Partitions {
		if l := s.lanes[s.topic.FirstLane+(s.turn+i)%s.topic.Partitions]; l != nil && len(all) < most {
			all = l.take(all, most)
		}
	}
	return all
}

// run runs until Close.
func (s *Source) run() {
	defer close(s.done)
	intake, cancel := context.WithCancel(s.base)
	defer cancel()
	go func() {
		<-s.stop
		cancel()
	}()

	s.coordinate(intake)
	close(s.coordinated)
	s.intakes.Wait()

	// The other members may share the lanes from now on.
	bounded, cancelLeave := context.WithTimeout(s.base, closeTimeout)
	defer cancelLeave()
	if err := s.hub.pulse.leave(bounded, s.me); err != nil {
		s.log.Warn("bus: the group could not be left; the others notice later", slog.Any("error", err))
	}
	s.hub.groupsChanged()
	s.workers.Wait()
	s.hub.names.give(s.me)
	s.hub.mu.Lock()
	delete(s.hub.sources, s)
	s.hub.mu.Unlock()
}

// Close implements [driver.Source]: it writes the positions and releases the partitions to the
// group's other members. Further calls wait for the first.
func (s *Source) Close() error {
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
func (s *Source) coordinate(ctx context.Context) {
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

// balance reads the members, and takes or releases lanes. It returns when to run again if no
// change is signalled before.
func (s *Source) balance(ctx context.Context) (time.Duration, error) {
	// An operation that has begun is completed: a lease taken while ctx ended would have no user
	// until it expires.
	op, cancel := context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
	defer cancel()

	members, err := s.hub.b.Directory.Members(op, s.me.Topic, s.me.Group)
	if err != nil {
		return 0, err
	}
	rank := slices.Index(members, s.me.ID)
	// A member with a fixed name may be listed from before a crash: the heartbeat has to learn
	// of it.
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
	// Members begin at different lanes, so that they seldom request the same one.
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

// take leases up to most of the lanes, starts them, and returns how many, also with an error.
func (s *Source) take(ctx, op context.Context, lanes []int, most int) (taken int, err error) {
	together := 1
	if s.hub.b.LeasesTogether {
		together = max(1, len(lanes))
	}
	for some := range slices.Chunk(lanes, together) {
		if taken == most || ctx.Err() != nil {
			break
		}
		asked := time.Now()
		leases, failed := s.lease(op, some, most-taken)
		if failed != nil {
			// A partition that fails, as when its server is down, keeps no others from being taken.
			err = cmp.Or(err, failed)
			continue
		}
		for _, lease := range leases {
			s.start(ctx, lease, asked)
		}
		taken += len(leases)
	}
	return taken, err
}

// lease leases up to most of the lanes that are free.
func (s *Source) lease(ctx context.Context, lanes []int, most int) (leases []log.Lease, err error) {
	err = s.hub.b.leasing(ctx, func(ctx context.Context) error {
		leases = leases[:0]
		for _, n := range lanes {
			if len(leases) == most {
				break
			}
			lease, err := s.hub.b.Log.Lease(ctx, log.Cursor{Consumer: s.me.Group, Lane: n}, s.me.ID, s.hub.cfg.LeaseTTL)
			if err == nil {
				leases = append(leases, lease)
			} else if !errors.Is(err, log.ErrLeaseHeld) {
				return err
			}
		}
		return nil
	})
	return leases, err
}

// share is how many of n partitions the member at rank gets: equal parts, and the first members
// get the remainder. The shares sum up to n.
func share(n, members, rank int) int {
	part := n / members
	if rank < n%members {
		part++
	}
	return part
}

// held returns the lanes that take in messages, by number, and all lanes of this member, also
// those being released.
func (s *Source) held() (held []*lane, present map[int]bool) {
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

// start starts a lane whose lease was requested at asked.
func (s *Source) start(ctx context.Context, lease log.Lease, asked time.Time) {
	intake, stop := context.WithCancel(ctx)
	l := newLane(s, lease, asked, stop)
	s.mu.Lock()
	s.lanes[lease.Lane] = l
	s.mu.Unlock()
	s.window.Join(l)
	s.intakes.Add(1)
	s.workers.Go(func() {
		err := l.run(intake)
		s.window.Leave(l)
		s.mu.Lock()
		delete(s.lanes, lease.Lane)
		s.err = errors.Join(s.err, err)
		s.mu.Unlock()
		s.nudge.Send()
		s.hub.groupsChanged()
	})
}
