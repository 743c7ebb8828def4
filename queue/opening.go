package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

// SealedDraw is what [Settings] keep of a draw.
type SealedDraw struct {
	Commitment draw.Hex `json:"commitment"`
	Beacon     string   `json:"beacon,omitempty"` // its name
	Secret     []byte   `json:"secret"`           // the seed and the room's key, encrypted
	Root       draw.Hex `json:"root,omitempty"`   // once the leaves are published
}

// early says that the room has not opened yet.
func early(s *State) bool { return !s.Opens.IsZero() }

// OpenAt has a room open at a time, with a draw for the users that come before: see
// docs/on-sale.md. The beacon names a value that is known only after the room freezes
// and that no operator controls; Config.Beacon gets it. Empty: none. The zero time
// takes an opening back. The opening can be moved until the room freezes.
func (r *Room) OpenAt(ctx context.Context, event string, at time.Time, beacon string) (State, error) {
	_, can := r.store.(driver.Drawer)
	switch {
	case r.cfg.Settings == nil:
		return State{}, invalid("an opening needs Config.Settings: the seed of its draw lies outside of the store")
	case !can:
		return State{}, invalid("the store cannot open rooms at a time; use memqueue or redisqueue")
	case beacon != "" && r.cfg.Beacon == nil:
		return State{}, invalid("the beacon %.80q is named, and Config.Beacon is nil; give a function that gets its value", beacon)
	}
	now, err := r.State(ctx, event)
	if err != nil {
		return State{}, err
	}
	switch {
	case now.Phase != driver.Gathering:
		return State{}, invalid("the room has frozen or opened already; clear it to set another opening")
	case now.Gated:
		return State{}, invalid("a front gate is on, and its positions are the order; switch it off to open by a draw")
	case !at.IsZero() && at.Sub(now.Now) < 2*driver.FreezeBefore:
		return State{}, invalid("the opening is at %s; give a time at least %s from now", at.Format(time.RFC3339), 2*driver.FreezeBefore)
	}
	state, err := r.changeOpening(ctx, event, driver.Change{}, func(s *Setting) error {
		if s.Draw != nil && len(s.Draw.Root) > 0 {
			return errFrozen
		}
		if s.Opens = at.UTC().Truncate(time.Millisecond); at.IsZero() {
			return nil // the seed stays: the room may freeze before this reaches it
		}
		var drawn SealedDraw
		if s.Draw != nil { // the commitment of an opening that is moved stays
			drawn = *s.Draw // a copy: Config.Settings may keep what it has loaded
		} else {
			secret := make([]byte, 2*draws.Size)
			_, _ = rand.Read(secret) // it never fails
			c := draws.Commitment(secret[:draws.Size])
			drawn.Commitment, drawn.Secret = c[:], r.secrets.Seal(secret, event)
		}
		drawn.Beacon = beacon
		s.Draw = &drawn
		return nil
	})
	if err == nil && state.Phase != driver.Gathering {
		return State{}, errFrozen
	}
	return state, err
}

var errFrozen = invalid("the room froze before the change reached it, and opens as it was to; clear it to set another opening")

// settingOf is the setting of an event, at most a second old.
func (l *line) settingOf(ctx context.Context) (Setting, error) {
	if known := l.setting.Load(); known.usable(l.room.now()) {
		return known.Setting, known.err
	}
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-ctx.Done():
		return Setting{}, fault.MarkInfrastructure(fmt.Errorf("queue: ask for the settings: %w", ctx.Err()))
	}
	if known := l.setting.Load(); known.usable(l.room.now()) {
		return known.Setting, known.err
	}
	ctx, cancel := l.room.bounded(ctx)
	defer cancel()
	known := &knownSetting{at: l.room.now()}
	s, err := l.room.cfg.Settings.Load(ctx, l.event)
	if known.Setting = s; err != nil {
		// The callers that wait for the answer get this one, or each would wait for a timeout of its own.
		known = &knownSetting{at: l.room.now(), err: fault.MarkInfrastructure(fmt.Errorf("queue: ask for the settings: %w", err))}
	}
	l.setting.Store(known)
	return known.Setting, known.err
}

// knownSetting is the last answer of Config.Settings, or its failure.
type knownSetting struct {
	Setting
	err error
	at  time.Duration // on the room's clock
}

func (k *knownSetting) usable(now time.Duration) bool { return k != nil && now-k.at < time.Second }

// ErrNoDraw says that an event has no opening with a draw.
var ErrNoDraw = errors.New("queue: the event has no draw")

