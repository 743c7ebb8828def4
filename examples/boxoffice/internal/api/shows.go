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
}

type countsJSON struct {
	Total     int `json:"total"`
	Available int `json:"available"`
	Held      int `json:"held"`
	Sold      int `json:"sold"`
}

func presentShow(s catalog.Show) showJSON {
	return showJSON{
		ID: s.ID, Title: s.Title, CommentCount: s.Comments, LikeCount: s.Likes, ViewCount: s.Views, SalesCount: s.Sales,
		Seats: countsJSON{s.Seats.Total, s.Seats.Available, s.Seats.Held, s.Seats.Sold},
	}
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
		out[i] = seatJSON{s.ID, s.Status, s.Price}
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
