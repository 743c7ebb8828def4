package gate_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

var shop = &url.URL{Scheme: "http", Host: "shop.example", Path: "/"}

func TestWithoutAPlace(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Pass = []string{"/static/**", "/robots.txt", "/**/*.css"} })
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, c := range []struct {
		what, method, target string
		h                    http.Header
		want                 int
	}{
		{"a navigation", "GET", "/", navigation, 503},
		{"one of an older browser", "GET", "/a?b=c", header("Accept", "text/html"), 503},
		{"in a frame", "HEAD", "/", header("Accept", "text/html", "Sec-Fetch-Dest", "iframe"), 503},
		{"a form", "POST", "/", navigation, 429},
		{"a fetch", "GET", "/api", header("Accept", "*/*", "Sec-Fetch-Dest", "empty"), 429},
		{"a fetch of HTML", "GET", "/", header("Accept", "text/html", "Sec-Fetch-Dest", "empty"), 429},
		{"an image", "GET", "/a.png", header("Accept", "image/*"), 429},
		{"a socket", "GET", "/ws", header("Accept", "text/html", "Connection", "Upgrade", "Upgrade", "websocket"), 429},
		{"a preflight", "OPTIONS", "/api", nil, 200},
		{"an asset", "GET", "/static/a/b.js", nil, 200},
		{"an asset that is a page", "GET", "/static/help", navigation, 200},
		{"an asset that is written to", "POST", "/static/hook", nil, 200},
		{"a file at the root", "GET", "/robots.txt?x=1", nil, 200},
		{"an ending", "GET", "/deep/down/a.css", nil, 200},
		{"another case", "GET", "/Static/a.js", nil, 429},
		{"a parameter", "GET", "/static/a;b.js", nil, 429},
		{"an escaped slash", "GET", "/static/..%2fpay", nil, 400},
		{"dots", "GET", "/static/../pay", navigation, 503},
		{"escaped dots", "GET", "/static/%2e%2E/pay", navigation, 503},
		{"escaped twice", "GET", "/static/%252e%252e/pay", navigation, 400},
	} {
		answer := s.browser().do(c.method, c.target, c.h)
		assert.Equalf(t, c.want, answer.StatusCode, "%s", c.what)
		if c.want != 200 {
			require.Equal(t, "no-store", answer.Header.Get("Cache-Control"), c.what)
		}
		if c.want == 429 {
			require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"), c.what)
			require.Equal(t, "5", answer.Header.Get("Retry-After"), c.what)
		}
	}
	got := s.gate.Stats()
	require.Equal(t, gate.Stats{Passed: 6, Waited: 5, Refused: 7, Odd: 2}, got)
}

// With a place every path of the site is as without the gate, however it is
// written.
func TestInsideAnyPath(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, nil)
	b := s.browser().enter()
	for _, target := range []string{"/a%2Fb", "/a//b/../c", "/x;y=1?q=%zz&;", "/%252e", "/a%3Fb"} {
		require.Equal(t, "the origin at "+target, b.do("GET", target, nil).text)
	}
}

// Only the listed paths wait, and the address to go on at stays on the site.
func TestWaitPatterns(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Wait = []string{"/checkout/**"} })
	for target, want := range map[string]int{"/": 200, "/checkout": 503, "/checkout/": 503, "/checkout./pay": 503, "//checkout/pay": 503, "/a/../checkout": 503, "/shoes": 200, "/checkouts": 200} {
		assert.Equalf(t, want, s.browser().open(target).StatusCode, "%s", target)
	}
	b := s.browser()
	b.open("//checkout/pay")
	s2 := b.open("/checkout")
	require.Equal(t, "/checkout", s2.Header.Get("Location"))
	all := newSite(t, queue.Config{Threshold: 1}, nil)
	b = all.browser()
	b.open("/")
	require.Equal(t, "/.//evil.example/", b.open("//evil.example/").Header.Get("Location"))
}

func TestConfigErrorsNameTheFieldAndTheFix(t *testing.T) {
	s := newSite(t, queue.Config{}, nil)
	address := func(raw string) *url.URL {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		return u
	}
	for want, change := range map[string]func(*gate.Config){
		"Config.Event is empty; name":            func(c *gate.Config) { c.Event = "" },
		"Config.Keys is nil; make":               func(c *gate.Config) { c.Keys = nil },
		"Config.Origin is \"ftp://x\"; give":     func(c *gate.Config) { c.Origin = address("ftp://x") },
		"Config.Origin is \"http://x?a\"; leave": func(c *gate.Config) { c.Origin = address("http://x?a") },
		"Config.Wait has \"x\": begin it":        func(c *gate.Config) { c.Wait = []string{"x"} },
		"Config.Pass has \"/a**\": ** stands":    func(c *gate.Config) { c.Pass = []string{"/a**"} },
		"Config.Pass has \"/a?b\": write":        func(c *gate.Config) { c.Pass = []string{"/a?b"} },
		"Config.Pass has \"/a//b\": it has":      func(c *gate.Config) { c.Pass = []string{"/a//b"} },
		"Config.Below is \"/\"; give":            func(c *gate.Config) { c.Below = "/" },
		"Config.RetryAfter is 1ms; give":         func(c *gate.Config) { c.RetryAfter = 1e6 },
		"Config.AliveEvery is 1h0m0s; give":      func(c *gate.Config) { c.AliveEvery = 60 * minute },
		"Event \"a/b\": set":                     func(c *gate.Config) { c.Event = "a/b" },
		"Config.Event is \"spring sale\"; use":   func(c *gate.Config) { c.Event = "spring sale" },
		"Config.Event is \"{sale}\"; use":        func(c *gate.Config) { c.Event = "{sale}" },
	} {
		cfg := gate.Config{Event: "sale", Keys: keys(t)}
		change(&cfg)
		_, err := gate.New(s.room, cfg)
		require.ErrorContains(t, err, want)
	}
	_, err := gate.New(nil, gate.Config{})
	require.ErrorContains(t, err, "the room is nil")
	judge, err := gate.New(s.room, gate.Config{Event: "sale", Keys: keys(t)})
	require.NoError(t, err)
	_, err = judge.Handler()
	require.ErrorContains(t, err, "Config.Origin is nil")
	_, err = judge.Judge(7)
	require.ErrorContains(t, err, "use gate.Forward, gate.Nginx or gate.Envoy")
}
