package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Facts are the facts of a show before its first seat is sold. An unknown fact is
// zero.
type Facts struct {
	StartsAt, DoorsAt time.Time
	Venue             Venue
	Currency          string  // of all its prices: ISO 4217
	Prices            []Price // the highest first
	Performers        []Performer
}

// Venue is where a show is.
type Venue struct {
	Name, City string
	TimeZone   string // such as Asia/Seoul
}

// Price is the price of a seat of a class, in the smallest unit of the show's
// currency. A seat belongs to the class of its price.
type Price struct {
	Class string
	Price int64
}

// Performer is an artist of the show. Name is empty until the artist is mirrored.
type Performer struct{ ArtistID, Name string }

// Class of a seat by its price; "" for none.
func (f Facts) Class(price int64) string {
	for _, p := range f.Prices {
		if p.Price == price {
			return p.Class
		}
	}
	return ""
}

// factsMaxAge is how old facts may be. They change seldom, and counts of seats are
// read up to fifty times a second.
const factsMaxAge = 30 * time.Second

// facts keeps the facts of all shows.
type facts struct {
	store *store.Store
	sql   *statements

	mu sync.Mutex
	of map[string]Facts // by the shows' ids
	at time.Time
}

// get returns the facts of all shows, by their ids. A reader that finds them too old
// reads them again; loads are one at a time, as those of the shows are (see snapshot).
func (k *facts) get(ctx context.Context) (map[string]Facts, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || time.Since(k.at) > factsMaxAge {
		all, err := k.read(ctx)
		if err != nil {
			return nil, fmt.Errorf("catalog: read the facts of shows: %w", err)
		}
		k.of, k.at = all, time.Now()
	}
	return k.of, nil
}

func (k *facts) read(ctx context.Context) (map[string]Facts, error) {
	all := map[string]Facts{}
	err := store.Each(ctx, k.store.Reader(), k.sql.Facts, nil, func(rows *sql.Rows) error {
		var id string
		var f Facts
		var doors, starts int64
		err := rows.Scan(&id, &f.Venue.Name, &f.Venue.City, &f.Venue.TimeZone, &f.Currency, &doors, &starts)
		if starts > 0 {
			f.StartsAt = events.Time(starts)
		}
		if doors > 0 {
			f.DoorsAt = events.Time(doors)
		}
		all[id] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	err = store.Each(ctx, k.store.Reader(), k.sql.Classes, nil, func(rows *sql.Rows) error {
		var id string
		var p Price
		err := rows.Scan(&id, &p.Class, &p.Price)
		f := all[id]
		f.Prices = append(f.Prices, p)
		all[id] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, store.Each(ctx, k.store.Reader(), k.sql.Performers, nil, func(rows *sql.Rows) error {
		var id string
		var p Performer
		err := rows.Scan(&id, &p.ArtistID, &p.Name)
		f := all[id]
		f.Performers = append(f.Performers, p)
		all[id] = f
		return err
	})
}
