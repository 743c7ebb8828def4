package queue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// Config is the configuration of a [Room]. The zero value works. All processes
// that share a store should have the same.
type Config struct {
	// Threshold is the number of active users of an event whose operator has set
	// none; 1000 by default.
	Threshold int
	// Active is how long an admitted user has, from the first poll; 600 s by
	// default.
	Active time.Duration
	// Seen is how long a silent user, without polls, keeps a place; 600 s by
	// default. At least 150 s, since hidden tabs poll once a minute, and three
	// times the longest interval.
	Seen time.Duration
	// NoShow is how long a user whose turn has come may be silent; 150 s by default.
	// No place is reserved in that time: others may enter, and the user's next poll goes
	// before all users behind.
	NoShow time.Duration
	// Keep is how long a user that was silent for longer than Seen, or came later than
	// NoShow, may come back to the place in the ticket, from about the last poll on; 1 h
	// by default, and at least Seen. Each place is kept once. Its owner is a returner
	// then, and takes at most every fourth turn; see "Silence" in the package's doc.
	Keep time.Duration
	// Lanes are parts of the users with a share of the turns, such as members: see
	// Visitor.Lane. None by default.
	Lanes []Lane
	// Tick and Batch bound the pace of admission from the line: Batch in each Tick
	// and event, over all processes; 1 s and 100 by default. A line that begins is
	// noticed within a second by processes that do not serve its visitors.
	Tick  time.Duration
	Batch int
	// SweepEvery is the interval between removals of silent users; 30 s by default.
	SweepEvery time.Duration
	// Settle is how long a room whose store lost its data collects users with a
	// ticket before it admits; 70 s by default, which is the longest interval with
	// its jitter and a little more.
	Settle time.Duration
	// Intervals are the poll intervals by position; by default 3 s outside the line, 1 s up to
	// position 1,000, 5 s up to 5,000, 10 s up to 10,000, 30 s up to 100,000 and 60 s behind.
	// Shorter ones cost polls.
	Intervals []Interval
	// Refresh is the age of a snapshot of the line at which a poll asks the store
	// for the changes; 1 s by default. It costs a call of the store for each event
	// and process.
	Refresh time.Duration
	// MaxStale is the age up to which a snapshot answers polls during an outage of
	// the store; 3 s by default.
	MaxStale time.Duration
	// Timeout bounds a call of the store; 1 s by default. A visitor is answered
	// within two of them: the call in flight, and its own.
	Timeout time.Duration
	// Concurrency is the number of store calls in flight of [Room.Run], over all events; 64 by
	// default. It takes that many slow calls to hold up the others, for Timeout.
	Concurrency int
	// MaxEvents is the number of events for which a process keeps a snapshot and
	// counts; 10,000 by default. Beyond it the events that were not used for
	// longest are forgotten, which costs a call of the store when they are used
	// again: attackers may make up event ids.
	MaxEvents int
	// Notify gets a Notice of each place that a visitor of this process took, from the
	// line or at once. It runs in the goroutine that made the admission and delays that
	// goroutine, so it should only store the notice. A panic in Notify is caught.
	// Package queuenotice has one for publishers. There are no notices when nil, the
	// default.
	Notify func(Notice)
	// NotifyTurn is the same for each turn that this process's admitter gives, in their
	// order: the user's next poll, within NoShow, takes a place, or the next free one.
	NotifyTurn func(Notice)
	// Settings keep what operators set, outside of the store: see [Settings]. Operators'
	// calls then save first, and a room whose store has lost its data admits no user
	// until the settings have answered. They are asked before the first visit for
	// an event that is new to the process, and twice a minute by an admitter. nil, the
	// default: the store alone has threshold and pause, and they are lost with its data.
	Settings Settings
	// Beacon gets the value of a beacon that [Room.OpenAt] has named, when the room has
	// frozen: such as the randomness of a round of drand, over HTTPS, checked with drand's
	// public key. One process asks it, for 2 s, again in each tick until it answers. Until
	// then the room stays closed. nil: openings name no beacon.
	Beacon func(ctx context.Context, name string) ([]byte, error)
	// Stock is how many users an event can still serve, those inside included: usually its
	// free seats, and half of them where users buy two each. No more users are inside, and
	// no user enters while it is 0. Answer MaxStock for an event without a limit. An admitter
	// asks for it in each Tick, so it should cost little: one call at a time and event, which
	// has to end with its context, after Config.Timeout. The package's text says what its
	// failures do. nil, the default: the threshold alone counts.
	Stock func(ctx context.Context, event string) (int, error)
	// Random is a random number in [0, 1) for the jitter; math/rand/v2's by default.
	Random func() float64
	// Logger gets the failures that cannot be returned; slog.Default() when nil.
	Logger *slog.Logger
}

