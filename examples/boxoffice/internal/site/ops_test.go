package site

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOpsHasPlaces: the elements that the operator's scripts find by id are on the
// page, in both languages, and so are the waiting rooms' heading and the dialog that
// asks.
func TestOpsHasPlaces(t *testing.T) {
	h := handler(t, tonight())
	wanted := regexp.MustCompile(`\$\('#([\w-]+)'`)
	for lang, heading := range map[string]string{"en": "Waiting rooms", "ko": "대기실"} {
		page := get(h, "/ops", "Accept-Language", lang).Body.String()
		assert.Containsf(t, page, `<h2 id="rooms-title">`+heading+`</h2>`, "in %s the waiting rooms have no heading %q", lang, heading)
		seen := 0
		for _, name := range []string{"ops", "rooms", "budget", "livepanels", "deadletters", "letter", "confirm"} {
			source, err := staticFiles.ReadFile("static/js/" + name + ".js")
			require.NoError(t, err)
			for _, m := range wanted.FindAllSubmatch(source, -1) {
				seen++
				if !strings.Contains(page, `id="`+string(m[1])+`"`) {
					t.Errorf("in %s the page has no #%s, which %s.js looks for", lang, m[1], name)
				}
			}
		}
		if seen < 60 {
			t.Errorf("only %d places were found: the test no longer reads the scripts", seen)
		}
	}
}
