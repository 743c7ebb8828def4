package queuepagetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/chromiumtest"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

// shop is a site behind a gate with one place. Its pages name the visitor.
type shop struct {
	*testing.T
	url  string
	room *queue.Room
	paid atomic.Pointer[string] // the visitor of the last return by POST, as the site was told
}

func openShop(t *testing.T) *shop {
	t.Helper()
	chromium.Context(t) // skip before anything is started
	s := &shop{T: t}
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>shop</title><link rel=icon href=data:,><body data-view=inside data-user=%q>", r.Header.Get("X-Millrace-User"))
	})
	mux.HandleFunc("POST /pay/return", func(w http.ResponseWriter, r *http.Request) {
		user := r.Header.Get("X-Millrace-User")
		s.paid.Store(&user)
		http.Redirect(w, r, "/thanks", http.StatusSeeOther)
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	at, err := url.Parse(site.URL)
	must(err)
	ring, err := token.NewRing("a secret of this test that is long enough")
	must(err)
	memory, err := memqueue.New(memqueue.Config{})
	must(err)
	quiet := slog.New(slog.DiscardHandler)
	s.room, err = queue.New(memory, ring, queue.Config{Threshold: 1, Tick: 50 * time.Millisecond, Refresh: 50 * time.Millisecond, MaxStale: 300 * time.Millisecond, Logger: quiet})
	must(err)
	g, err := gate.New(s.room, gate.Config{Event: "sale", Keys: ring, Origin: at, Pass: []string{"/pay/return"}, Logger: quiet})
	must(err)
	handler, err := g.Handler()
	must(err)
	server := httptest.NewServer(handler)
	s.url = server.URL
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.room.Run(ctx) }) // it returns nil
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
		g.Close()
	})
	return s
}

// other is a visitor without a browser, who takes the place or lines up.
func (s *shop) other(name string) {
	s.Helper()
	if _, err := s.room.Check(s.Context(), "sale", queue.Visitor{User: name}); err != nil {
		s.Fatal(err)
	}
}

func (s *shop) leaves(name string) {
	s.Helper()
	if err := s.room.Leave(s.Context(), "sale", name); err != nil {
		s.Fatal(err)
	}
}

// has demands so many inside and in line.
func (s *shop) has(inside, inLine int) {
	s.Helper()
	state, err := s.room.State(s.Context(), "sale")
	if err != nil {
		s.Fatal(err)
	}
	if state.Active != inside || state.Waiting != inLine {
		s.Errorf("%d are inside and %d wait, want %d and %d", state.Active, state.Waiting, inside, inLine)
	}
}

// beside opens one more tab of the same browser.
func (tb *tab) beside() *tab {
	tb.Helper()
	ctx, cancel := chromedp.NewContext(tb.ctx)
	other := &tab{T: tb.T, ctx: ctx, base: tb.base, Console: chromiumtest.Listen(ctx)}
	other.Expect("Failed to load resource")
	tb.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // a tab that is gone already is as good
		cancel()
		for _, complaint := range other.Complaints() {
			tb.Errorf("the browser complained: %s", complaint)
		}
	})
	other.before(clockScript)
	return other
}

func (tb *tab) user() string {
	tb.Helper()
	tb.in("inside")
	return eval[string](tb, "document.body.dataset.user")
}

