package site

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFindArtist leads from a number to its page, without a script.
func TestFindArtist(t *testing.T) {
	h := handler(t, tonight())
	for query, want := range map[string]string{"42": "/artists/42", "%2042%09": "/artists/42", "A_b-9": "/artists/A_b-9"} {
		w := get(h, "/artists?id="+query)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%q leads with status %d to %q, want %s", query, w.Code, w.Header().Get("Location"), want)
		}
	}
	for _, query := range []string{"a%20b", "..%2Fops", "%2F%2Fexample.org", strings.Repeat("9", 65), "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"} {
		w := get(h, "/artists?id="+query)
		body := w.Body.String()
		if w.Code != http.StatusBadRequest || !strings.Contains(body, `id="artist-problem"`) || !strings.Contains(body, `aria-invalid="true"`) {
			t.Errorf("%q: status %d, and the page does not say what is wrong", query, w.Code)
		}
		assert.NotContainsf(t, body, "<script>alert", "%q comes back as markup", query)
		assert.NoErrorf(t, wellFormed(body), "%q", query)
	}
	for _, query := range []string{"", "?id=", "?id=%20"} {
		if w := get(h, "/artists"+query); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "artist-problem") {
			t.Errorf("/artists%s: status %d, or a problem with nothing", query, w.Code)
		}
	}
}

func TestArtistPage(t *testing.T) {
	h := handler(t, tonight())
	for target, want := range map[string][]string{
		"/artists/42": {`data-id="42"`, `<a href="/artists" aria-current="page">`, `js/artist.js`, `<h1 id="name">Artist 42</h1>`, `<button type="button" class="button small" id="refresh">`},
		"/artists":    {`href="/artists/42"`, `<a href="/artists" aria-current="page">`, `name="id"`},
		"/":           {`<a href="/artists">`},
	} {
		body := get(h, target).Body.String()
		for _, part := range want {
			assert.Containsf(t, body, part, "%s lacks %s", target, part)
		}
	}
	assert.Equal(t, len(suggested), strings.Count(get(h, "/artists").Body.String(), `class="poster"`), "a suggested artist has no picture")
}
