package catalog

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/catalog.sql
var catalogSQL string

// ErrNoShow is returned for an id that names no show.
var ErrNoShow = errors.New("catalog: no such show")

// Show is a show as everybody sees it.
type Show struct {
	ID       string
	Title    string
	Comments int64
	Likes    int64
	Views    int64
	Seats    Counts
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

// Seat is one seat; Status is AVAILABLE, HOLD or SOLD, Price in won.
type Seat struct {
	ID     string
	Status string
	Price  int64
}

type statements struct {
	Shows, Seats, Hold, Asked, Keep, Price, Sell, Release string
}

// Catalog reads and moves seats. It is safe for concurrent use.
type Catalog struct {
	store *store.Store
	sql   statements
	shows *snapshot[[]Show]
	known sync.Map // ids that were seen; shows do not go away

	mu    sync.Mutex
	seats map[string]*snapshot[[]Seat]
}

// New makes a Catalog on an open store.
func New(s *store.Store) (*Catalog, error) {
	c := &Catalog{store: s, seats: map[string]*snapshot[[]Seat]{}}
	if err := s.Load(catalogSQL, &c.sql); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	c.shows = newSnapshot(c.readShows)
	return c, nil
}

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

// changed makes readers look again. It is called after commits.
func (c *Catalog) changed() {
	c.shows.invalidate()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, plan := range c.seats {
		plan.invalidate()
	}
}

func (c *Catalog) readShows(ctx context.Context) ([]Show, error) {
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
		if err := rows.Scan(&s.ID, &s.Title, &s.Comments, &s.Likes, &s.Views, &status, &n); err != nil {
			return nil, fmt.Errorf("catalog: read shows: %w", err)
		}
		if len(shows) == 0 || shows[len(shows)-1].ID != s.ID {
			shows = append(shows, s)
			c.known.Store(s.ID, true)
		}
		shows[len(shows)-1].Seats.add(status, n)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("catalog: read shows: %w", err)
	}
	return shows, nil
}

func (c *Catalog) readSeats(ctx context.Context, show string) ([]Seat, error) {
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
		seats = append(seats, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("catalog: read the seats of %s: %w", show, err)
	}
	return seats, nil
}