// TestBrowserBackFromTheBank pays at another site, and comes back: by a link, by a
// redirect and by a form, as banks do. The cookies of the gate are Lax: a browser does not
// send them with a form of another site.
func TestBrowserBackFromTheBank(t *testing.T) {
	s := openShop(t)
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := s.url + r.URL.Query().Get("to")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/link":
			fmt.Fprintf(w, "<!doctype html><link rel=icon href=data:,><body data-view=bank><a id=back href=%q>back</a>", to)
		case "/form":
			fmt.Fprintf(w, "<!doctype html><link rel=icon href=data:,><body data-view=bank><form method=post action=%q><input name=paid value=yes><button id=back>back</button></form>", to)
		default:
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	t.Cleanup(bank.Close)
	// Another host, and so another site.
	elsewhere := strings.Replace(bank.URL, "127.0.0.1", "localhost", 1)

	tb := open(t, s.url, phone())
	tb.visit("/seats")
	user := tb.user()
	require.Equalf(t, 22, len(user), "the shop was told %q", user)
	pays := func(how, to string) {
		t.Helper()
		eval[bool](tb, fmt.Sprintf("(location.href = %q, true)", elsewhere+how+"?to="+to))
		if how != "/redirect" {
			tb.in("bank")
			eval[bool](tb, "(document.getElementById('back').click(), true)")
		}
	}
	for _, how := range []string{"/link", "/redirect"} {
		pays(how, "/thanks/by"+how)
		tb.until("location.pathname === '/thanks/by" + how + "'")
		if back := tb.user(); back != user {
			t.Errorf("%s: came back as %q, left as %q", how, back, user)
		}
	}
	// A form reaches a path that needs no place. The shop is not told who it is, and the
	// page that it leads to is asked for with the cookies.
	pays("/form", "/pay/return")
	tb.until("location.pathname === '/thanks'")
	if back := tb.user(); back != user {
		t.Errorf("by a form: came back as %q, left as %q", back, user)
	}
	if told := s.paid.Load(); told == nil || *told != "" {
		t.Errorf("of the form the shop was told %v", told)
	}
	// To a path that needs a place it is refused, and the place is kept.
	pays("/form", "/seats")
	tb.until("document.body?.innerText.includes('place-needed')")
	tb.visit("/seats")
	if back := tb.user(); back != user {
		t.Errorf("after a refused form: %q, before %q", back, user)
	}
	s.has(1, 0)
}

// TestBrowserFourTabs opens four tabs, which are one visitor: one place in line, one
// inside, and all four go in.
func TestBrowserFourTabs(t *testing.T) {
	s := openShop(t)
	s.other("first")
	tabs := []*tab{open(t, s.url, phone())}
	for len(tabs) < 4 {
		tabs = append(tabs, tabs[0].beside())
	}
	for _, tb := range tabs {
		tb.visit("/seats")
		tb.says("position", "1")
	}
	s.other("last")
	s.has(1, 2)
	s.leaves("first")
	var users []string
	for _, tb := range tabs {
		tb.pollUntil("['turn', 'inside'].includes(document.body?.dataset.view)")
		if eval[string](tb, "document.body.dataset.view") == "turn" {
			eval[bool](tb, "(document.getElementById('enter-now').click(), true)")
		}
		users = append(users, tb.user())
	}
	for _, user := range users {
		if user != users[0] || len(user) != 22 {
			t.Errorf("the tabs are %q", users)
		}
	}
	s.has(1, 1)
}

// TestBrowserSharedLink gives the address of the waiting page to another browser, which
// begins at the end of the line. The place of the first stays as it is.
func TestBrowserSharedLink(t *testing.T) {
	s := openShop(t)
	s.other("first")
	mine := open(t, s.url, phone())
	mine.visit("/seats?from=a-friend")
	mine.says("position", "1")
	link := strings.TrimPrefix(eval[string](mine, "location.href"), s.url)
	theirs := open(t, s.url, phone())
	theirs.visit(link)
	theirs.says("position", "2")
	theirs.says("title", "You are in line")
	mine.reload()
	mine.says("position", "1")
	s.has(1, 2)
}

// TestBrowserClearedCookie removes the cookies of a visitor in line. The page says so,
// and how to go on: a new place, at the end.
func TestBrowserClearedCookie(t *testing.T) {
	s := openShop(t)
	s.other("first")
	tb := open(t, s.url, phone())
	tb.visit("/seats")
	tb.says("position", "1")
	s.other("last")
	set(tb, network.ClearBrowserCookies, cdp.Empty{})
	tb.poll()
	tb.in("failed")
	assert.Contains(t, tb.text("text"), "allow cookies", "the page")
	eval[bool](tb, "(globalThis.old = true, document.getElementById('again').click(), true)")
	tb.until("globalThis.old === undefined")
	tb.says("title", "You are in line")
	tb.says("position", "3") // behind "last", and behind the old place, until that is silent
	s.has(1, 3)
}
