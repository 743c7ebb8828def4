package live

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
)

func (l *Live) mustTicket(t testing.TB, member string) string {
	t.Helper()
	ticket, _, err := l.Ticket(member)
	must(t, err)
	return ticket
}

// comes requests a stream with a ticket and cookies, and returns the cookies that
// were set.
func (l *Live) comes(ticket string, cookies ...*http.Cookie) (Tab, []*http.Cookie, error) {
	r := httptest.NewRequest(http.MethodGet, Path+"?ticket="+url.QueryEscape(ticket), nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	tab, err := l.Tab(w, r)
	return tab, w.Result().Cookies(), err
}

// TestTickets is the table of the package's documentation, over time.
func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := &memory{used: map[string]bool{}}
		shared := inMemory(t)
		shared.Spent = notes
		l := newLive(t, shared, Config{})
		wants := func(what string, ticket string, want error, cookies ...*http.Cookie) (Tab, []*http.Cookie) {
			t.Helper()
			tab, set, err := l.comes(ticket, cookies...)
			if !errors.Is(err, want) || (want != nil) != (tab == Tab{}) || want == nil && tab.Member != "ann" {
				t.Errorf("%s: %+v, %v, want %v", what, tab, err, want)
			}
			return tab, set
		}
		ticket, expires, err := l.Ticket("ann")
		if left := time.Until(expires); err != nil || left > TicketLasts || left <= TicketLasts-time.Second {
			t.Fatalf("a ticket for %v, %v", left, err)
		}
		unused, late := l.mustTicket(t, "ann"), l.mustTicket(t, "ann")
		first, cookies := wants("new", ticket, nil)
		if len(cookies) != 1 || first.Token == "" {
			t.Fatalf("%+v with the cookies %v", first, cookies)
		}
		wants("used, without the cookie", ticket, ErrSpent)
		again, set := wants("used, with the cookie", ticket, nil, cookies...)
		if again != first || len(set) != 0 {
			t.Errorf("the tab came back as %+v with the cookies %v, was %+v", again, set, first)
		}
		other, _ := wants("another tab of the browser", l.mustTicket(t, "ann"), nil, cookies...)
		if other.Token == first.Token {
			t.Error("two tickets are one tab")
		}
		time.Sleep(TicketLasts - time.Second)
		wants("new, at the end of its time", late, nil)
		time.Sleep(leeway + 2*time.Second)
		wants("never used, after its time", unused, auth.ErrExpired)
		wants("used, after its time, without the cookie", ticket, auth.ErrExpired)
		if again, _ := wants("used, after its time, with the cookie", ticket, nil, cookies...); again != first {
			t.Errorf("the tab came back as %+v, was %+v", again, first)
		}
		time.Sleep(spentFor)
		_, err = l.Redeem(t.Context(), l.mustTicket(t, "ann"))
		assert.NoError(t, err)
		if len(notes.used) != 1 || len(notes.ends) != 1 {
			t.Errorf("%d notes of used tickets are kept, want that of the last", len(notes.used))
		}
		time.Sleep(cookieLasts)
		wants("with a cookie of yesterday", ticket, auth.ErrExpired, cookies...)
	})
}

func TestRedeem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t, inMemory(t), Config{})
		ticket, late := l.mustTicket(t, "ann"), l.mustTicket(t, "ann")
		if member, err := l.Redeem(t.Context(), ticket); member != "ann" || err != nil {
			t.Fatal(member, err)
		}
		if member, err := l.Redeem(t.Context(), ticket); member != "" || !errors.Is(err, ErrSpent) {
			t.Errorf("a second time: %q, %v", member, err)
		}
		if tab, _, err := l.comes(ticket); !errors.Is(err, ErrSpent) {
			t.Errorf("a stream with it: %+v, %v", tab, err)
		}
		time.Sleep(TicketLasts + leeway + time.Second)
		if member, err := l.Redeem(t.Context(), late); member != "" || !errors.Is(err, auth.ErrExpired) {
			t.Errorf("late: %q, %v", member, err)
		}
		shared := inMemory(t)
		shared.Spent = broken{}
		l = newLive(t, shared, Config{})
		if member, err := l.Redeem(t.Context(), l.mustTicket(t, "ann")); member != "" || fault.Of(err) != fault.Infrastructure {
			t.Errorf("without the store: %q, %v", member, err)
		}
	})
}

