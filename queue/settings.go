package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// Settings keep what operators set for events outside of the store, which may lose
// its data. Package filesettings has a file of them.
type Settings interface {
	// Load returns the setting of an event. The zero Setting is an answer too: nothing
	// was set.
	Load(ctx context.Context, event string) (Setting, error)
	// Save keeps a setting whose Version is one above that of the last, and returns
	// [ErrConflict] for any other.
	Save(ctx context.Context, event string, s Setting) error
}

// Setting has the values that operators have set for an event, and the last of these operators.
type Setting struct {
	Version   int64              `json:"version"` // from 1, one higher with each change; 0: nothing was set
	Threshold *int               `json:"threshold,omitempty"`
	Paused    bool               `json:"paused,omitempty"`
	Opens     time.Time          `json:"opens,omitzero"` // see [Room.OpenAt]
	Draw      *SealedDraw        `json:"draw,omitempty"`
	Shares    map[string]float64 `json:"shares,omitempty"`    // of lanes: see [Room.SetShares]
	Challenge *bool              `json:"challenge,omitempty"` // see [Room.SetChallenge]
	By        string             `json:"by,omitempty"`        // as told by [By]
	Why       string             `json:"why,omitempty"`
	At        time.Time          `json:"at"` // by the clock of the process
}

// ErrConflict is the answer of [Settings] to a setting that does not follow the last
// one: another operator was faster.
var ErrConflict = errors.New("queue: the setting was changed meanwhile")

type byKey struct{}

type operator struct{ who, why string }

// By returns a context for the calls of an operator, which tells [Settings] who
// changes something, and why.
func By(ctx context.Context, who, why string) context.Context {
	return context.WithValue(ctx, byKey{}, operator{who, why})
}

// saveTries bounds how often a change is tried again when others are faster.
const saveTries = 5

// save keeps a change, and returns the setting with it.
func (r *Room) save(ctx context.Context, event string, change func(*Setting) error) (Setting, error) {
	by, _ := ctx.Value(byKey{}).(operator)
	for try := 1; ; try++ {
		s, err := r.cfg.Settings.Load(ctx, event)
		if err != nil {
			return Setting{}, unsaved(err)
		}
		s.Version++
		s.By, s.Why, s.At = by.who, by.why, time.Now().UTC()
		if err := change(&s); err != nil {
			return Setting{}, err
		}
		err = r.cfg.Settings.Save(ctx, event, s)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, ErrConflict) {
			return Setting{}, outage(fmt.Errorf("queue: the settings may not have been changed; ask for the state, and try again: %w", err))
		}
		if try == saveTries {
			return Setting{}, unsaved(err)
		}
	}
}

func unsaved(cause error) error {
	return outage(fmt.Errorf("queue: the settings cannot be changed, and nothing was: %w", cause))
}

// copyOf is the change that brings a setting into the store.
func copyOf(s Setting) driver.Change {
	c := driver.Change{Settings: &s.Version, Threshold: s.Threshold, Challenge: s.Challenge}
	if s.Version > 0 {
		c.Paused, c.Opens, c.Shares = &s.Paused, &s.Opens, s.Shares
		if c.Shares == nil {
			c.Shares = map[string]float64{} // those of the Config hold again
		}
		c.Opened = s.Draw != nil && len(s.Draw.Root) > 0
	}
	return c
}

// askAgain is how long a closed room waits before its settings are asked for again.
const askAgain = time.Second

// lacks says what a room waits for before it lets users in: its data is new. Of a room that
// is not known, nothing is.
func (l *line) lacks(s *State) (settings, stock bool) {
	return l.room.cfg.Settings != nil && (s == nil || s.Closed), l.room.cfg.Stock != nil && (s == nil || s.Stock.At.IsZero())
}

// open asks for what the room lacks, and brings it into the store. The caller holds
// l.asking. Callers that waited for it in vain do not ask in their turn, or a crowd would
// wait for one timeout after another.
func (l *line) open(ctx context.Context, s *State) {
	settings, stock := l.lacks(s)
	if settings || stock {
		defer func() { l.asked.Store(int64(l.room.now() + askAgain)) }()
	}
	if settings {
		l.compare(ctx, s)
	}
	if stock {
		l.restock(ctx)
	}
}

// follow opens a room that an answer of the store shows to be closed. One caller at a time
// does so, and the others go on.
func (l *line) follow(ctx context.Context, s *State) {
	if settings, stock := l.lacks(s); !settings && !stock || int64(l.room.now()) < l.asked.Load() {
		return
	}
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
		l.open(ctx, s)
	default:
	}
}

// begin opens a room before the first visits of this process, so that no visitor of a new
// room finds it closed: one opens it, and the others wait.
func (l *line) begin(ctx context.Context) {
	if l.begun.Load() {
		return
	}
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-ctx.Done():
		return
	}
	if l.begun.Load() || int64(l.room.now()) < l.asked.Load() {
		return
	}
	l.open(ctx, l.state.Load())
	l.begun.Store(l.state.Load() != nil)
}

// compare brings the settings in where the store does not know them: the room is new, or the
// process that saved a change ended, or the store was away. The state is what is known of the
// room, and nil if nothing is.
func (l *line) compare(ctx context.Context, known *State) {
	if l.room.cfg.Settings == nil {
		return
	}
	ctx, cancel := l.room.bounded(ctx)
	defer cancel()
	s, err := l.room.cfg.Settings.Load(ctx, l.event)
	if err == nil && (known == nil || known.Closed || s.Version > known.Settings) {
		if _, err = l.change(ctx, copyOf(s)); err == nil {
			l.due.Store(0)
		}
	}
	l.room.turned(ctx, l.unset.Swap(err != nil), err,
		"queue: the settings of a room cannot be brought in; if the room has lost its data, no user enters meanwhile",
		"queue: the settings of a room are known again", slog.String("event", l.event))
}
