package api

import (
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

type showJSON struct {
	ID           string     `json:"id"`
	Title        string     `json:"title"`
	CommentCount int64      `json:"commentCount"`
	LikeCount    int64      `json:"likeCount"`
	ViewCount    int64      `json:"viewCount"`
	SalesCount   int64      `json:"salesCount"`
	Seats        countsJSON `json:"seats"`
	Limits       limitsJSON `json:"limits"`

	StartsAt   *time.Time      `json:"startsAt"` // null while it is not known, as the next two
	DoorsAt    *time.Time      `json:"doorsAt"`
	Venue      *venueJSON      `json:"venue"`
	Currency   string          `json:"currency"`
	Prices     []priceJSON     `json:"prices"` // the highest first
	Performers []performerJSON `json:"performers"`
}

// limitsJSON is how many seats of a show a member may have.
type limitsJSON struct {
	Held   int `json:"held"`   // at once
	Bought int `json:"bought"` // with those that are held
}

type venueJSON struct {
	Name     string `json:"name"`
	City     string `json:"city"`
	TimeZone string `json:"timeZone"`
}

type priceJSON struct {
	Class string `json:"class"`
	Price int64  `json:"price"` // in the smallest unit of the currency
}

type performerJSON struct {
	ID   string `json:"id"`   // of the artist
	Name string `json:"name"` // empty until the artist is mirrored
}

type countsJSON struct {
	Total     int `json:"total"`
	Available int `json:"available"`
	Held      int `json:"held"`
	Sold      int `json:"sold"`
}

func presentShow(s catalog.Show) showJSON {
	out := showJSON{
		ID: s.ID, Title: s.Title, CommentCount: s.Comments, LikeCount: s.Likes, ViewCount: s.Views, SalesCount: s.Sales,
		Seats: countsJSON{s.Seats.Total, s.Seats.Available, s.Seats.Held, s.Seats.Sold}, Limits: limitsJSON{s.MaxHeld, s.MaxBought},

		StartsAt: moment(s.StartsAt), DoorsAt: moment(s.DoorsAt), Currency: s.Currency,
		Prices:     each(s.Prices, func(p catalog.Price) priceJSON { return priceJSON{p.Class, p.Price} }),
		Performers: each(s.Performers, func(p catalog.Performer) performerJSON { return performerJSON{p.ArtistID, p.Name} }),
	}
	if s.Venue.Name != "" {
		out.Venue = &venueJSON{s.Venue.Name, s.Venue.City, s.Venue.TimeZone}
	}
	return out
}

// showRoutes are the shows.
type showRoutes struct{ catalog *catalog.Catalog }

func (s showRoutes) mount(g *guard) {
	g.public("GET /api/shows", s.shows)
	g.public("GET /api/shows/{id}", s.show)
}

func (s showRoutes) shows(w http.ResponseWriter, r *http.Request) error {
	shows, err := s.catalog.Shows(r.Context())
	return reply(w, http.StatusOK, each(shows, presentShow), err)
}

func (s showRoutes) show(w http.ResponseWriter, r *http.Request) error {
	show, err := s.catalog.Show(r.Context(), r.PathValue("id"))
	return reply(w, http.StatusOK, presentShow(show), err)
}
