package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The ingress limits cover all routes of a process, and find the client behind a proxy.
func TestDoor(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--address-rate", "1", "--trusted-proxies", "127.0.0.1")
	ask := func(method, target string, header ...string) (got struct {
		StatusCode int
		Header     http.Header
	}) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, p.app.URL()+target, nil)
		require.NoError(t, err)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		res, err := p.http.Do(r)
		require.NoError(t, err)
		readAll(t, res)
		got.StatusCode, got.Header = res.StatusCode, res.Header
		return got
	}
	// Some of one subscriber's requests are refused, with any text before the address.
	refused := 0
	for range 100 {
		if ask("POST", "/vwr/assign/show-1", "X-Forwarded-For", "192.0.2.1, 203.0.113.9").StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 || refused > 90 {
		t.Errorf("%d of 100 were refused", refused)
	}
	for _, header := range [][]string{{"X-Forwarded-For", "203.0.113.10"}, nil} {
		if got := ask("POST", "/vwr/assign/show-1", header...).StatusCode; got != http.StatusConflict { // the gate is off
			t.Errorf("with %v: %d", header, got)
		}
	}
	if got := ask("GET", "/api/admin/ops", "X-Forwarded-For", "203.0.113.9", "Authorization", "Bearer guess").StatusCode; got != http.StatusTooManyRequests && got != http.StatusForbidden {
		t.Errorf("a guess at the token: %d", got)
	}
	assert.Equal(t, http.StatusForbidden, ask("POST", "/api/login", "Sec-Fetch-Site", "cross-site").StatusCode, "from a page of another site")
	assert.Equal(t, http.StatusBadRequest, ask("GET", "/shows/%00").StatusCode, "a path that is no text")
	assert.Equal(t, http.StatusRequestURITooLong, ask("GET", "/"+strings.Repeat("a", 9000)).StatusCode, "a path of 9,000 bytes")
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, ask("GET", "/", "Long", strings.Repeat("a", 75<<10)).StatusCode, "a header of 75 KB")
	for target, policy := range map[string]string{"/": "default-src 'none'; script-src 'self'", "/api/shows": "default-src 'none'; frame-ancestors", "/metrics": "default-src 'none'; frame-ancestors"} {
		h := ask("GET", target).Header
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), policy) || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" {
			t.Errorf("%s: %v", target, h)
		}
	}
	// Only a proxy can state that a request was https, and then cookies are for https
	// alone.
	for _, c := range []struct {
		proto  string
		secure bool
	}{{"https", true}, {"http", false}} {
		h := ask("GET", "/?lang=ko", "X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", c.proto).Header
		if cookie := h.Get("Set-Cookie"); cookie == "" || strings.Contains(cookie, "Secure") != c.secure || (h.Get("Strict-Transport-Security") != "") != c.secure {
			t.Errorf("by %s: %v", c.proto, h)
		}
	}
	// Requests that passed the ingress limits are counted by route too.
	if !strings.Contains(p.text("/metrics"), `route="/vwr/assign/{eventId}"`) && !strings.Contains(p.text("/metrics"), `/vwr/assign/`) {
		t.Error("the requests have no route in the metrics")
	}
}
