package site

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/millrace-go/millrace/queue/queuepage"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

// waitingPages are the pages of the line, and of the gate before it. They are the
// same for every event and visitor, so that a crowd costs only bytes.
func waitingPages(font string) (line, gate http.Handler, err error) {
	cfg := queuepage.Config{
		BearerKey: "boxoffice.session", BearerField: "token",
		SignIn: "/login?next={here}", EntryKey: "boxoffice.entry.{eventId}", Show: "/api/shows/{eventId}",
		Brand: brand(font),
	}
	if line, err = queuepage.New(cfg); err != nil {
		return nil, nil, fmt.Errorf("site: the waiting page: %w", err)
	}
	// A number needs no sign-in.
	cfg.Gate, cfg.BearerKey, cfg.BearerField, cfg.SignIn, cfg.EntryKey = true, "", "", "", ""
	if gate, err = queuepage.New(cfg); err != nil {
		return nil, nil, fmt.Errorf("site: the page of the gate: %w", err)
	}
	return line, gate, nil
}

// brand repeats the values of base.css; TestBrand compares them.
func brand(font string) queuepage.Brand {
	return queuepage.Brand{
		Title: "Millrace Box Office", Home: "/",
		Mark:     "M16 2v28M2 16h28M6.1 6.1l19.8 19.8M25.9 6.1L6.1 25.9M6.5 16a9.5 9.5 0 1 0 19 0a9.5 9.5 0 1 0-19 0",
		Headings: []string{"Fraunces", "Iowan Old Style", "Palatino", "Georgia", "Nanum Myeongjo", "AppleMyungjo", "Noto Serif KR", "serif"}, HeadingsFile: font,
		Light: queuepage.Palette{
			Paper: "#f6f2e9", Sheet: "#fffdf8", Ink: "#1b2a2b", Soft: "#515e5b", Rule: "#dcd4c3", Edge: "#858a81", Accent: "#125355", OnAccent: "#fffdf8", Wash: "#e3ece5",
		},
		Dark: queuepage.Palette{
			Paper: "#101819", Sheet: "#182324", Ink: "#ece7db", Soft: "#a5b3af", Rule: "#2e3d3e", Edge: "#6f807d", Accent: "#86d3c7", OnAccent: "#0b1a1b", Wash: "#1b3031",
		},
	}
}

// room redirects to the waiting room of ?event=, the address for a program without an
// entry token.
func (s *site) room(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	event := query.Get("event")
	if event == "" {
		s.notFound(w, r)
		return
	}
	query.Del("event")
	query.Set("lang", locales.Negotiate(r)) // the page is the same for all, and knows no cookies
	to := url.URL{Path: "/queue/" + event, RawPath: "/queue/" + url.PathEscape(event), RawQuery: query.Encode()}
	http.Redirect(w, r, to.String(), http.StatusFound)
}
