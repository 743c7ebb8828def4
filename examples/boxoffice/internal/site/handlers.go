package site

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// listed serves a page with all shows. camera lists the origins that may use the camera.
func (s *site) listed(page, title, camera string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shows, err := s.backend.Shows(r.Context())
		if err != nil {
			s.unavailable(w, r, err)
			return
		}
		v := s.view(r, page)
		v.Heading = v.T(title)
		for _, show := range shows {
			v.Shows = append(v.Shows, v.present(show))
		}
		w.Header().Set("Permissions-Policy", permissions(camera))
		s.render(w, r, http.StatusOK, v)
	}
}

func (s *site) show(w http.ResponseWriter, r *http.Request) {
	s.withShow(w, r, "show", r.PathValue("id"), func(v *view) {
		v.Heading = v.Show.Title
	})
}

func (s *site) seats(w http.ResponseWriter, r *http.Request) {
	s.withShow(w, r, "seats", r.PathValue("eventId"), func(v *view) {
		v.Heading = v.T("seats.title") + " · " + v.Show.Title
		v.Rows = strings.Split("ABCDEFGHIJKLMNOPQRST", "")
	})
}

// withShow renders a page about one show; fill adds the page's own data.
func (s *site) withShow(w http.ResponseWriter, r *http.Request, page, id string, fill func(*view)) {
	show, err := s.backend.Show(r.Context(), id)
	if errors.Is(err, catalog.ErrNoShow) {
		s.notFound(w, r)
		return
	}
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	v := s.view(r, page)
	v.EventID = show.ID
	v.Show = v.present(show)
	fill(&v)
	s.render(w, r, http.StatusOK, v)
}

func (s *site) checkout(w http.ResponseWriter, r *http.Request) {
	v := s.view(r, "checkout")
	v.Heading = v.T("checkout.title")
	v.ID = r.PathValue("id")
	s.render(w, r, http.StatusOK, v)
}

// plain serves a page without data of the backend.
func (s *site) plain(page, title string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := s.view(r, page)
		v.Heading = v.T(title)
		s.render(w, r, http.StatusOK, v)
	}
}

func (s *site) notFound(w http.ResponseWriter, r *http.Request) {
	v := s.view(r, "error")
	v.Status = http.StatusNotFound
	v.Heading = v.T("error.404.title")
	s.render(w, r, http.StatusNotFound, v)
}

// unavailable answers for a backend that failed. The page retries by itself, at the
// pace of its Retry-After.
func (s *site) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "page without its data", "path", r.URL.Path, "error", err)
	}
	v := s.view(r, "error")
	v.Status = http.StatusServiceUnavailable
	v.Heading = v.T("error.503.title")
	w.Header().Set("Retry-After", "2")
	s.render(w, r, http.StatusServiceUnavailable, v)
}

// poster serves an event's poster as a picture, for pages that know only its
// id. It is drawn from the id alone, so any id has one and it never changes
// within a version.
func (s *site) poster(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	_, _ = w.Write([]byte(poster(r.PathValue("id")))) // the client may be gone
}

// manifest lets a phone keep the site on its home screen.
func (s *site) manifest(w http.ResponseWriter, r *http.Request) {
	v := s.view(r, "home")
	w.Header().Set("Content-Type", "application/manifest+json")
	w.Header().Set("Content-Language", v.Lang)
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("Vary", "Accept-Language, Cookie")
	// The map holds strings only, which always marshal.
	body, _ := json.Marshal(map[string]any{
		"name":             v.T("site.name"),
		"short_name":       v.T("site.short"),
		"lang":             v.Lang,
		"start_url":        "/",
		"display":          "standalone",
		"background_color": "#f6f2e9",
		"theme_color":      "#f6f2e9",
		"icons": []map[string]string{{
			"src": v.Static + "/img/icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any",
		}},
	})
	_, _ = w.Write(body) // the client may be gone
}
