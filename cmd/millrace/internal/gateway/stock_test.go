package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// No visitor enters beyond the stock of the site, whatever the threshold is; what is no
// answer counts as a failure, and the log does not tell the URL's password.
func TestStock(t *testing.T) {
	at, _, _ := site(t)
	var answer atomic.Pointer[string]
	say := func(text string) { answer.Store(&text) }
	asked := make(chan struct{}, 64)
	told := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "geheim" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, *answer.Load()) //nolint:errcheck // the client tells
		select {
		case asked <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(told.Close)
	say(" 1\n")
	s := settings(at)
	s.Threshold, s.Stock = 100, strings.Replace(told.URL, "://", "://site:geheim@", 1)+"/stock"
	server, _ := start(t, s)
	home, op := "http://"+server.Addr(), "http://"+server.AdminAddr()
	first, second := visitor(t), visitor(t)
	for _, c := range []*client{first, second} {
		c.want(503, "sale", "GET", home+"/", "")
	}
	first.want(200, "the site", "GET", home+"/", "")
	second.want(503, "sale", "GET", home+"/", "")
	visitor(t).want(200, `"stock":1`, "GET", op+"/room", "")
	say(`{"stock": 2}`)
	for len(asked) > 0 {
		<-asked
	}
	for range 3 { // the first may have the old answer; the third comes after the second has reached the room
		<-asked
	}
	second.want(200, "the site", "GET", home+"/", "")
	visitor(t).want(200, `millrace_queue_stock{event="sale"} 2`, "GET", op+"/metrics", "")
}
