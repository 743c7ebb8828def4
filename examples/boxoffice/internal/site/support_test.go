package site

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// programme is a backend that plays the same shows every night.
type programme struct {
	shows []catalog.Show
	err   error
}

func (p *programme) Shows(context.Context) ([]catalog.Show, error) { return p.shows, p.err }

func (p *programme) Show(_ context.Context, id string) (catalog.Show, error) {
	if p.err != nil {
		return catalog.Show{}, p.err
	}
	for _, show := range p.shows {
		if show.ID == id {
			return show, nil
		}
	}
	return catalog.Show{}, fmt.Errorf("%w: %s", catalog.ErrNoShow, id)
}

func tonight() *programme {
	return &programme{shows: []catalog.Show{
		{ID: "show-1", Title: "Moonlight Parade", Seats: catalog.Counts{Total: 500, Available: 329, Held: 12, Sold: 159}},
		{ID: "show-2", Title: "A Hundred Small Drums", Seats: catalog.Counts{Total: 500, Available: 6, Sold: 494}},
		{ID: "show-3", Title: "Winter, Unplugged", Seats: catalog.Counts{Total: 500, Sold: 500}},
	}}
}

func handler(t testing.TB, backend Backend) http.Handler {
	t.Helper()
	h, err := New(Config{Backend: backend, Version: "v0.1.0", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	return h
}

// get asks for an address; headers alternate name and value.
func get(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// everyPage lists an address of each page, and the status it has.
func everyPage() map[string]int {
	return map[string]int{
		"/":                  200,
		"/shows/show-1":      200,
		"/shows/show-2":      200,
		"/shows/show-3":      200,
		"/events/show-1":     200,
		"/checkout/0199a7c2": 200,
		"/tickets":           200,
		"/transfers":         200,
		"/memberships":       200,
		"/scan":              200,
		"/artists":           200,
		"/artists/42":        200,
		"/artists?id=a%20b":  400,
		"/artists/a%20b":     404,
		"/login":             200,
		"/ops":               200,
		"/offline":           200,
		"/nowhere":           404,
		"/shows/show-99":     404,
		"/events/show-99":    404,
		"/queue":             404,
		"/checkout/":         404,
	}
}
