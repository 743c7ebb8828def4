package chat

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// A page opens a socket from the site's own host or from a permitted one, for any
// spelling of its origin.
func FuzzOrigin(f *testing.F) {
	f.Add("https://box.test", "box.test")
	f.Add("null", "box.test")
	f.Add("https://box.test@evil.test", "box.test")
	f.Add("https://BOX.test:443", "box.test:443")
	f.Add("//box.test", "box.test")
	f.Add("https://evil.test/box.test", "box.test")
	f.Fuzz(func(t *testing.T, origin, host string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		r.Header["Origin"] = []string{origin}
		if origin == "" || !fromHere(r, []string{"ally.test"}) {
			return
		}
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, host) && !strings.EqualFold(u.Host, "ally.test") {
			t.Fatalf("a page of %q opens a socket of %q", origin, host)
		}
	})
}
