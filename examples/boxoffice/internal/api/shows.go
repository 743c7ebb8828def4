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

		Currency: s.Currency, Prices: []priceJSON{}, Performers: []performerJSON{},
	}
	if !s.StartsAt.IsZero() {
		out.StartsAt = &s.StartsAt
	}
	if !s.DoorsAt.IsZero() {
		out.DoorsAt = &s.DoorsAt
	}
	if s.Venue.Name != "" {
		out.Venue = &venueJSON{s.Venue.Name, s.Venue.City, s.Venue.TimeZone}
	}
	for _, p := range s.Prices {
		out.Prices = append(out.Prices, priceJSON{p.Class, p.Price})
	}
	for _, p := range s.Performers {
		out.Performers = append(out.Performers, performerJSON{p.ArtistID, p.Name})
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
	if err != nil {
		return err
	}
	out := make([]showJSON, len(shows))
	for i, show := range shows {
		out[i] = presentShow(show)
	}
	answer(w, http.StatusOK, out)
	return nil
}

func (s showRoutes) show(w http.ResponseWriter, r *http.Request) error {
	show, err := s.catalog.Show(r.Context(), r.PathValue("id"))
	return reply(w, http.StatusOK, presentShow(show), err)
}
