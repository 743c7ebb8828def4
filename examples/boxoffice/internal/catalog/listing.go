package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sqltx"
)

// Pending returns the numbers that are still to be added to the comment counts of
// shows.
type Pending func(ctx context.Context, shows ...string) (map[string]int64, error)

// Listing reads the shows and their seats, and keeps what was read.
type Listing struct {
	store   *store.Store
	sql     *statements
	pending Pending // nil for none
	shared  *shared // nil where no other process reads the same copy
	shows   *snapshot[[]Show]
	facts   *facts
	known   sync.Map // titles by the ids that were seen; shows do not go away

	mu    sync.Mutex
	seats map[string]*snapshot[[]Seat]
}

func newListing(s *store.Store, sql *statements) *Listing {
	l := &Listing{store: s, sql: sql, facts: &facts{store: s, sql: sql}, seats: map[string]*snapshot[[]Seat]{}}
	l.shows = newSnapshot(l.loadShows)
	return l
}

// SetPending makes the comment counts include the pending ones. It is called before
// the first read.
func (l *Listing) SetPending(p Pending) { l.pending = p }

// Shows lists all shows in their order.
func (l *Listing) Shows(ctx context.Context) ([]Show, error) { return l.shows.get(ctx) }

// Show returns one show, or ErrNoShow.
func (l *Listing) Show(ctx context.Context, id string) (Show, error) {
	shows, err := l.shows.get(ctx)
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
func (l *Listing) Exists(ctx context.Context, id string) error {
	if _, ok := l.known.Load(id); ok {
		return nil
	}
	_, err := l.Show(ctx, id)
	return err
}

// Title returns a show's title, or ErrNoShow. Inside a transaction it waits for no
// other reader: it reads an unknown title in tx.
func (l *Listing) Title(ctx context.Context, tx *sql.Tx, id string) (string, error) {
	if title, ok := l.known.Load(id); ok {
		return title.(string), nil
	}
	var title string
	err := tx.QueryRowContext(ctx, l.sql.Title, id).Scan(&title)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNoShow
	}
	if err != nil {
		return "", fmt.Errorf("catalog: title of %s: %w", id, err)
	}
	l.known.Store(id, title)
	return title, nil
}

// Seats returns a show's seats row by row, or ErrNoShow. The caller must not
// change them.
func (l *Listing) Seats(ctx context.Context, show string) ([]Seat, error) {
	if err := l.Exists(ctx, show); err != nil {
		return nil, err
	}
	l.mu.Lock()
	plan, ok := l.seats[show]
	if !ok {
		plan = newSnapshot(func(ctx context.Context) ([]Seat, error) { return l.readSeats(ctx, show) })
		l.seats[show] = plan
	}
	l.mu.Unlock()
	return plan.get(ctx)
}

// Evict makes readers look again, once ctx's transaction is committed: those of the shows
// in all processes, and in this one those of the show's seats, or of all seats when it is "".
func (l *Listing) Evict(ctx context.Context, show string) {
	evict := func() {
		if l.shared != nil {
			l.shared.changed() // first: the next reader must not find the copy
		}
		l.shows.invalidate()
		l.mu.Lock()
		defer l.mu.Unlock()
		for id, plan := range l.seats {
			if show == "" || id == show {
				plan.invalidate()
			}
		}
	}
	if !sqltx.AfterCommit(ctx, evict) {
		evict() // no commit to wait for; readers are at most maxAge behind
	}
}

func (l *Listing) loadShows(ctx context.Context) ([]Show, error) {
	if l.shared == nil {
		return l.readShows(ctx)
	}
	shows, err := l.shared.load(ctx, l.readShows)
	for _, s := range shows {
		l.known.Store(s.ID, s.Title)
	}
	return shows, err
}

func (l *Listing) readShows(ctx context.Context) ([]Show, error) {
	facts, err := l.facts.get(ctx)
	if err != nil {
		return nil, err
	}
	var shows []Show
	err = store.Each(ctx, l.store.Reader(), l.sql.Shows, nil, func(row *sql.Rows) error {
		var s Show
		var status string
		var n int
		if err := row.Scan(&s.ID, &s.Title, &s.Comments, &s.Likes, &s.Views, &s.Sales, &s.MaxHeld, &s.MaxBought, &status, &n); err != nil {
			return err
		}
		if len(shows) == 0 || shows[len(shows)-1].ID != s.ID {
			s.Facts = facts[s.ID]
			shows = append(shows, s)
			l.known.Store(s.ID, s.Title)
		}
		shows[len(shows)-1].Seats.add(status, n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("catalog: read shows: %w", err)
	}
	l.addPending(ctx, shows)
	return shows, nil
}

// addPending leaves the counts unchanged while the pending ones are not known: they
// are a few seconds old then.
func (l *Listing) addPending(ctx context.Context, shows []Show) {
	if l.pending == nil {
		return
	}
	ids := make([]string, len(shows))
	for i, s := range shows {
		ids[i] = s.ID
	}
	more, err := l.pending(ctx, ids...)
	if err != nil {
		return
	}
	for i := range shows {
		// An addition may arrive before the one it cancels.
		shows[i].Comments = max(0, shows[i].Comments+more[shows[i].ID])
	}
}

func (l *Listing) readSeats(ctx context.Context, show string) ([]Seat, error) {
	facts, err := l.facts.get(ctx)
	if err != nil {
		return nil, err
	}
	seats, err := store.List(ctx, l.store.Reader(), l.sql.Seats, []any{show}, func(row *sql.Rows) (s Seat, err error) {
		err = row.Scan(&s.ID, &s.Status, &s.Price)
		s.Class = facts[show].Class(s.Price)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("catalog: read the seats of %s: %w", show, err)
	}
	return seats, nil
}
