package site

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

// TestBellEverywhere: every page has the bell, its panel, the place for news, and the
// elements of their scripts. The waiting page has none: it has no server to ask.
func TestBellEverywhere(t *testing.T) {
	h := handler(t, tonight())
	for target := range everyPage() {
		page := get(h, target).Body.String()
		if target == "/offline" {
			if strings.Contains(page, `id="bell"`) || strings.Contains(page, `id="toasts"`) || strings.Contains(page, "bell.js") {
				t.Error("the waiting page loads what it cannot have")
			}
			continue
		}
		for _, part := range []string{`js/bell.js"`, `css/bell.css"`, `aria-live="polite"`, `popovertarget="inbox"`} {
			if strings.Count(page, part) == 0 {
				t.Errorf("%s lacks %s", target, part)
			}
		}
		places(t, target, page, 10, "bell", "inboxpanel", "toast")
	}
}

// TestShowHasPlaces: the elements that the scripts of a show find by id are there, in
// both languages, also where every seat is sold.
func TestShowHasPlaces(t *testing.T) {
	h := handler(t, tonight())
	for _, lang := range locales.Languages() {
		for _, target := range []string{"/shows/show-1", "/shows/show-3"} {
			page := get(h, target, "Accept-Language", lang).Body.String()
			places(t, target+" in "+lang, page, 40, "chat", "comments", "confirm", "like", "vote")
			for _, tally := range []string{"likeCount", "commentCount", "viewCount", "salesCount"} {
				assert.Containsf(t, page, `data-tally="`+tally+`"`, "%s has no place for %s", target, tally)
			}
		}
	}
}

var wantedPlace = regexp.MustCompile(`\$\('#([\w-]+)`)

// places checks that a page has the elements that scripts find by an id.
func places(t *testing.T, target, page string, least int, scripts ...string) {
	t.Helper()
	seen := 0
	for _, name := range scripts {
		source, err := staticFiles.ReadFile("static/js/" + name + ".js")
		require.NoError(t, err)
		for _, m := range wantedPlace.FindAllSubmatch(source, -1) {
			seen++
			if !strings.Contains(page, `id="`+string(m[1])+`"`) {
				t.Errorf("%s has no #%s, which %s.js looks for", target, m[1], name)
			}
		}
	}
	if seen < least {
		t.Errorf("only %d places were found: the test no longer reads the scripts", seen)
	}
}
