package queue

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/internal/lease"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

// A drawing is a process's part in the draw of an event. It goes on from what the store
// has, so that any process can do the rest after any other.
type drawing struct {
	*line
	holder  uint64
	epoch   uint64 // of the room that froze
	setting Setting
	seed    []byte
	key     []byte
	users   []driver.Admitted // those of the last list, if there is one
}

// drawDue says whether there is something to do for the opening of a room, and else
// when to look again; 0 is at the next tick.
func drawDue(s State) (due bool, again time.Duration) {
	if !early(&s) {
		return false, 0
	}
	if s.Phase == driver.Opened {
		return false, s.Opens.Sub(s.Now)
	}
	if left := s.Opens.Add(-driver.FreezeBefore).Sub(s.Now); left > 0 {
		return false, left
	}
	return true, 0
}

// drawAll draws to the end, unless another process does.
func (l *line) drawAll(ctx context.Context, polled bool) error {
	s, err := l.settingOf(ctx)
	if err != nil {
		return err
	}
	if s.Draw == nil {
		return fmt.Errorf("queue: the room opens at a time, and its settings have no seed: %w", ErrNoDraw)
	}
	d := &drawing{line: l, holder: l.room.holder, setting: s}
	if d.seed, d.key, err = l.room.opened(l.event, s); err != nil {
		return err
	}
	asked := time.Now()
	at, err := d.step(ctx, driver.DrawStep{Kind: driver.DrawFreeze})
	if err == nil {
		d.epoch = at.Epoch
		defer d.keepHeld(ctx, asked)()
	}
	for err == nil && at.Phase != driver.Opened && ctx.Err() == nil {
		was := at.Phase
		switch at.Phase {
		case driver.Frozen:
			at, err = d.publish(ctx, at, polled)
		case driver.Rooted:
			at, err = d.reveal(ctx, at)
		case driver.Seeded:
			at, err = d.order(ctx, at)
		}
		if err == nil && at.Phase <= was {
			err = errors.New("queue: the draw does not get on")
		}
	}
	if errors.Is(err, errNotHeld) {
		return nil
	}
	if err == nil && at.Phase == driver.Opened {
		l.due.Store(0)
		l.room.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "queue: the order of an opening is drawn", slog.String("event", l.event), slog.Int("users", at.Count))
	}
	return err
}