// leastSeen is the least Config.Seen: two and a half polls of a hidden tab.
const leastSeen = 150 * time.Second

func (c Config) withDefaults() Config {
	c.Threshold = cmp.Or(c.Threshold, 1000)
	c.Active = cmp.Or(c.Active, 600*time.Second)
	c.Seen = cmp.Or(c.Seen, 600*time.Second)
	c.NoShow = cmp.Or(c.NoShow, 150*time.Second)
	c.Keep = cmp.Or(c.Keep, max(time.Hour, c.Seen))
	c.Tick = cmp.Or(c.Tick, time.Second)
	c.Batch = cmp.Or(c.Batch, 100)
	c.SweepEvery = cmp.Or(c.SweepEvery, 30*time.Second)
	c.Settle = cmp.Or(c.Settle, 70*time.Second)
	c.Refresh = cmp.Or(c.Refresh, time.Second)
	c.MaxStale = cmp.Or(c.MaxStale, 3*time.Second)
	c.Timeout = cmp.Or(c.Timeout, time.Second)
	c.MaxEvents = cmp.Or(c.MaxEvents, 10_000)
	c.Concurrency = cmp.Or(c.Concurrency, 64)
	if c.Intervals = slices.Clone(c.Intervals); len(c.Intervals) == 0 {
		c.Intervals = defaultIntervals()
	}
	c.Lanes = slices.Clone(c.Lanes)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c
}

// validate checks a config with its defaults.
func (c Config) validate() error {
	for _, f := range [...]struct {
		name         string
		value, least time.Duration
	}{
		{"Active", c.Active, time.Second}, {"NoShow", c.NoShow, time.Second}, {"Tick", c.Tick, time.Millisecond},
		{"SweepEvery", c.SweepEvery, time.Second}, {"Settle", c.Settle, time.Millisecond},
		{"Refresh", c.Refresh, time.Millisecond}, {"Timeout", c.Timeout, time.Millisecond},
	} {
		if f.value < f.least {
			return fmt.Errorf("queue: Config.%s is %s; give at least %s, or 0 for the default", f.name, f.value, f.least)
		}
	}
	if err := checkIntervals(c.Intervals); err != nil {
		return err
	}
	if err := checkLanes(c.Lanes); err != nil {
		return err
	}
	switch least := max(leastSeen, 3*longest(c.Intervals)); {
	case c.Threshold < 0:
		return fmt.Errorf("queue: Config.Threshold is %d; give at least 1, or 0 for 1000; to let nobody in, pause the room or set the event's threshold to 0", c.Threshold)
	case c.Batch < 0:
		return fmt.Errorf("queue: Config.Batch is %d; give at least 1, or 0 for 100", c.Batch)
	case c.Concurrency < 0:
		return fmt.Errorf("queue: Config.Concurrency is %d; give at least 1, or 0 for 64", c.Concurrency)
	case c.MaxEvents < 0:
		return fmt.Errorf("queue: Config.MaxEvents is %d; give at least 1, or 0 for 10,000", c.MaxEvents)
	case c.MaxStale < c.Refresh:
		return fmt.Errorf("queue: Config.MaxStale is %s, below Config.Refresh, %s; raise it, or polls would all cost a call of the store", c.MaxStale, c.Refresh)
	case c.Keep < c.Seen:
		return fmt.Errorf("queue: Config.Keep is %s, below Config.Seen, %s; raise it, or give 0 for the default", c.Keep, c.Seen)
	case c.Seen < least:
		return fmt.Errorf("queue: Config.Seen is %s; give at least %s, which is three of the longest poll intervals with their jitter and no less than %s", c.Seen, least, leastSeen)
	}
	return nil
}

func (c Config) rules() driver.Rules {
	return driver.Rules{
		Threshold: c.Threshold, Active: c.Active, Seen: c.Seen, NoShow: c.NoShow, Tick: c.Tick, Batch: c.Batch,
		SweepEvery: c.SweepEvery, Settle: c.Settle, Turn: c.turn(), Closed: c.Settings != nil, Stocked: c.Stock != nil,
		Keep: c.Keep, Lanes: c.Lanes,
	}
}

// turn is how long after a turn the store hears of its user at the latest, if the user
// polls as told: one poll may be answered by a snapshot that is older than the turn.
// The intervals that count are those of positions within reach of the batch.
func (c Config) turn() time.Duration {
	poll, from := time.Duration(0), 1
	for _, i := range c.Intervals {
		if i.UpTo < 1 {
			continue
		}
		if from == 1 || float64(from) <= float64(c.Batch)*float64(i.Every)/float64(c.Tick) {
			poll = max(poll, i.Every+time.Duration(jitter*float64(i.Every)))
		}
		from = i.UpTo + 1
	}
	return poll + c.Refresh + max(c.Tick, time.Second)
}
