package queuehttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// buckets are a Taker that fills nothing up: a key has its burst, and then waits.
type buckets map[string]int

func (b buckets) Take(_ context.Context, key string, every time.Duration, burst int) time.Duration {
	if b[key] == burst {
		return every
	}
	b[key]++
	return 0
}

// rated is a site whose browsers have an address, from which three may join.
func rated(t *testing.T, threshold int, change func(*queuehttp.JoinRates)) (*site, func(user, from string) *browser) {
	t.Helper()
	rates := queuehttp.JoinRates{Limiter: buckets{}, Rate: queuehttp.JoinRate{PerSecond: 1, Burst: 3}, Proxies: queuehttp.Proxies{Peer: true}}
	if change != nil {
		change(&rates)
	}
	s := newSite(t, threshold, func(c *queuehttp.Config) { c.JoinRates = &rates })
	return s, func(user, from string) *browser {
		b := s.browser(user)
		b.header = http.Header{"X-Forwarded-For": {from}}
		return b
	}
}

func (b *browser) refusedJoin(a reply) {
	b.t.Helper()
	b.refused(a, 429, "too-many-joins", "")
	if a.header.Get("Retry-After") != "1" {
		b.t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
}

func TestJoinRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, from := rated(t, 1, nil)
		all := make([]*browser, 5)
		for i := range all {
			all[i] = from(fmt.Sprint("user", i), "198.51.100.1")
		}
		all[0].want(all[0].check("e"), "active", 0, 0, 0)
		all[1].want(all[1].check("e"), "queued", 1, 0, 0)
		all[2].want(all[2].check("e"), "queued", 2, 1, 0)
		for range 3 {
			all[3].refusedJoin(all[3].check("e"))
		}
		// Those in line and inside poll as ever, with a ticket and by their name alone.
		for range 10 {
			time.Sleep(pollPause)
			all[0].want(all[0].check("e"), "active", 0, 0, 0)
			all[1].want(all[1].check("e"), "queued", 1, 0, 1)
			clear(all[2].cookies)
			all[2].want(all[2].check("e"), "queued", 2, 1, 0)
		}
		// Other addresses, other events, and what joins no line are not refused.
		other := from("other", "198.51.100.2")
		other.want(other.check("e"), "queued", 3, 2, 0)
		all[3].want(all[3].check("f"), "active", 0, 0, 0)
		for path, method := range map[string]string{"heartbeat": "POST", "status": "GET"} {
			if a := all[4].do(method, "/api/queue/"+path+"/e", ""); a.body.Status != "none" {
				t.Errorf("%s: %d %s", path, a.status, a.text)
			}
		}
		if state, err := s.room.State(t.Context(), "e"); err != nil || state.Joined != 4 {
			t.Errorf("%d joined: %v", state.Joined, err)
		}
	})
}

// A ticket that is not the visitor's does not pass the bound.
func TestJoinRateWithAForeignTicket(t *testing.T) {
	_, from := rated(t, 1, nil)
	for i := range 3 {
		b := from(fmt.Sprint("user", i), "198.51.100.1")
		b.check("e")
	}
	thief := from("thief", "198.51.100.1")
	honest := from("honest", "198.51.100.2")
	thief.header.Set(queuehttp.TicketHeader, honest.check("e").body.Ticket)
	thief.refusedJoin(thief.check("e"))
	thief.header.Set(queuehttp.TicketHeader, "made up")
	thief.refusedJoin(thief.check("e"))
}

