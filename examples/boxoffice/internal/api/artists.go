package api

import (
	"context"
	"math"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
)

// Artists answers at once from the mirror's copy of an artist, and accepts wishes for
// a refresh.
type Artists interface {
	Get(ctx context.Context, id string) (artist.View, error)
	History(ctx context.Context, id string, q artist.HistoryQuery) (artist.History, error)
	Refresh(ctx context.Context, id string) (artist.Refreshing, error)
}

// artistRoutes are the mirrored artists.
type artistRoutes struct{ mirror Artists } // nil where artists are not mirrored

func (a artistRoutes) mount(g *guard) {
	g.public("GET /api/artists/{id}", a.artist)
	g.public("GET /api/artists/{id}/history", a.history)
	g.writes("POST /api/artists/{id}/refresh", a.refresh)
}

// artist answers from the mirror, and never waits for the artist's API.
func (a artistRoutes) artist(w http.ResponseWriter, r *http.Request) error {
	artists, err := a.artists()
	if err != nil {
		return err
	}
	view, err := artists.Get(r.Context(), r.PathValue("id"))
	return reply(w, http.StatusOK, view, err)
}

// history lists the snapshots that an artist had, newest first: ?limit=N, 10 by
// default, and ?before= with the value of "next" of the page before.
func (a artistRoutes) history(w http.ResponseWriter, r *http.Request) error {
	artists, err := a.artists()
	if err != nil {
		return err
	}
	limit, _, err := number(r, "limit", 1, artist.MaxHistory)
	if err != nil {
		return err
	}
	if _, _, err := number(r, "before", 1, math.MaxInt64); err != nil {
		return invalid("before", `before must be what "next" of the page before says`)
	}
	history, err := artists.History(r.Context(), r.PathValue("id"), artist.HistoryQuery{Before: r.URL.Query().Get("before"), Limit: int(limit)})
	return reply(w, http.StatusOK, history, err)
}

// refresh stores the wish to have an artist refreshed.
func (a artistRoutes) refresh(w http.ResponseWriter, r *http.Request, _ string) error {
	artists, err := a.artists()
	if err != nil {
		return err
	}
	out, err := artists.Refresh(r.Context(), r.PathValue("id"))
	return reply(w, http.StatusAccepted, out, err)
}

func (a artistRoutes) artists() (Artists, error) {
	if a.mirror == nil {
		return nil, newProblem(http.StatusServiceUnavailable, "artists-off", "Artists are not shown",
			"this box office runs without Redis, and so without artists; BOXOFFICE_REDIS_URL turns them on")
	}
	return a.mirror, nil
}
