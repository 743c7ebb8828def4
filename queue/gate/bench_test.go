package gate_test

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/millrace-go/millrace/queue"
)

// The gate's own work for a request of a visitor inside, with an origin in memory.
func BenchmarkInside(b *testing.B) {
	s := newSite(b, queue.Config{Threshold: 1}, nil)
	inside := s.browser().enter()
	r := httptest.NewRequest("GET", "http://shop.example/seats?row=7", nil)
	for _, c := range inside.jar.Cookies(&url.URL{Scheme: "http", Host: "shop.example", Path: "/"}) {
		r.AddCookie(c)
	}
	for name, value := range map[string]string{"Accept": "text/html", "Accept-Language": "en", "Accept-Encoding": "gzip", "User-Agent": "Mozilla/5.0", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"} {
		r.Header.Set(name, value)
	}
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		if s.handler.ServeHTTP(w, r); w.Code != 200 {
			b.Fatal(w.Code, w.Body.String())
		}
	}
}