func TestJoinRateByNetwork(t *testing.T) {
	_, from := rated(t, 1, func(j *queuehttp.JoinRates) {
		j.Networks = map[netip.Prefix]queuehttp.JoinRate{
			netip.MustParsePrefix("198.51.100.0/24"):  {PerSecond: 2, Burst: 5},
			netip.MustParsePrefix("198.51.100.64/26"): {PerSecond: 1, Burst: 1},
			netip.MustParsePrefix("192.168.0.0/16"):   {PerSecond: 1, Burst: 2},
			netip.MustParsePrefix("203.0.113.0/24"):   {Unbounded: true},
		}
	})
	for address, want := range map[string]int{
		"198.51.100.1": 5, "198.51.100.2": 5, "198.51.100.65": 1, "203.0.113.9": 20, "192.0.2.1": 3,
		"192.168.1.1": 2, "10.0.0.1": 20, "127.0.0.1": 20, "fd00::1": 20, "fe80::1": 20,
	} {
		joined := 0
		for i := range 20 {
			b := from(fmt.Sprint(address, i), address)
			if b.check("e").status == 200 {
				joined++
			}
		}
		assert.Equalf(t, want, joined, "%d joined from %s", joined, address)
	}
	// A /64 is one address.
	joined := 0
	for i := range 20 {
		b := from(fmt.Sprint("v6", i), fmt.Sprintf("2001:db8::%x:1", i+1))
		if b.check("e").status == 200 {
			joined++
		}
	}
	assert.Equal(t, 3, joined, "joined from one /64")
	assert.Equal(t, 200, from("next", "2001:db8:0:1::1").check("e").status, "the next /64 is refused")
}

func TestUsualJoinRate(t *testing.T) {
	counted := buckets{}
	s, from := rated(t, 1, func(j *queuehttp.JoinRates) { j.Limiter, j.Rate = counted, queuehttp.JoinRate{} })
	for i := range 201 {
		b := from(fmt.Sprint(i), "198.51.100.1")
		if a := b.check("e"); (a.status == 200) != (i < 200) {
			t.Fatalf("join %d: %d", i+1, a.status)
		}
	}
	if counted["e/198.51.100.1"] != 200 {
		t.Error(counted)
	}
	// A request is counted once, however often the room asks.
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = "198.51.100.9:1"
	join := s.handlers.Join(r, "e", "u")
	for range 3 {
		assert.NoError(t, join(t.Context(), queue.State{}))
	}
	if counted["e/198.51.100.9"] != 1 {
		t.Error(counted)
	}
}

func TestJoinRateErrors(t *testing.T) {
	wrong := func(change func(*queuehttp.JoinRates)) error {
		rates := queuehttp.JoinRates{Limiter: buckets{}}
		change(&rates)
		s := newSite(t, 1, nil)
		_, err := queuehttp.New(s.room, s.entries, queuehttp.Config{User: func(*http.Request) (string, error) { return "u", nil }, JoinRates: &rates})
		return err
	}
	for want, change := range map[string]func(*queuehttp.JoinRates){
		"Config.JoinRates.Limiter is nil":       func(j *queuehttp.JoinRates) { j.Limiter = nil },
		"Config.JoinRates.Rate.PerSecond is -1": func(j *queuehttp.JoinRates) { j.Rate.PerSecond = -1 },
		"Config.JoinRates.Rate.Burst is -1":     func(j *queuehttp.JoinRates) { j.Rate.Burst = -1 },
		`Proxies.Header is "X-Real-IP"; give`:   func(j *queuehttp.JoinRates) { j.Proxies.Header = "X-Real-IP" },
		"Proxies.Networks has 0.0.0.0/0":        func(j *queuehttp.JoinRates) { j.Proxies.Networks = networks("0.0.0.0/0") },
		"the rate of 10.0.0.0/8: PerSecond is -7": func(j *queuehttp.JoinRates) {
			j.Networks = map[netip.Prefix]queuehttp.JoinRate{networks("10.0.0.0/8")[0]: {PerSecond: -7}}
		},
		"a network that is none": func(j *queuehttp.JoinRates) { j.Networks = map[netip.Prefix]queuehttp.JoinRate{{}: {}} },
		"has 10.0.0.0/8 twice": func(j *queuehttp.JoinRates) {
			j.Networks = map[netip.Prefix]queuehttp.JoinRate{netip.MustParsePrefix("10.0.0.0/8"): {}, netip.MustParsePrefix("10.1.0.0/8"): {}}
		},
	} {
		if err := wrong(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	assert.NoError(t, wrong(func(*queuehttp.JoinRates) {}))
}
