package queuehttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 2, nil)
		s.admit(t)
		admin := s.browser("admin")
		if a := admin.do("GET", "/api/queue/admin/plot/<b>", ""); a.status != 200 || !strings.Contains(a.text, "Nobody has come") || strings.Contains(a.text, "<b>") {
			t.Errorf("before anybody came: %d %s", a.status, a.text)
		}
		for i := range 5 {
			s.browser(fmt.Sprint("user", i)).check("<b>")
		}
		time.Sleep(70 * time.Second)
		a := admin.do("GET", "/api/queue/admin/figures/<b>", "")
		lines := strings.Split(strings.TrimSpace(a.text), "\n")
		if a.status != 200 || a.header.Get("Content-Type") != "text/csv; charset=utf-8" || a.header.Get("Cache-Control") != "no-store" || len(lines) < 2 ||
			lines[0] != "minute,joined,admitted,turned_up,finished,gone,waiting,active,timed,median_s,p95_s,laned,returned,returning,stock" ||
			lines[1] != "2000-01-01T00:00Z,5,2,2,0,0,3,2,0,0.0,0.0,0,0,0," {
			t.Errorf("%d %v %s", a.status, a.header, a.text)
		}
		a = admin.do("GET", "/api/queue/admin/plot/<b>", "")
		for _, want := range []string{"Figures of &lt;b&gt;", "joined: at most 5, at 00:00", `class="line c"`, "3 waiting, 2 inside"} {
			assert.Containsf(t, a.text, want, "%q is not in %s", want, a.text)
		}
		if strings.Contains(a.text, "<script") || !strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") {
			t.Errorf("%v", a.header)
		}
		for _, path := range []string{"figures", "plot"} {
			assert.Equalf(t, 401, s.browser("user1").do("GET", "/api/queue/admin/"+path+"/<b>", "").status, "%s by a user", path)
		}
	})
}

// A store that keeps none says so.
func TestNoFigures(t *testing.T) {
	s := newSite(t, 1, nil)
	ring, err := token.NewRing(secret)
	check(t, err)
	room, err := queue.New(struct{ driver.Store }{s.store}, ring, queue.Config{})
	check(t, err)
	h, err := queuehttp.New(room, s.entries, queuehttp.Config{User: func(*http.Request) (string, error) { return "u", nil }})
	check(t, err)
	admin := s.browser("admin")
	h.MountAdmin(s.mux.Handle, func(name string) string { return "/" + name + "/{eventId}" })
	admin.refused(admin.do("GET", "/figures/e", ""), 404, "no-figures", "")
}
