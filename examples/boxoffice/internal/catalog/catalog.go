package catalog

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sqltx"
)

//go:embed sql/catalog.sql
var catalogSQL string

// ErrNoShow is returned for an id that names no show.
var ErrNoShow = errors.New("catalog: no such show")

// Show is a show with its public facts.
type Show struct {
	ID       string
	Title    string
	Comments int64
	Likes    int64
	Views    int64
	Sales    int64 // seats of completed orders, as their consumer counted them
	Seats    Counts
	// How many seats a member may hold at once, and buy.
	MaxHeld, MaxBought int
	Facts
}

// Counts of a show's seats; Available + Held + Sold = Total.
type Counts struct{ Total, Available, Held, Sold int }

func (c *Counts) add(status string, n int) {
	c.Total += n
	switch status {
	case "AVAILABLE":
		c.Available += n
	case "HOLD":
		c.Held += n
	case "SOLD":
		c.Sold += n
	}
}

// Seat is one seat; Status is AVAILABLE, HOLD or SOLD, Price in the smallest unit of
// the show's currency, and Class the one that has this price.
type Seat struct {
	ID     string
	Status string
	Price  int64
	Class  string
}

type statements struct {
	Shows, Seats, Hold, Asked, Keep, Price, Sell, Release string
	Title, SoldOf, AnyAvailable, LockShow, AnyUnsold      string
	Facts, Classes, Performers                            string
}

// Appender writes events in the caller's transaction: the outbox.
type Appender interface {
	Append(ctx context.Context, tx sqltx.Execer, events ...event.Event) error
}

// Pending returns the numbers that are still to be added to the comment counts of
// shows.
type Pending func(ctx context.Context, shows ...string) (map[string]int64, error)

// Mirror is told of the held seats, after the commit that decided about them. It must
// not wait for anything.
type Mirror interface {
	Held(show, reservation string, seats []string)
	Freed(show, reservation string, seats []string)
}

// Catalog reads and moves seats. It is safe for concurrent use.
type Catalog struct {
	store   *store.Store
	outbox  Appender
	sql     statements
	pending Pending // nil for none
	mirror  Mirror  // nil for none
	shared  *shared // nil where no other process reads the same copy
	shows   *snapshot[[]Show]
	known   sync.Map // titles by the ids that were seen; shows do not go away

	mu    sync.Mutex
	seats map[string]*snapshot[[]Seat]

	factsMu sync.Mutex
	factsOf map[string]Facts
	factsAt time.Time
}

// New makes a Catalog on an open store.
func New(s *store.Store, outbox Appender) (*Catalog, error) {
	c := &Catalog{store: s, outbox: outbox, seats: map[string]*snapshot[[]Seat]{}}
	if err := s.Load(catalogSQL, &c.sql); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	c.shows = newSnapshot(c.loadShows)
	return c, nil
}

// SetPending makes the comment counts include the pending ones. It is called before
// the first read.
func (c *Catalog) SetPending(p Pending) { c.pending = p }

// SetMirror makes m the mirror of held seats. It is called before the first hold.
func (c *Catalog) SetMirror(m Mirror) { c.mirror = m }

// Shows lists all shows in their order.
func (c *Catalog) Shows(ctx context.Context) ([]Show, error) { return c.shows.get(ctx) }

// Show returns one show, or ErrNoShow.
func (c *Catalog) Show(ctx context.Context, id string) (Show, error) {
	shows, err := c.shows.get(ctx)
	if err != nil {
		return Show{}, err
	}
	for _, s := range shows {
		if s.ID == id {
			return s, nil
		}
	}
	return Show{}, ErrNoShow
}

// Exists returns nil, or ErrNoShow. It is cheaper than Show.
func (c *Catalog) Exists(ctx context.Context, id string) error {
	if _, ok := c.known.Load(id); ok {
		return nil
	}
	_, err := c.Show(ctx, id)
	return err
}

// Title returns a show's title, or ErrNoShow. Inside a transaction it waits for no
// other reader: it reads an unknown title in tx.
func (c *Catalog) Title(ctx context.Context, tx *sql.Tx, id string) (string, error) {
	if title, ok := c.known.Load(id); ok {
		return title.(string), nil
	}
	var title string
	err := tx.QueryRowContext(ctx, c.sql.Title, id).Scan(&title)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNoShow
	}
	if err != nil {
		return "", fmt.Errorf("catalog: title of %s: %w", id, err)
	}
	c.known.Store(id, title)
	return title, nil
}

