package site

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

//go:embed templates/*.html
var templateFiles embed.FS

// pages are the parsed templates by page name. Each page has the layout, and a
// script and perhaps a style sheet of its own name under static/.
type pages map[string]*template.Template

// pageStyles lists the style sheets of a page beside the shared ones.
var pageStyles = map[string][]string{
	"home":        {"shows"},
	"show":        {"shows", "community"},
	"seats":       {"seats"},
	"checkout":    {"checkout"},
	"tickets":     {"tickets"},
	"transfers":   {"tickets", "transfers"},
	"memberships": {"transfers"},
	"scan":        {"scan"},
	"artist":      {"shows", "artist"},
	"ops":         {"ops"},
	"login":       nil,
	"error":       nil,
	"offline":     nil,
}

func loadPages() (pages, error) {
	parsed := pages{}
	for name := range pageStyles {
		t, err := template.ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/coming.html", "templates/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("site: page %s: %w", name, err)
		}
		parsed[name] = t
	}
	return parsed, nil
}

// view is the data of a template. Its methods give texts in the page's language.
type view struct {
	Page    string
	Styles  []string
	Lang    string
	Theme   string // "light", "dark", or "" for the system's choice
	Static  string
	Version string
	Heading string // the title before the site's name
	EventID string
	ID      string // of the reservation, on the checkout page; of the artist
	Status  int    // of an error page
	Shows   []showView
	Show    showView
	Rows    []string   // of the house, from the stage, by their letters
	Artists []string   // suggested ones, by their ids
	Coming  []showView // of the artist
	Wanted  string     // the request that can be no artist's id

	catalog locales.Catalog
	address *url.URL
}

// T is the text of a key; args alternate placeholder and value.
func (v view) T(key string, args ...any) string { return v.catalog.Text(key, args...) }

// InLanguage is the address of this page in another language.
func (v view) InLanguage(lang string) string {
	query := v.address.Query()
	query.Set("lang", lang)
	return v.address.EscapedPath() + "?" + query.Encode()
}

// With pairs a show with its page, for parts that show one.
func (v view) With(show showView) struct {
	Root view
	Show showView
} {
	return struct {
		Root view
		Show showView
	}{v, show}
}

// Reference is the reservation's id as people read it out: its last eight
// characters, since ids made in the same minute begin alike.
func (v view) Reference() string {
	return strings.ToUpper(v.ID[max(0, len(v.ID)-8):])
}

// Here reports whether a navigation entry names the current page.
func (v view) Here(page string) bool { return v.Page == page }

// view starts a page's view from the reader's settings in the request.
func (s *site) view(r *http.Request, page string) view {
	lang := locales.Negotiate(r)
	v := view{
		Page:    page,
		Styles:  pageStyles[page],
		Lang:    lang,
		Static:  s.assets.base(),
		Version: s.version,
		catalog: locales.Of(lang),
		address: r.URL,
	}
	if cookie, err := r.Cookie("theme"); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		v.Theme = cookie.Value
	}
	return v
}

// render writes a page. The template runs into memory first, so that a failing
// template leaves an error and not half a page.
func (s *site) render(w http.ResponseWriter, r *http.Request, status int, v view) {
	var body bytes.Buffer
	if err := s.pages[v.Page].ExecuteTemplate(&body, "layout", v); err != nil {
		s.log.ErrorContext(r.Context(), "page not rendered", "page", v.Page, "error", err)
		http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		return
	}
	remember(w, r)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.Lang)
	// A page depends on the reader and on the moment, and its links name the
	// current static files: browsers ask again each time.
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Language, Cookie")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = body.WriteTo(w) // the client may be gone
	}
}

// showView is a show as a page presents it.
type showView struct {
	catalog.Show
	Poster template.HTML
	// PercentLeft is the share of seats that are available, for the meter.
	PercentLeft int

	// Texts in the page's language, and dates by the clock of the venue; "" for unknown
	// facts. Machine and DoorsMachine are the same for programs.
	When, Machine, Doors, DoorsMachine, Zone, Where string

	Prices     []priceView
	Performers []catalog.Performer // all with a name
}

type priceView struct{ Class, Price string }

func (v view) present(show catalog.Show) showView {
	s := showView{Show: show, Poster: poster(show.ID), Where: show.Venue.Name}
	if show.Seats.Total > 0 {
		s.PercentLeft = (100*show.Seats.Available + show.Seats.Total - 1) / show.Seats.Total
	}
	there := place(show.Venue.TimeZone)
	if !show.StartsAt.IsZero() {
		at := show.StartsAt.In(there)
		s.When, s.Machine, s.Zone = v.moment(at), at.Format(time.RFC3339), zoneName(at)
	}
	if !show.DoorsAt.IsZero() {
		at := show.DoorsAt.In(there)
		s.Doors, s.DoorsMachine = v.clock(at), at.Format(time.RFC3339)
	}
	if show.Venue.City != "" {
		s.Where = v.T("show.where.city", "venue", show.Venue.Name, "city", show.Venue.City)
	}
	for _, p := range show.Prices {
		s.Prices = append(s.Prices, priceView{v.T("show.class", "class", p.Class), v.money(p.Price, show.Currency)})
	}
	for _, p := range show.Performers {
		if p.Name == "" {
			p.Name = v.T("artist.heading", "id", p.ArtistID)
		}
		s.Performers = append(s.Performers, p)
	}
	return s
}
