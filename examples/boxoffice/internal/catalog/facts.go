package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
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

// facts are the facts of all shows, by their ids. A reader that finds them too old
// reads them again; loads are one at a time, as those of the shows are (see snapshot).
func (c *Catalog) facts(ctx context.Context) (map[string]Facts, error) {
	c.factsMu.Lock()
	defer c.factsMu.Unlock()
	if c.factsAt.IsZero() || time.Since(c.factsAt) > factsMaxAge {
		all, err := c.readFacts(ctx)
		if err != nil {
			return nil, fmt.Errorf("catalog: read the facts of shows: %w", err)
		}
		c.factsOf, c.factsAt = all, time.Now()
	}
	return c.factsOf, nil
}

func (c *Catalog) readFacts(ctx context.Context) (map[string]Facts, error) {
	all := map[string]Facts{}
	err := c.each(ctx, c.sql.Facts, func(rows *sql.Rows) error {
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
	err = c.each(ctx, c.sql.Classes, func(rows *sql.Rows) error {
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
	return all, c.each(ctx, c.sql.Performers, func(rows *sql.Rows) error {
		var id string
		var p Performer
		err := rows.Scan(&id, &p.ArtistID, &p.Name)
		f := all[id]
		f.Performers = append(f.Performers, p)
		all[id] = f
		return err
	})
}

// each gives each row of a query to fn.
func (c *Catalog) each(ctx context.Context, query string, fn func(rows *sql.Rows) error) error {
	rows, err := c.store.Reader().QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
