package gate_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

// A cache of others before the gate may store assets, and nothing that a place is
// needed for.
func TestCacheBeforeTheGate(t *testing.T) {
	var says string
	forCaches := []string{"Surrogate-Control", "CDN-Cache-Control", "Cloudflare-CDN-Cache-Control", "X-Accel-Expires", "Edge-Control"}
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) {
		c.Pass = []string{"/static/**"}
		c.Transport = origin(func(r *http.Request) (*http.Response, error) {
			answer, err := echo(r)
			if says != "" {
				answer.Header.Set("Cache-Control", says)
			}
			for _, name := range forCaches {
				answer.Header.Set(name, "max-age=600")
			}
			return answer, err
		})
	})
	inside := s.browser().enter()
	for origin, want := range map[string]string{
		"":                                 "private",
		"public, max-age=60, s-maxage=600": "private, max-age=60",
		"Private, max-age=60":              "Private, max-age=60",
		"no-store":                         "no-store",
		"max-age=60, stale-if-error=600":   "private, max-age=60, stale-if-error=600",
		"no-cache, public":                 "private, no-cache",
	} {
		says = origin
		page := inside.open("/")
		require.Equal(t, want, page.Header.Get("Cache-Control"), origin)
		for _, name := range forCaches {
			require.Empty(t, page.Header.Get(name), "%s beside %q", name, origin)
		}
		for _, b := range []*browser{inside, s.browser()} {
			require.Equal(t, origin, b.do("GET", "/static/a.css", nil).Header.Get("Cache-Control"), "an asset")
		}
	}
	says = ""
	out := s.browser()
	for _, answer := range []reply{out.open("/"), out.do("GET", "/api", nil), out.do("GET", "/%2F", nil), out.do("POST", "/millrace-gate/check/sale", nil), inside.do("GET", "/millrace-gate/status/sale", nil)} {
		require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	}
}
