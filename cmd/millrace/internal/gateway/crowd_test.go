package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue/queuehttp"
)

// round is what a visitor gets for a page, for an asset that needs no place, and for a poll.
type round struct{ page, asset, poll string }

// witness is a visitor who keeps a log, and turns to another gate when one does not answer.
type witness struct {
	t      *testing.T
	number int
	client http.Client
	homes  []string
	ticket string   // as the page keeps it
	log    []string // of all answers
}

func newWitness(t *testing.T, number int, homes []string) *witness {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &witness{t: t, number: number, homes: homes, client: http.Client{
		Jar: jar, Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// round makes the requests of a page that is open.
func (w *witness) round() round {
	got := round{page: w.ask("GET", "/seats", "text/html"), asset: w.ask("GET", "/static/a", "*/*")}
	if got.page == "enters" {
		got.page = w.ask("GET", "/seats", "text/html")
	}
	got.poll = w.ask("POST", "/millrace-gate/check/sale", "application/json")
	return got
}

// ask makes a request at the first gate that answers, and writes the answer down.
func (w *witness) ask(method, path, accept string) (answer string) {
	for range w.homes {
		answer = w.asked(w.homes[0], method, path, accept)
		w.log = append(w.log, answer)
		if !strings.HasPrefix(answer, "cut") {
			return answer
		}
		w.homes = append(w.homes[1:], w.homes[0])
	}
	return answer
}

func (w *witness) asked(home, method, path, accept string) string {
	r, err := http.NewRequestWithContext(context.Background(), method, home+path, nil)
	if err != nil {
		return "wrong: " + err.Error()
	}
	r.Header.Set("Accept", accept)
	if w.ticket != "" {
		r.Header.Set(queuehttp.TicketHeader, w.ticket)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return "cut: " + err.Error()
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "cut: " + err.Error()
	}
	text, kind, later := string(body), answer.Header.Get("Content-Type"), answer.Header.Get("Retry-After") != "" && answer.Header.Get("Cache-Control") == "no-store"
	switch {
	case answer.StatusCode == 200 && text == "the site at "+path:
		return "site"
	case answer.StatusCode == 303 && answer.Header.Get("Location") == path:
		return "enters"
	case answer.StatusCode == 503 && later && strings.HasPrefix(kind, "text/html") && strings.Contains(text, `"event":"sale"`):
		return "waits"
	case answer.StatusCode == 503 && later && kind == "application/problem+json":
		return "busy"
	case answer.StatusCode == 502 && kind == "application/problem+json" && strings.Contains(text, "origin-unreachable"):
		return "no site"
	case answer.StatusCode == 204:
		return "left"
	}
	var place struct {
		Status, Ticket string
		Position       int
	}
	if answer.StatusCode != 200 || json.Unmarshal(body, &place) != nil {
		return fmt.Sprintf("wrong: %d %v %.200s", answer.StatusCode, answer.Header, text)
	}
	if place.Ticket != "" {
		w.ticket = place.Ticket
	}
	if place.Status == "queued" {
		return fmt.Sprint("queued at ", place.Position)
	}
	return place.Status
}

// crowd are visitors who have come one after the other, and go on asking all the time.
type crowd struct {
	t      *testing.T
	all    []*witness
	rounds chan told
	ends   chan struct{}
	once   sync.Once
	left   sync.WaitGroup
}

// told is a round that a visitor has made.
type told struct {
	by *witness
	round
}

func newCrowd(t *testing.T, n int, homes ...string) *crowd {
	t.Helper()
	c := &crowd{t: t, rounds: make(chan told), ends: make(chan struct{})}
	for i := range n {
		w := newWitness(t, i, []string{homes[i%len(homes)], homes[(i+1)%len(homes)]})
		w.round() // it brings the cookie, and a place
		c.all = append(c.all, w)
	}
	for _, w := range c.all {
		c.left.Go(func() {
			for {
				got := w.round()
				select {
				case c.rounds <- told{w, got}:
				case <-c.ends:
					return
				}
			}
		})
	}
	t.Cleanup(c.stop)
	return c
}

// stop ends the visitors' asking.
func (c *crowd) stop() {
	c.once.Do(func() {
		close(c.ends)
		c.left.Wait()
	})
}

// settles waits until each visitor gets what is wanted. From then on each of them has
// to get it again and again.
func (c *crowd) settles(when string, want func(*witness) round) {
	c.t.Helper()
	const again = 4
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	last, settled := map[*witness]round{}, map[*witness]bool{}
	for len(settled) < len(c.all) {
		select {
		case got := <-c.rounds:
			if last[got.by] = got.round; got.round == want(got.by) {
				settled[got.by] = true
			}
		case <-late.C:
			for _, w := range c.all {
				c.t.Logf("visitor %d got %+v, wants %+v", w.number, last[w], want(w))
			}
			c.t.Fatalf("%s: it does not settle", when)
		}
	}
	times := map[*witness]int{}
	for done := 0; done < len(c.all); {
		select {
		case got := <-c.rounds:
			if got.round != want(got.by) {
				c.t.Errorf("%s: visitor %d got %+v, wants %+v", when, got.by.number, got.round, want(got.by))
			}
			if times[got.by]++; times[got.by] == again {
				done++
			}
		case <-late.C:
			c.t.Fatalf("%s: the visitors do not get on", when)
		}
	}
}
