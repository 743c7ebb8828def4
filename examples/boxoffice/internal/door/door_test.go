package door

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is one that a server has read.
func request(method, target, from string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = from
	return r
}

func made(t testing.TB, cfg Config) http.Handler {
	t.Helper()
	d, err := New(cfg)
	require.NoError(t, err)
	return d.Before(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Seen-From", From(r.Context()))
		w.Header().Set("Seen-HTTPS", fmt.Sprint(HTTPS(r)))
	}))
}

// reply is an answer.
type reply struct {
	StatusCode int
	Header     http.Header
}

func serve(h http.Handler, r *http.Request) reply {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return reply{w.Code, w.Header()}
}

const outside = "203.0.113.9:5000"

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{Rate: -1}, {Rate: 1_000_001}, {Proxies: []netip.Prefix{{}}}} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "door: Config.") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestTarget(t *testing.T) {
	h := made(t, Config{})
	for target, want := range map[string]int{
		"/shows/show-1?lang=ko":            200,
		"/shows/%EA%B3%B5%EC%97%B0?q=%20+": 200,
		"/api/tickets/%00":                 400,
		"/api/tickets/a%0Ab":               400,
		"/api/tickets/%ff":                 400,
		"/api/members/ann%20":              400,
		"/api/members/ann%20/follow":       400,
		"/?q=%0d%0aSet-Cookie:x":           400,
		"/?q=%ff":                          400,
		"/?q=%zz":                          400,
		"/?" + strings.Repeat("a", 8200):   414,
		"/" + strings.Repeat("a", 8200):    414,
		"/?" + strings.Repeat("a", 8000):   200,
	} {
		res := serve(h, request("GET", target, outside))
		if res.StatusCode != want || want != 200 && res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.60s: %d, want %d", target, res.StatusCode, want)
		}
	}
}

func FuzzTarget(f *testing.F) {
	f.Add("/a/b", "q=1")
	f.Add("/\x00", "q=%00")
	f.Add("/\u0085", "q=%C2%85")
	f.Add("/a", "a=%zz&b")
	h := made(f, Config{})
	f.Fuzz(func(t *testing.T, path, query string) {
		r := request("GET", "/", outside)
		r.URL.Path, r.URL.RawQuery = path, query
		reached := serve(h, r).StatusCode == 200
		if !reached {
			return
		}
		if !isText(path) || len(path)+len(query) > maxTarget {
			t.Fatalf("%q went through", path)
		}
		for name, values := range r.URL.Query() {
			for _, v := range append(values, name) {
				if strings.ContainsAny(v, "\r\n\x00\x1b") || !isText(v) {
					t.Fatalf("%q went through", v)
				}
			}
		}
	})
}

func TestOtherSites(t *testing.T) {
	h := made(t, Config{})
	for name, c := range map[string]struct {
		method string
		header map[string]string
		want   int
	}{
		"a program":                    {"POST", nil, 200},
		"a page of ours":               {"POST", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://example.com"}, 200},
		"ours, an old browser":         {"POST", map[string]string{"Origin": "http://example.com"}, 200},
		"another site":                 {"POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.test"}, 403},
		"another site, an old browser": {"POST", map[string]string{"Origin": "http://evil.test"}, 403},
		"a site beside ours":           {"DELETE", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"no origin, a sandbox":         {"PUT", map[string]string{"Origin": "null"}, 403},
		"reading":                      {"GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, 200},
	} {
		r := request(c.method, "/vwr/assign/show-1", outside)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		assert.Equalf(t, c.want, serve(h, r).StatusCode, "%s", name)
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := made(t, Config{Rate: 2})
		ask := func(from string) reply { return serve(h, request("POST", "/vwr/assign/show-1", from)) }
		for i := range 2 * bursts {
			if got := ask(outside).StatusCode; got != 200 {
				t.Fatalf("request %d of the burst: %d", i+1, got)
			}
		}
		res := ask(outside)
		if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("beyond the burst: %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
		}
		assert.Equal(t, 429, ask("203.0.113.9:6000").StatusCode, "from another port")
		assert.Equal(t, 200, serve(h, request("GET", "/api/shows", outside)).StatusCode, "what is not costly")
		assert.Equal(t, 200, ask("127.0.0.1:5000").StatusCode, "from this machine")
		time.Sleep(time.Second)
		for i, want := range []int{200, 200, 429} {
			if got := ask(outside).StatusCode; got != want {
				t.Errorf("request %d a second later: %d, want %d", i+1, got, want)
			}
		}
		// An address that was idle for long has no more than a burst.
		time.Sleep(time.Hour)
		granted := 0
		for range 100 {
			if ask(outside).StatusCode == 200 {
				granted++
			}
		}
		assert.Equal(t, 2*bursts, granted, "at once after an hour")
	})
}

// Addresses do not take from each other; one of version 6 is its first 64 bits.
func TestManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := made(t, Config{Rate: 1})
		ask := func(from string) int { return serve(h, request("POST", "/vwr/assign/show-1", from)).StatusCode }
		for range 2 * bursts {
			ask(outside)
			ask("[2001:db8::1]:1")
		}
		for i := range 10_000 {
			require.Equalf(t, 200, ask(fmt.Sprintf("10.1.%d.%d:1", i>>8, i&255)), "the first request of address %d", i)
		}
		for from, want := range map[string]int{outside: 429, "[::ffff:203.0.113.9]:1": 429, "[2001:db8::ffff:1]:1": 429, "[2001:db8:0:1::1]:1": 200} {
			assert.Equalf(t, want, ask(from), "from %s", from)
		}
	})
}

