package site

import (
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

func TestWaitingPages(t *testing.T) {
	h := handler(t, tonight())
	for target, other := range map[string]string{"/queue/show-1": "/queue/show-2", "/vwr/show-1": "/vwr/no-such-show"} {
		w := get(h, target)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "public") || strings.Contains(policy, "script-src 'self'") || !strings.Contains(policy, "script-src 'sha256-") {
			t.Errorf("%s: %d %v", target, w.Code, w.Header())
		}
		assert.Equalf(t, get(h, other).Body.String(), w.Body.String(), "%s is another page than %s", target, other)
	}
	line := get(h, "/queue/show-1").Body.String()
	for _, key := range []string{"boxoffice.session", "boxoffice.entry.{eventId}", "/login?next={here}", "/api/queue/check/{eventId}", "/events/{eventId}"} {
		assert.Contains(t, line, key, "the waiting page does not know")
	}
	// The parts of the site that the page expects are there.
	for file, text := range map[string]string{"session.js": "'boxoffice.session'", "entry.js": "`boxoffice.entry.${event}`"} {
		source, err := staticFiles.ReadFile("static/js/" + file)
		if err != nil || !strings.Contains(string(source), text) {
			t.Errorf("%s does not keep %s: %v", file, text, err)
		}
	}
	font := regexp.MustCompile(`/static/[0-9a-f]{12}/font/fraunces\.woff2`).FindString(line)
	assert.Equalf(t, http.StatusOK, get(h, font).Code, "the font %q", font)
}

func TestQueueLeadsToTheRoom(t *testing.T) {
	h := handler(t, tonight())
	for target, to := range map[string]string{
		"/queue?event=show-1":                             "/queue/show-1?lang=en",
		"/queue?event=show-1&lang=ko&next=%2Fshows%2Fx":   "/queue/show-1?lang=ko&next=%2Fshows%2Fx",
		"/queue?event=%2F%2Fevil.example":                 "/queue/%2F%2Fevil.example?lang=en",
		"/queue?event=..%2Flogin":                         "/queue/..%2Flogin?lang=en",
		"/queue?event=a%3Fb%23c%0d%0aSet-Cookie%3A%20x=y": "/queue/a%3Fb%23c%0D%0ASet-Cookie:%20x=y?lang=en",
	} {
		if w := get(h, target); w.Code != http.StatusFound || w.Header().Get("Location") != to {
			t.Errorf("%s: %d to %q, want %q", target, w.Code, w.Header().Get("Location"), to)
		}
	}
}

// Only the seats are behind the gate.
func TestEdge(t *testing.T) {
	var stopped []string
	h, err := New(Config{Backend: tonight(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Edge: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stopped = append(stopped, r.PathValue("eventId"))
			http.Redirect(w, r, "/vwr/"+r.PathValue("eventId"), http.StatusFound)
		})
	}})
	require.NoError(t, err)
	for target, status := range everyPage() {
		if strings.HasPrefix(target, "/events/") {
			status = http.StatusFound
		}
		assert.Equalf(t, status, get(h, target).Code, "%s", target)
	}
	assert.Len(t, stopped, 2, "the edge was asked for")
}

// A gate that can't be asked lets nobody pass, and people get a page.
func TestEdgeAway(t *testing.T) {
	away := true
	h, err := New(Config{Backend: tonight(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Edge: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !away {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"title":"away"}`)
		})
	}})
	require.NoError(t, err)
	w := get(h, "/events/show-1")
	if body := w.Body.String(); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
		!strings.HasPrefix(body, "<!doctype html>") || strings.Contains(body, "away") {
		t.Errorf("%d %v %.200s", w.Code, w.Header(), body)
	}
	away = false
	assert.Equal(t, 200, get(h, "/events/show-1").Code, "afterwards")
	assert.Equal(t, 404, get(h, "/events/show-99").Code, "no such show")
}

// The waiting pages have the site's colours, though they do not use its style sheets.
func TestBrand(t *testing.T) {
	css, err := staticFiles.ReadFile("static/css/base.css")
	require.NoError(t, err)
	b := brand("")
	for name, pair := range map[string][2]string{
		"paper": {b.Light.Paper, b.Dark.Paper}, "sheet": {b.Light.Sheet, b.Dark.Sheet}, "ink": {b.Light.Ink, b.Dark.Ink},
		"soft": {b.Light.Soft, b.Dark.Soft}, "rule": {b.Light.Rule, b.Dark.Rule}, "edge": {b.Light.Edge, b.Dark.Edge},
		"water": {b.Light.Accent, b.Dark.Accent}, "on-water": {b.Light.OnAccent, b.Dark.OnAccent}, "wash": {b.Light.Wash, b.Dark.Wash},
	} {
		assert.Contains(t, string(css), "--"+name+": light-dark("+pair[0]+", "+pair[1]+")", "a pair of colours")
	}
	if name := locales.Of("en")["site.name"]; name != b.Title {
		t.Errorf("the site is called %q, the waiting page %q", name, b.Title)
	}
}