// Published is what is published of an event's draw so far; [ErrNoDraw] without one.
func (r *Room) Published(ctx context.Context, event string) (draw.Published, error) {
	l, s, err := r.drawOf(ctx, event)
	if err != nil {
		return draw.Published{}, err
	}
	p := draw.Published{Event: event, Opens: s.Opens, Commitment: s.Draw.Commitment, Beacon: s.Draw.Beacon}
	d, err := l.draw(ctx, driver.DrawStep{})
	if err != nil {
		return draw.Published{}, refused(ctx, err)
	}
	if d.Phase >= driver.Rooted {
		p.Count, p.Root, p.Seed, p.Value = d.Count, d.Root, d.Seed, d.Beacon
	}
	return p, nil
}

// Leaves calls do with the leaves of an event's draw, in order and in parts.
func (r *Room) Leaves(ctx context.Context, event string, do func([]draw.Leaf) error) error {
	l, _, err := r.drawOf(ctx, event)
	if err != nil {
		return err
	}
	for from := int64(0); ; {
		d, err := l.draw(ctx, driver.DrawStep{From: from, Most: driver.MaxLeaves})
		if err != nil {
			return refused(ctx, err)
		}
		switch {
		case len(d.Leaves) > 0:
		case from > 0 && from != int64(d.Count):
			return fmt.Errorf("queue: %d of the leaves were read, and the room was cleared or has lost its data: %w", from, ErrNoDraw)
		default:
			return nil
		}
		if err := do(d.Leaves); err != nil {
			return err
		}
		from += int64(len(d.Leaves))
	}
}

// Receipt is the leaf that stands for a user in an event's draw, whether or not the user
// takes part.
func (r *Room) Receipt(ctx context.Context, event, user string) (draw.Leaf, error) {
	if err := checkUser(user); err != nil {
		return draw.Leaf{}, err
	}
	_, s, err := r.drawOf(ctx, event)
	if err != nil {
		return draw.Leaf{}, err
	}
	_, key, err := r.opened(event, s)
	if err != nil {
		return draw.Leaf{}, err
	}
	return draws.LeafOf(key, user), nil
}

func (r *Room) drawOf(ctx context.Context, event string) (*line, Setting, error) {
	if err := checkEvent(event); err != nil {
		return nil, Setting{}, err
	}
	if r.cfg.Settings == nil {
		return nil, Setting{}, ErrNoDraw
	}
	l := r.line(event, r.now())
	s, err := l.settingOf(ctx)
	if err == nil && (s.Draw == nil || s.Opens.IsZero() && len(s.Draw.Root) == 0) {
		err = ErrNoDraw
	}
	return l, s, err
}

// opened is the seed of a draw and the room's key.
func (r *Room) opened(event string, s Setting) (seed, key []byte, err error) {
	secret, err := r.secrets.Open(s.Draw.Secret, event)
	if err == nil && len(secret) != 2*draws.Size {
		err = fmt.Errorf("it has %d bytes", len(secret))
	}
	if err != nil {
		return nil, nil, fault.MarkPermanent(fmt.Errorf("queue: the seed of %s cannot be read; keep the secret that was the first of the ring when its opening was set: %w", event, err))
	}
	return secret[:draws.Size], secret[draws.Size:], nil
}

// draw makes a step.
func (l *line) draw(ctx context.Context, step driver.DrawStep) (d driver.Drawn, err error) {
	drawer, can := l.room.store.(driver.Drawer)
	if !can {
		return driver.Drawn{}, ErrNoDraw
	}
	d, err = askFor(ctx, l, func(ctx context.Context) (driver.Drawn, error) {
		return drawer.Draw(ctx, l.event, l.room.rules, step)
	})
	if err == nil {
		l.learn(d.State)
	}
	return d, err
}

var errNotHeld = errors.New("queue: another process draws")

// openSpread bounds how far after the opening the polls of a crowd are spread.
const openSpread = 10 * time.Second

// placeEarly is the answer to a user of a room that has not opened: no position, and the
// next poll is at the usual interval of so long a line, or soon after the opening.
func (l *line) placeEarly(p Place, s *State, age time.Duration) Place {
	p.Opens = max(time.Millisecond, s.Opens.Sub(s.Now)-age)
	p.Keep = l.room.cfg.Seen
	chance := l.room.cfg.Random()
	p.NextPoll = nextPoll(l.room.cfg.Intervals, max(1, s.Waiting), chance)
	if p.Opens < p.NextPoll {
		spread := min(openSpread, p.NextPoll)
		p.NextPoll = p.Opens + time.Duration(chance*float64(spread))
	}
	return p
}
