package cheats

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// answer is the part of an answer that a person reads.
type answer struct {
	Status    string  `json:"status"`
	Position  int     `json:"position"`
	NextPoll  float64 `json:"nextPoll"`  // s
	ExpiresIn float64 `json:"expiresIn"` // s
	Ticket    string  `json:"ticket"`
}

// event is the event on sale.
const event = "sale"

// retry is how long people wait after a call without an answer.
const retry = time.Second

func name(n int) string { return fmt.Sprintf("fan-%d", n) }

// call makes a request of a person to the person's instance.
func (r *run) call(ctx context.Context, p *person, action, ticket string) (a answer, err error) {
	url := "http://" + r.grounds.instances[p.instance].address + "/api/queue/" + action + "/" + event
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return a, err
	}
	request.Header.Set("X-Fan", p.name)
	if ticket != "" {
		request.Header.Set("X-Queue-Ticket", ticket)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return a, err
	case response.StatusCode == http.StatusNoContent:
		return a, nil
	case response.StatusCode != http.StatusOK:
		return a, fmt.Errorf("%s: %d %s", url, response.StatusCode, body)
	}
	return a, json.Unmarshal(body, &a)
}

// insist makes a call until it is answered, at one instance after the other.
func (r *run) insist(ctx context.Context, p *person, action string) bool {
	for {
		if _, err := r.call(ctx, p, action, ""); err == nil {
			return true
		}
		p.refused++
		p.instance = (p.instance + 1) % instances
		if !r.wait(ctx, r.now()+retry) {
			return false
		}
	}
}

// wait returns false when the run is over.
func (r *run) wait(ctx context.Context, until time.Duration) bool {
	return backoff.Sleep(ctx, until-r.now()) == nil
}

// atTheEnd is for a person that stands at the end with the next answer.
func (r *run) atTheEnd(p *person, from time.Duration) {
	p.arrival = span{from: from}
	r.came.Add(1)
}

// live is all that a person does.
func (r *run) live(ctx context.Context, p *person) {
	due := p.comes
	if !r.wait(ctx, due) {
		return
	}
	r.atTheEnd(p, r.now())
	for {
		last := len(p.stays) - 1
		switch {
		case p.inside && p.kind != hoarder && r.now() >= p.stays[last].from+r.cfg.Stay:
			s := &p.stays[last]
			s.to, s.lost = r.now(), r.lost(s.from, 0)
			if r.insist(ctx, p, "done") {
				p.inside = false
				r.finished.Add(1)
			}
			return
		case !p.inside && p.arrival.to > 0 && p.chance.IntN(30) == 0 && (p.kind == rejoiner || p.kind == keeper && !p.replayed):
			if !r.insist(ctx, p, "leave") || !r.back(ctx, p) {
				return
			}
		}
		again, answered := r.poll(ctx, p, due)
		if answered && p.kind == silent {
			return
		}
		if p.kind == repeater {
			again = min(again, r.now()+time.Second)
			p.instance = p.chance.IntN(instances)
		}
		if due = again; !r.wait(ctx, due) {
			return
		}
	}
}

// back is what a person does after leaving the line.
func (r *run) back(ctx context.Context, p *person) bool {
	if p.kind == rejoiner {
		p.name += "+"
		p.ticket.Store(nil)
		r.atTheEnd(p, r.now())
		return true
	}
	p.left, p.replayed = r.now(), true
	if !r.wait(ctx, p.left+r.cfg.For/4) {
		return false
	}
	// The ticket of an arrival that was lost counts, once; and a leave may be lost.
	if !r.lost(p.arrival.to, 3*time.Second) && !r.lost(p.left, 0) {
		r.atTheEnd(p, r.now())
	}
	return true
}

// poll asks for the place, and returns when to ask again.
func (r *run) poll(ctx context.Context, p *person, due time.Duration) (again time.Duration, answered bool) {
	ticket, began := p.brings(), r.now()
	if p.kind == sharer {
		ticket = r.people[p.chance.IntN(len(r.people))].brings()
	}
	a, err := r.call(ctx, p, "check", ticket)
	now := r.now()
	if ctx.Err() != nil {
		return now, false
	}
	p.polled(now - due)
	if err != nil {
		p.refused++
		r.refused.Add(1)
		p.instance = (p.instance + 1) % instances
		return now + retry, false
	}
	if a.Ticket != "" {
		p.ticket.Store(&a.Ticket)
	}
	if p.arrival.to == 0 {
		p.arrival.to, p.rank = now, int(r.came.Load())
	}
	r.read(p, a, began, now)
	return now + time.Duration(a.NextPoll*float64(time.Second)), true
}

// read notes what an answer tells.
func (r *run) read(p *person, a answer, began, now time.Duration) {
	last := len(p.stays) - 1
	if p.inside && r.lost(p.stays[last].from, 0) {
		p.stays[last].lost, p.inside, p.since = true, false, now
	}
	expires := now + time.Duration(a.ExpiresIn*float64(time.Second))
	switch {
	case a.Status == "active":
		if p.inside && p.kind != honest && expires > p.until+3*time.Second { // over, and inside again
			p.stays[last].to, p.inside = p.until, false
			r.atTheEnd(p, began)
			p.arrival.to = now
		}
		if !p.inside {
			p.stays = append(p.stays, stay{span: span{from: now}, arrival: p.arrival, since: p.since})
			p.inside = true
			r.entered.Add(1)
		}
		p.until = expires
	case p.inside && p.kind == honest:
		p.none++
		p.stays[last].to, p.inside = now, false
	case p.inside && now >= p.until:
		p.stays[last].to, p.inside = p.until, false
		r.atTheEnd(p, began)
		p.arrival.to = now
	case a.Status != "queued" && p.kind == honest:
		p.none++
	case p.kind == honest:
		p.told = append(p.told, told{now, a.Position})
		if a.Position > p.rank {
			p.behind++
		}
	}
}
