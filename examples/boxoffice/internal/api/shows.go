package api

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
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

func (a *API) shows(w http.ResponseWriter, r *http.Request) error {
	shows, err := a.cfg.Catalog.Shows(r.Context())
	if err != nil {
		return err
	}
	out := make([]showJSON, len(shows))
	for i, s := range shows {
		out[i] = presentShow(s)
	}
	answer(w, http.StatusOK, out)
	return nil
}

func (a *API) show(w http.ResponseWriter, r *http.Request) error {
	s, err := a.cfg.Catalog.Show(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, presentShow(s))
	return nil
}

type seatJSON struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Class  string `json:"class"` // that has this price in the show's prices; empty for none
	Price  int64  `json:"price"`
}

func (a *API) seats(w http.ResponseWriter, r *http.Request, member string) error {
	event := r.PathValue("eventId")
	if err := a.cfg.Catalog.Exists(r.Context(), event); err != nil {
		return err
	}
	if !a.admitted(w, r, member, event) {
		return nil
	}
	seats, err := a.cfg.Catalog.Seats(r.Context(), event)
	if err != nil {
		return err
	}
	out := make([]seatJSON, len(seats))
	for i, s := range seats {
		out[i] = seatJSON{s.ID, s.Status, s.Class, s.Price}
	}
	answer(w, http.StatusOK, map[string]any{"seats": out})
	return nil
}

// login signs a member in; there are no passwords, since nothing here is real.
func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		MemberID string `json:"memberId"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.MemberID == "" {
		return invalid("memberId", `the field "memberId" is missing`)
	}
	if err := auth.CheckMember(body.MemberID); err != nil {
		return invalid("memberId", "%v", err)
	}
	if err := a.knowMember(r.Context(), body.MemberID); err != nil {
		return err
	}
	token, expires, err := a.cfg.Login.Issue(body.MemberID)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expiresAt"`
	}{token, expires})
	return nil
}

// knowMember remembers a member at the first sign-in.
func (a *API) knowMember(ctx context.Context, id string) error {
	known, err := a.cfg.Store.KnowsMember(ctx, id)
	if err != nil || known {
		return err
	}
	return a.cfg.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return a.cfg.Store.AddMember(ctx, tx, id) })
}
