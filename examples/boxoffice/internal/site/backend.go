package site

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound is returned by [Backend.Show] for an id that names no show. The
// site answers it with a 404 page.
var ErrNotFound = errors.New("site: no such show")

// Show has the public facts of a show.
type Show struct {
	ID    string
	Title string
	Seats Seats

	// Unknown facts are zero, and not on the page.
	StartsAt, DoorsAt time.Time
	Venue             Venue
	Currency          string // of the prices: ISO 4217
	Prices            []Price
	Performers        []Performer
}

// Venue is where a show is. Its dates are shown by the clock of TimeZone, such as
// Asia/Seoul.
type Venue struct{ Name, City, TimeZone string }

// Price of the seats of a class, in the smallest unit of the currency.
type Price struct {
	Class string
	Price int64
}

// Performer is an artist of the mirror. One without a name is shown by the number.
type Performer struct{ ArtistID, Name string }

// Seats counts a show's seats by state; Available + Held + Sold = Total.
type Seats struct {
	Total, Available, Held, Sold int
}

// Backend has the data for rendering a page on the server. Its methods are called
// once per page view and should answer within a few milliseconds.
type Backend interface {
	// Shows lists all shows in the order in which the site presents them.
	Shows(ctx context.Context) ([]Show, error)
	// Show returns one show, or an error that wraps ErrNotFound.
	Show(ctx context.Context, id string) (Show, error)
}
