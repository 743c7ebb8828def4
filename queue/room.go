package queue

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/token"
)

// Room is the waiting room of all events of a process. Its methods are safe for
// concurrent use. It has no goroutine but those of [Room.Run].
type Room struct {
	store   driver.Store
	tickets *seal.Tickets
	secrets *seal.Secrets
	holder  uint64 // of draws
	cfg     Config
	rules   driver.Rules
	start   time.Time

	lines    sync.Map // of *line, by event
	count    atomic.Int64
	evict    atomic.Int64 // on the room's clock: when to look for idle events
	evicting sync.Mutex

	begun  chan string // events in whose line the first user waits now
	counts counts
}

// New makes a room. The keys sign its tickets, and must be the same in all
// processes that share the store.
func New(store driver.Store, keys *token.Ring, cfg Config) (*Room, error) {
	switch {
	case store == nil:
		return nil, errors.New("queue: the store is nil; make one with memqueue.New or redisqueue.New")
	case keys == nil:
		return nil, errors.New("queue: the key ring is nil; make one with token.NewRing")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Room{store: store, tickets: seal.NewTickets(keys), secrets: seal.NewSecrets(keys), holder: rand.Uint64N(1<<53-1) + 1, cfg: cfg, rules: cfg.rules(), start: time.Now(), begun: make(chan string, 64)}, nil
}

// now is the room's clock: the time since it was made.
func (r *Room) now() time.Duration { return time.Since(r.start) }

// bounded is for a call of the store that other callers share, or that must
// complete: it does not end when the caller leaves.
func (r *Room) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Timeout)
}

// boundedBy is for a call that is the caller's own.
func (r *Room) boundedBy(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.cfg.Timeout)
}

// Check admits a user if there is a place, else lines the user up, and returns the
// place. With the ticket of a waiting user it usually costs no call of the store.
func (r *Room) Check(ctx context.Context, event string, v Visitor) (Place, error) {
	return r.poll(ctx, event, driver.Check, v)
}

// Heartbeat returns a user's place and lines no user up; it is a sign of life like
// the other polls.
func (r *Room) Heartbeat(ctx context.Context, event string, v Visitor) (Place, error) {
	return r.poll(ctx, event, driver.Heartbeat, v)
}

// Status returns a user's place; it is a sign of life as well.
func (r *Room) Status(ctx context.Context, event string, v Visitor) (Place, error) {
	return r.poll(ctx, event, driver.Heartbeat, v)
}

func (r *Room) poll(ctx context.Context, event string, kind driver.Kind, v Visitor) (Place, error) {
	if err := cmp.Or(checkEvent(event), checkUser(v.User)); err != nil {
		return Place{}, err
	}
	if v.Lane != "" && !hasLane(r.cfg.Lanes, v.Lane) {
		return Place{}, invalid("there is no lane %.40q in Config.Lanes", v.Lane)
	}
	now := r.now()
	l := r.line(event, now)
	visit := driver.Visit{Kind: kind, User: v.User, Position: max(0, v.Position), Lane: v.Lane}
	if v.Ticket == "" {
		return l.join(ctx, visit, v.Join)
	}
	ticket, err := r.tickets.Open(v.Ticket, event, v.User)
	if err != nil {
		// The ticket may be of another room, or of keys that are gone: the store
		// knows the visitor by name.
		r.counts.tickets.Add(1)
		return l.join(ctx, visit, v.Join)
	}
	visit.Epoch, visit.Order, visit.Until = ticket.Epoch, ticket.Order, ticket.Until
	s, now, refreshed := l.current(ctx, now)
	place, ok := l.stand(ctx, s, now, visit.Epoch, visit.Order)
	if !ok {
		return l.back(ctx, visit, v.Ticket, v.Join)
	}
	if refreshed {
		l.send(ctx, false)
	}
	position := place.Position
	if early(&s.state) {
		position = place.Waiting
	}
	place.Ticket = l.renewed(visit, position, s.state.Now, v.Ticket)
	return place, nil
}

// Leave takes a user out, from the line or from inside; others may leave as well.
func (r *Room) Leave(ctx context.Context, event, user string) error {
	_, err := r.once(ctx, event, driver.Visit{Kind: driver.Leave, User: user})
	return err
}

// Done gives the place of a user inside back early. It does not change waiting
// users.
func (r *Room) Done(ctx context.Context, event, user string) error {
	_, err := r.once(ctx, event, driver.Visit{Kind: driver.Done, User: user})
	return err
}

// Verify reports whether a user is inside by the admission with this Entry.ID: nil,
// or [ErrNotActive]. It always asks the store.
func (r *Room) Verify(ctx context.Context, event, user, entry string) error {
	epoch, order, ok := parseEntry(entry)
	if !ok {
		return ErrNotActive
	}
	a, err := r.once(ctx, event, driver.Visit{Kind: driver.Verify, User: user, Entry: order})
	if err != nil {
		return err
	}
	if a.Status != Active || a.Order != order || a.state.Epoch != epoch {
		return ErrNotActive
	}
	return nil
}

// once makes a visit that is no poll.
func (r *Room) once(ctx context.Context, event string, v driver.Visit) (answer, error) {
	if err := cmp.Or(checkEvent(event), checkUser(v.User)); err != nil {
		return answer{}, err
	}
	return r.line(event, r.now()).once(ctx, v)
}

// place is the answer to a visitor, by a state of the room that is of an age. The State is
// large, and is not copied for each poll.
func (l *line) place(o driver.Outcome, s *State, age, now time.Duration) Place {
	p := Place{
		Status: o.Status, Active: s.Active, Threshold: s.Threshold, Waiting: s.Waiting,
		Paused: s.Paused, Settling: max(0, s.Settling-age), SoldOut: s.SoldOut(),
	}
	if o.Status == Waiting && early(s) {
		return l.placeEarly(p, s, age)
	}
	switch o.Status {
	case Waiting:
		p.Ahead, p.Position, p.Returner = o.Ahead, o.Ahead+1, o.Returner
		p.Waiting = max(p.Waiting, p.Position)
		p.Behind, p.Keep = p.Waiting-p.Position, l.room.cfg.Seen
		if o.Returner {
			p.Behind = max(0, s.Returning-p.Position)
		}
		turn := turnOf(s, o, p.Position)
		if f := l.foresee(s, now); f != nil && reaches(s, turn) {
			w := f.after(p.Settling, turn)
			p.Wait, p.WaitLow, p.WaitHigh, p.WaitKnown = w.probable, w.low, w.high, true
			if len(l.room.cfg.Lanes) > 0 && !o.Returner {
				p.WaitHigh = later(0, w.high.Seconds()*slower(s))
			}
		}
	case Active:
		p.Entry = Entry{ID: entryID(s.Epoch, o.Order), Left: o.Left}
	}
	position := p.Position
	switch {
	case o.Turn:
		p.Turn, position = true, 1 // others may be ahead that do not come
	case o.Returner:
		position *= turnsEach
	}
	p.NextPoll = nextPoll(l.room.cfg.Intervals, position, l.room.cfg.Random())
	return p
}
