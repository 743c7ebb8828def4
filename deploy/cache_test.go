package deploy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/queue/gate"
)

// eager is a cache that stores whatever it is not forbidden to store.
const eager = `user root; # to write to the test's folder
events {}
http {
	proxy_cache_path FOLDER/cache keys_zone=all:1m;
	server {
		listen AT;
		location / {
			proxy_cache all;
			proxy_cache_valid any 10m;
			proxy_cache_methods GET HEAD;
			add_header X-Cached $upstream_cache_status always;
			proxy_set_header Host $http_host;
			proxy_set_header X-Forwarded-For $remote_addr;
			proxy_set_header X-Forwarded-Proto $scheme;
			proxy_pass http://GATE;
		}
	}
}
`

// TestCacheBeforeGate: a real cache before the gate stores assets, and nothing that the
// gate decides or that a place is needed for. It is nginx with a lifetime of ten minutes
// for all answers that do not forbid it.
func TestCacheBeforeGate(t *testing.T) {
	path := program(t, "nginx")
	b := newBehind(t, "", (*gate.Gate).Handler, func(c *gate.Config) { c.Proxied = true })
	b.at = freeAddress(t)
	text := strings.NewReplacer("FOLDER", t.TempDir(), "AT", b.at, "GATE", b.judge.Listener.Addr().String()).Replace(eager)
	listening(t, b.at, path, "cache.conf", text, nginxArgs)

	first, second := b.visitor(), b.visitor()
	asks := func(v *visitor, status int, text, method, target string, h http.Header) {
		t.Helper()
		if answer := v.want(status, text, method, target, h); answer.Get("X-Cached") == "HIT" {
			t.Errorf("%s %s came from the cache: %v", method, target, answer)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		asks(b.visitor(), 503, "", method, "/seats", document)
		asks(b.visitor(), 429, "", method, "/seats", nil)
		asks(b.visitor(), 400, "", method, "/static/..%2fseats", nil)
	}
	asks(first, 503, `"event":"sale"`, "GET", "/seats", document)
	asks(first, 303, "", "GET", "/seats", document)
	for range 2 {
		asks(first, 200, "the site at /seats", "GET", "/seats", document)
		asks(first, 200, "the site at /api", "GET", "/api", nil)
	}
	// The others get none of it: not the page of the visitor inside, nor the entry.
	for range 2 {
		asks(second, 503, `"event":"sale"`, "GET", "/seats", document)
		asks(second, 429, "place-needed", "GET", "/api", nil)
		asks(b.visitor(), 403, "cookies-needed", "GET", "/millrace-gate/status/sale", nil)
	}
	asks(second, 200, `"position":1`, "GET", "/millrace-gate/status/sale", nil)

	before := b.reached.Load()
	for i, v := range []*visitor{second, first, second} {
		want := "HIT"
		if i == 0 {
			want = "MISS"
		}
		if answer := v.want(200, "the site at /static/a.css", "GET", "/static/a.css", nil); answer.Get("X-Cached") != want {
			t.Errorf("the asset's visit %d: %v", i+1, answer)
		}
	}
	if n := b.reached.Load() - before; n != 1 {
		t.Errorf("the site was asked %d times for one asset", n)
	}
}