// keepHeld keeps the draw this process's until release is called: between two steps it may
// sweep a long line, hash it, or wait for the beacon for longer than a holder is waited for.
func (d *drawing) keepHeld(ctx context.Context, since time.Time) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	term := lease.NewTerm(drawHeld, 0)
	term.Extended(since)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// Once the draw is held by another process, the next step says so.
		_ = term.Keep(ctx, errNotHeld, func(ctx context.Context) error {
			_, err := d.step(ctx, driver.DrawStep{Kind: driver.DrawFreeze}) // a frozen room stays as it is
			return err
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// drawHeld is how long a store waits for the next step of a holder.
const drawHeld = 3 * time.Second

func (d *drawing) step(ctx context.Context, s driver.DrawStep) (driver.Drawn, error) {
	s.Holder = d.holder
	at, err := d.draw(ctx, s)
	switch {
	case err != nil:
	case !at.Held:
		err = errNotHeld
	case d.epoch != 0 && at.Epoch != d.epoch:
		err = errors.New("queue: the room was cleared or has lost its data while it drew, and draws again")
	}
	return at, err
}

// list reads the users that have no new order yet.
func (d *drawing) list(ctx context.Context) error {
	d.users = nil
	from := int64(0)
	for {
		at, err := d.step(ctx, driver.DrawStep{Kind: driver.DrawList, From: from, Most: driver.MaxChunk})
		if err != nil {
			return err
		}
		if len(at.Users) == 0 {
			return nil
		}
		d.users = append(d.users, at.Users...)
		from = at.Users[len(at.Users)-1].Order
	}
}

// publish takes out the users that were not heard of within two polls, unless they
// could not poll, and publishes the leaves of all others.
func (d *drawing) publish(ctx context.Context, at driver.Drawn, polled bool) (driver.Drawn, error) {
	if polled {
		if err := d.sweepSilent(ctx); err != nil {
			return at, err
		}
	}
	if err := d.list(ctx); err != nil {
		return at, err
	}
	leaves := make([]draw.Leaf, len(d.users))
	for i, u := range d.users {
		leaves[i] = draws.LeafOf(d.key, u.User)
	}
	draws.Sort(leaves)
	var err error
	for from := 0; err == nil && (from < len(leaves) || from == 0); from += driver.MaxLeaves {
		at, err = d.step(ctx, driver.DrawStep{Kind: driver.DrawLeaves, From: int64(from), Leaves: leaves[from:min(len(leaves), from+driver.MaxLeaves)]})
	}
	if err != nil {
		return at, err
	}
	root := draws.Root(leaves)
	return d.step(ctx, driver.DrawStep{Kind: driver.DrawRoot, Root: root[:], Most: len(leaves)})
}

// sweepSilent removes the users that were silent for two and a half polls of a hidden
// tab, which no user with an open page is.
func (d *drawing) sweepSilent(ctx context.Context) error {
	r := d.room.rules
	if r.Seen = leastSeen; d.room.rules.Seen > time.Hour {
		r.Seen += 2 * d.room.rules.Seen / 60 // signs of life are kept by longer spans
	}
	for from := int64(1); ; { // 0 would be a sweep of its own, with its interval
		swept, err := d.sweep(ctx, r, from)
		if err != nil || swept.Done {
			return err
		}
		from = swept.Next
	}
}

// reveal gets the value of the beacon, and publishes it with the seed. The settings know
// first that the leaves are published: then a loss of the store's data leads to no
// second draw with a seed that is known.
func (d *drawing) reveal(ctx context.Context, at driver.Drawn) (driver.Drawn, error) {
	var value []byte
	if name := d.setting.Draw.Beacon; name != "" {
		var err error
		if d.room.cfg.Beacon == nil {
			err = errors.New("Config.Beacon is nil")
		} else {
			bounded, cancel := context.WithTimeout(ctx, beaconTimeout)
			value, err = d.room.cfg.Beacon(bounded, name)
			cancel()
		}
		if err == nil && (len(value) == 0 || len(value) > maxBeacon) {
			err = fmt.Errorf("it has %d bytes; give 1 to %d", len(value), maxBeacon)
		}
		if err != nil {
			return at, fmt.Errorf("queue: the room stays closed until the beacon %q has a value: %w", name, err)
		}
	}
	if !bytes.Equal(d.setting.Draw.Root, at.Root) {
		bounded, cancel := d.room.bounded(ctx)
		_, err := d.room.save(By(bounded, "millrace", "the leaves of the draw are published"), d.event, func(s *Setting) error {
			if s.Draw == nil {
				return ErrNoDraw
			}
			// A room that was lost or cleared since has no draw yet: the beacon took its time, or a
			// clear changed these settings.
			if _, err := d.step(bounded, driver.DrawStep{Kind: driver.DrawLook}); err != nil {
				return err
			}
			drawn := *s.Draw
			drawn.Root, drawn.Beacon = at.Root, d.setting.Draw.Beacon
			s.Draw, s.Opens = &drawn, at.Opens.UTC() // an operator may have set others too late
			return nil
		})
		cancel()
		if err != nil {
			return at, err
		}
	}
	return d.step(ctx, driver.DrawStep{Kind: driver.DrawSeed, Seed: d.seed, Beacon: value})
}

// movesAtOnce is how many moves are on their way: each says where its users go, in any
// order. On a busy machine an answer takes longer than the work.
const movesAtOnce = 4

// A beacon is asked for as long as other steps leave time before the opening.
const (
	beaconTimeout = 2 * time.Second
	maxBeacon     = 1024
)

// order gives all users their orders, and ends the draw.
func (d *drawing) order(ctx context.Context, at driver.Drawn) (driver.Drawn, error) {
	var leaves []draw.Leaf
	for len(leaves) < at.Count {
		part, err := d.step(ctx, driver.DrawStep{Kind: driver.DrawLook, From: int64(len(leaves)), Most: driver.MaxLeaves})
		if err == nil && len(part.Leaves) == 0 {
			err = errors.New("queue: the store has lost leaves of a draw")
		}
		if err != nil {
			return at, err
		}
		leaves = append(leaves, part.Leaves...)
	}
	order := draws.NewOrder(at.Seed, at.Beacon, leaves)
	if d.users == nil {
		if err := d.list(ctx); err != nil {
			return at, err
		}
	}
	moves := make([]driver.Admitted, len(d.users))
	for i, u := range d.users {
		moves[i].User = u.User
		// A user that is not among the leaves came back by a ticket since, and goes behind.
		if place, there := order.Place(draws.LeafOf(d.key, u.User)); there {
			moves[i].Order = at.Limit + int64(place)
		}
	}
	d.users = nil // another turn lists those that are left
	slices.SortFunc(moves, func(a, b driver.Admitted) int { return cmp.Compare(uint64(a.Order)-1, uint64(b.Order)-1) })
	steps, bounded := errgroup.WithContext(ctx)
	steps.SetLimit(movesAtOnce)
	for part := range slices.Chunk(moves, driver.MaxMoves) {
		if bounded.Err() != nil {
			break
		}
		steps.Go(func() error {
			_, err := d.step(bounded, driver.DrawStep{Kind: driver.DrawMove, Moves: part})
			return err
		})
	}
	if err := steps.Wait(); err != nil {
		return at, err
	}
	return d.step(ctx, driver.DrawStep{Kind: driver.DrawOpen})
}