// Seats returns a show's seats row by row, or ErrNoShow. The caller must not
// change them.
func (c *Catalog) Seats(ctx context.Context, show string) ([]Seat, error) {
	if err := c.Exists(ctx, show); err != nil {
		return nil, err
	}
	c.mu.Lock()
	plan, ok := c.seats[show]
	if !ok {
		plan = newSnapshot(func(ctx context.Context) ([]Seat, error) { return c.readSeats(ctx, show) })
		c.seats[show] = plan
	}
	c.mu.Unlock()
	return plan.get(ctx)
}

// Evict makes readers of a show look again, once ctx's transaction is committed.
func (c *Catalog) Evict(ctx context.Context, show string) {
	evict := func() {
		c.invalidateShows()
		c.mu.Lock()
		defer c.mu.Unlock()
		if plan := c.seats[show]; plan != nil {
			plan.invalidate()
		}
	}
	if !sqltx.AfterCommit(ctx, evict) {
		evict()
	}
}

// changed makes readers look again. It is called after commits.
func (c *Catalog) changed() {
	c.invalidateShows()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, plan := range c.seats {
		plan.invalidate()
	}
}

// invalidateShows makes readers of the shows look again, in all processes.
func (c *Catalog) invalidateShows() {
	if c.shared != nil {
		c.shared.changed() // first: the next reader must not find the copy
	}
	c.shows.invalidate()
}

func (c *Catalog) loadShows(ctx context.Context) ([]Show, error) {
	if c.shared == nil {
		return c.readShows(ctx)
	}
	shows, err := c.shared.load(ctx, c.readShows)
	for _, s := range shows {
		c.known.Store(s.ID, s.Title)
	}
	return shows, err
}

func (c *Catalog) readShows(ctx context.Context) ([]Show, error) {
	facts, err := c.facts(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.store.Reader().QueryContext(ctx, c.sql.Shows)
	if err != nil {
		return nil, fmt.Errorf("catalog: read shows: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var shows []Show
	for rows.Next() {
		var s Show
		var status string
		var n int
		if err := rows.Scan(&s.ID, &s.Title, &s.Comments, &s.Likes, &s.Views, &s.Sales, &s.MaxHeld, &s.MaxBought, &status, &n); err != nil {
			return nil, fmt.Errorf("catalog: read shows: %w", err)
		}
		if len(shows) == 0 || shows[len(shows)-1].ID != s.ID {
			s.Facts = facts[s.ID]
			shows = append(shows, s)
			c.known.Store(s.ID, s.Title)
		}
		shows[len(shows)-1].Seats.add(status, n)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("catalog: read shows: %w", err)
	}
	c.addPending(ctx, shows)
	return shows, nil
}

// addPending leaves the counts unchanged while the pending ones are not known: they
// are a few seconds old then.
func (c *Catalog) addPending(ctx context.Context, shows []Show) {
	if c.pending == nil {
		return
	}
	ids := make([]string, len(shows))
	for i, s := range shows {
		ids[i] = s.ID
	}
	more, err := c.pending(ctx, ids...)
	if err != nil {
		return
	}
	for i := range shows {
		// An addition may arrive before the one it cancels.
		shows[i].Comments = max(0, shows[i].Comments+more[shows[i].ID])
	}
}

func (c *Catalog) readSeats(ctx context.Context, show string) ([]Seat, error) {
	facts, err := c.facts(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.store.Reader().QueryContext(ctx, c.sql.Seats, show)
	if err != nil {
		return nil, fmt.Errorf("catalog: read the seats of %s: %w", show, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	seats := make([]Seat, 0, store.Rows*store.SeatsPerRow)
	for rows.Next() {
		var s Seat
		if err := rows.Scan(&s.ID, &s.Status, &s.Price); err != nil {
			return nil, fmt.Errorf("catalog: read the seats of %s: %w", show, err)
		}
		s.Class = facts[show].Class(s.Price)
		seats = append(seats, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("catalog: read the seats of %s: %w", show, err)
	}
	return seats, nil
}
