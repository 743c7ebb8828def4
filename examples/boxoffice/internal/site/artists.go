package site

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// artistID matches possible ids of artists; the API accepts no other.
var artistID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// suggested are artists for visitors that know no id, with pictures that differ.
var suggested = []string{"42", "113", "1004", "2025", "5151", "9997"}

// Portrait is the picture of an artist; the mirror has none.
func (v view) Portrait(id string) template.HTML { return poster("artist-" + id) }

// artist shows one artist. The page's script asks the API for the artist and its
// freshness: whether there is such an artist is only known after a while.
func (s *site) artist(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !artistID.MatchString(id) {
		s.notFound(w, r)
		return
	}
	v := s.view(r, "artist")
	v.Heading = v.T("artist.heading", "id", id)
	v.ID = id
	v.Coming = s.coming(r.Context(), v, id)
	s.render(w, r, http.StatusOK, v)
}

// coming are the shows in which an artist is to play, the next one first. The page of
// an artist omits them while they cannot be read.
func (s *site) coming(ctx context.Context, v view, artist string) (all []showView) {
	shows, err := s.backend.Shows(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "the page of an artist is shown without shows", "artist", artist, "error", err)
		}
		return nil
	}
	for _, show := range shows {
		if show.StartsAt.After(time.Now()) && slices.ContainsFunc(show.Performers, func(p catalog.Performer) bool { return p.ArtistID == artist }) {
			all = append(all, v.present(show))
		}
	}
	slices.SortStableFunc(all, func(a, b showView) int { return a.StartsAt.Compare(b.StartsAt) })
	return all
}

// findArtist handles the form that leads to an artist, and suggests some. It works
// without a script.
func (s *site) findArtist(w http.ResponseWriter, r *http.Request) {
	wanted := strings.TrimSpace(r.URL.Query().Get("id"))
	if artistID.MatchString(wanted) {
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, "/artists/"+url.PathEscape(wanted), http.StatusSeeOther)
		return
	}
	v := s.view(r, "artist")
	v.Heading = v.T("nav.artists")
	v.Artists = suggested
	status := http.StatusOK
	if wanted != "" {
		v.Wanted, status = wanted, http.StatusBadRequest
	}
	s.render(w, r, status, v)
}