// broken is a store that is unreachable.
type broken struct{}

var errBroken = errors.New("away")

func (broken) Spend(context.Context, string, time.Duration) (bool, error) { return false, errBroken }

// TestATicketIsGoodOnce: many ask at once, at two processes.
func TestATicketIsGoodOnce(t *testing.T) {
	server := redistest.StartServer(t)
	memory := inMemory(t)
	for name, shared := range map[string][2]Shared{
		"memory": {memory, memory},
		"Redis":  {inRedis(t, server, "p:"), inRedis(t, server, "p:")},
	} {
		t.Run(name, func(t *testing.T) {
			var processes [2]*Live
			for i := range processes {
				processes[i] = newLive(t, shared[i], Config{Streams: steady})
			}
			for range 10 {
				ticket := processes[0].mustTicket(t, "ann")
				var good atomic.Int32
				var all sync.WaitGroup
				for i := range 20 {
					all.Go(func() {
						tab, _, err := processes[i%2].comes(ticket)
						if err == nil && tab.unknown == nil {
							good.Add(1)
						} else if !errors.Is(err, ErrSpent) {
							t.Errorf("%+v, %v", tab, err)
						}
					})
				}
				all.Wait()
				if n := good.Load(); n != 1 {
					t.Fatalf("a ticket was good %d times", n)
				}
			}
		})
	}
	// The keys in Redis expire by themselves.
	client := redistest.Open(t, server.URL())
	keys, err := client.Keys(t.Context(), "p:sse:ticket:{*}").Result()
	if err != nil || len(keys) != 10 {
		t.Fatalf("the keys are %q, %v", keys, err)
	}
	if left, err := client.PTTL(t.Context(), keys[0]).Result(); err != nil || left <= 0 || left > spentFor {
		t.Errorf("a key stays for %v, %v", left, err)
	}
}

// TestChangedTokens: any byte changed, to any other.
func TestChangedTokens(t *testing.T) {
	l := newLive(t, inMemory(t), Config{})
	ticket := l.mustTicket(t, "ann")
	_, cookies, err := l.comes(ticket)
	must(t, err)
	changes := func(text string, try func(string)) {
		for i := range text {
			for _, c := range []byte{'A', 'B', '.', '-', '\n', 'x', '=', ' '} {
				if text[i] != c {
					try(text[:i] + string(c) + text[i+1:])
				}
			}
			try(text[:i])
			try(text[:i] + "A" + text[i:])
		}
		try(text + text)
	}
	changes(ticket, func(changed string) {
		if tab, _, err := l.comes(changed, cookies...); err == nil {
			t.Fatalf("%q is taken for %q, and is %+v", changed, ticket, tab)
		}
	})
	changes(cookies[0].Value, func(changed string) {
		r := httptest.NewRequest(http.MethodGet, Path, nil)
		r.Header.Set("Cookie", cookieName+"="+changed)
		// An equals sign at its end, a space or a quote are the header's, not the value's.
		if got := r.CookiesNamed(cookieName); len(got) == 1 && got[0].Value == cookies[0].Value {
			return
		}
		if l.knows(r, "ann") {
			t.Fatalf("the cookie %q is taken for %q", changed, cookies[0].Value)
		}
	})
}