func TestAddress(t *testing.T) {
	trusting := Config{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct {
		cfg     Config
		remote  string
		headers []string
		want    string
	}{
		{Config{}, outside, nil, "203.0.113.9"},
		{Config{}, outside, []string{"1.2.3.4"}, "203.0.113.9"},
		{trusting, outside, []string{"1.2.3.4"}, "203.0.113.9"},
		{trusting, "127.0.0.1:1", []string{"198.51.100.7"}, "198.51.100.7"},
		{trusting, "127.0.0.1:1", []string{"1.2.3.4, 198.51.100.7"}, "198.51.100.7"},
		{trusting, "127.0.0.1:1", []string{"1.2.3.4, 127.0.0.1, 198.51.100.7, 10.0.0.3"}, "198.51.100.7"},
		{trusting, "127.0.0.1:1", []string{"1.2.3.4", "198.51.100.7"}, "198.51.100.7"},
		{trusting, "127.0.0.1:1", []string{"1.2.3.4, rubbish, 10.0.0.3"}, "10.0.0.3"},
		{trusting, "127.0.0.1:1", []string{"[2001:db8::1]:443"}, "2001:db8::/64"},
		{trusting, "127.0.0.1:1", nil, ""}, // of this machine
		{trusting, "127.0.0.1:1", []string{strings.Repeat("10.0.0.1,", 1000) + "10.0.0.2"}, "10.0.0.1"},
		{trusting, "@", []string{"1.2.3.4"}, ""},
	} {
		r := request("GET", "/", c.remote)
		r.Header["X-Forwarded-For"] = c.headers
		if got := serve(made(t, c.cfg), r).Header.Get("Seen-From"); got != c.want {
			t.Errorf("%s with %.60q is %s, want %s", c.remote, c.headers, got, c.want)
		}
	}
}

func TestCostly(t *testing.T) {
	for target, want := range map[string]bool{
		"POST /api/login": true, "POST /vwr/assign/show-1": true, "POST /api/shows/show-1/view": true, "POST /api/shows/show-1/vote/close": true,
		"GET /api/admin/ops": true, "PUT /api/queue/admin/threshold/show-1": true, "POST /api/admin/dead-letters/t/redrive": true,
		"GET /api/shows": false, "GET /vwr/check/show-1/x": false, "POST /api/queue/check/show-1": false, "POST /api/payments": false,
	} {
		method, path, _ := strings.Cut(target, " ")
		assert.Equalf(t, want, costly(request(method, path, outside)), "%s", target)
	}
}

func TestHTTPS(t *testing.T) {
	h := made(t, Config{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for remote, want := range map[string]string{"10.0.0.1:1": "true", outside: "false"} {
		r := request("GET", "/", remote)
		r.Header.Set("X-Forwarded-Proto", "https")
		res := serve(h, r)
		if got := res.Header.Get("Seen-HTTPS"); got != want || (res.Header.Get("Strict-Transport-Security") != "") != (want == "true") {
			t.Errorf("from %s: %s, %v", remote, got, res.Header)
		}
	}
	assert.False(t, HTTPS(request("GET", "/", outside)), "a request that came by no door is https")
}

func TestHeaders(t *testing.T) {
	d, err := New(Config{Rate: 1})
	require.NoError(t, err)
	h := d.Before(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
		}
		assert.Equal(t, "203.0.113.9", From(r.Context()), "from")
	}))
	for target, policy := range map[string]string{"/page": "default-src 'self'", "/api/shows": "default-src 'none'; frame-ancestors 'none'", "/%00": "default-src 'none'; frame-ancestors 'none'"} {
		res := serve(h, request("GET", target, outside))
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
	}
	assert.Equal(t, "", From(t.Context()), "what came by no door is counted")
}
