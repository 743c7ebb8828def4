package api

import (
	"errors"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
)

// artist answers with what the mirror has, and never waits for the artist's API.
func (a *API) artist(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Artists == nil {
		return newProblem(http.StatusServiceUnavailable, "artists-off", "Artists are not shown",
			"this box office runs without Redis, and so without artists; BOXOFFICE_REDIS_URL turns them on")
	}
	view, err := a.cfg.Artists.Get(r.Context(), r.PathValue("id"))
	if errors.Is(err, artist.ErrBadID) {
		return invalid("id", "the artist's id must have 1 to 64 letters, digits, _ and -")
	}
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, view)
	return nil
}