func TestTokensOfAnotherKind(t *testing.T) {
	l := newLive(t, inMemory(t), Config{})
	login, err := auth.NewLogin(secret) // even with one secret for all
	must(t, err)
	signIn, _, err := login.Issue("ann")
	must(t, err)
	ticket := l.mustTicket(t, "ann")
	_, cookies, err := l.comes(ticket)
	must(t, err)
	other, err := New("fedcba9876543210fedcba9876543210", inMemory(t), Config{Logger: quiet})
	must(t, err)
	nobody, err := l.tickets.sign(claims{Member: "a b", ID: "1", Ends: time.Now().Add(time.Minute).Unix()})
	must(t, err)
	for name, c := range map[string]struct {
		ticket string
		want   error
	}{
		"a cookie":               {cookies[0].Value, auth.ErrSignature},
		"a sign-in":              {signIn, auth.ErrMalformed},
		"of another secret":      {other.mustTicket(t, "ann"), auth.ErrSignature},
		"none":                   {"", auth.ErrMissing},
		"a word":                 {"x", auth.ErrMalformed},
		"of nobody there can be": {nobody, auth.ErrMalformed},
	} {
		if tab, _, err := l.comes(c.ticket, cookies...); !errors.Is(err, c.want) || tab != (Tab{}) {
			t.Errorf("%s as a ticket: %+v, %v, want %v", name, tab, err, c.want)
		}
	}
	_, foreign, err := other.comes(other.mustTicket(t, "ann"))
	must(t, err)
	for name, value := range map[string]string{"a ticket": ticket, "a sign-in": signIn, "of another secret": foreign[0].Value, "nothing": ""} {
		if tab, _, err := l.comes(ticket, &http.Cookie{Name: cookieName, Value: value}); !errors.Is(err, ErrSpent) {
			t.Errorf("%s as a cookie: %+v, %v", name, tab, err)
		}
	}
	if _, err := login.Member(&http.Request{Header: http.Header{"Authorization": {"Bearer " + ticket}}}); err == nil {
		t.Error("a ticket is a sign-in")
	}
	if _, _, err := l.Ticket("a b"); err == nil {
		t.Error("a ticket for a member that there cannot be")
	}
}

// TestTheCookieIsTheMembers: a sign-in as another member does not combine the two.
func TestTheCookieIsTheMembers(t *testing.T) {
	l := newLive(t, inMemory(t), Config{})
	anns, bobs := l.mustTicket(t, "ann"), l.mustTicket(t, "bob")
	_, ann, err := l.comes(anns)
	must(t, err)
	_, bob, err := l.comes(bobs, ann...)
	must(t, err)
	require.Len(t, bob, 1, "bob's cookies")
	if tab, _, err := l.comes(bobs, ann...); !errors.Is(err, ErrSpent) {
		t.Errorf("bob's ticket with ann's cookie: %+v, %v", tab, err)
	}
	if tab, _, err := l.comes(anns, bob...); !errors.Is(err, ErrSpent) {
		t.Errorf("ann's ticket with bob's cookie: %+v, %v", tab, err)
	}
	if tab, _, err := l.comes(bobs, append(ann, bob...)...); err != nil || tab.Member != "bob" {
		t.Errorf("with both cookies: %+v, %v", tab, err)
	}
}

func TestTheCookie(t *testing.T) {
	for name, c := range map[string]struct {
		cfg    Config
		tls    *tls.ConnectionState
		secure bool
	}{
		"plain":        {},
		"TLS":          {tls: &tls.ConnectionState{}, secure: true},
		"behind a TLS": {cfg: Config{Secure: func(*http.Request) bool { return true }}, secure: true},
	} {
		l := newLive(t, inMemory(t), c.cfg)
		r := httptest.NewRequest(http.MethodGet, Path+"?ticket="+l.mustTicket(t, "ann"), nil)
		r.TLS = c.tls
		w := httptest.NewRecorder()
		_, err := l.Tab(w, r)
		require.NoError(t, err)
		cookies := w.Result().Cookies()
		require.Lenf(t, cookies, 1, "%s", name)
		got := cookies[0]
		if !got.HttpOnly || got.SameSite != http.SameSiteStrictMode || got.Path != "/api/notifications/stream" || got.Secure != c.secure ||
			got.MaxAge != 24*60*60 || got.Domain != "" {
			t.Errorf("%s: %v", name, got)
		}
	}
}
