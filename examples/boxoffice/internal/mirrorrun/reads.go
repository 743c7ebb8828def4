package mirrorrun

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
)

// readers read artists from the office.
type readers struct {
	url  string
	http *http.Client
	ids  []string

	mu        sync.Mutex
	took      []time.Duration
	turned    []time.Duration // from a read until the artist was fresh
	never     int             // artists that did not turn fresh in time
	failed    int
	failure   error // the first
	estimates int   // answers that told how long it takes
}

// turnsWithin bounds the wait for an artist to turn fresh.
const turnsWithin = 30 * time.Second

func newReaders(url string, ids []string) *readers {
	return &readers{url: url, ids: ids, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: 20 * time.Second,
	}}
}

// run reads at a rate for a time, each artist in its turn, and follows at most
// followers of them until they are fresh. The number is small, because a follower
// reads too and must not slow down a slow mirror.
func (r *readers) run(ctx context.Context, perSecond int, lasts time.Duration, followers int) {
	follow := make(chan struct{}, followers)
	var reads sync.WaitGroup
	defer reads.Wait()
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	end := time.NewTimer(lasts)
	defer end.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-tick.C:
		}
		id := r.ids[n%len(r.ids)]
		reads.Go(func() {
			select {
			case follow <- struct{}{}:
				defer func() { <-follow }()
				r.read(ctx, id, true)
			default:
				r.read(ctx, id, false)
			}
		})
	}
}

// read reads an artist and, when it is followed and not fresh, waits for it.
func (r *readers) read(ctx context.Context, id string, followed bool) {
	began := time.Now()
	v, err := r.get(ctx, id)
	took := time.Since(began)
	r.mu.Lock()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if r.failed++; r.failure == nil {
			r.failure = err
		}
	default:
		r.took = append(r.took, took)
		if v.EstimatedWaitMs != nil {
			r.estimates++
		}
	}
	r.mu.Unlock()
	if err != nil || !followed || !v.UpdateQueued {
		return
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < turnsWithin {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if v, err = r.get(ctx, id); err == nil && v.Freshness == artist.Fresh {
			r.mu.Lock()
			r.turned = append(r.turned, time.Since(began))
			r.mu.Unlock()
			return
		}
	}
	r.mu.Lock()
	r.never++
	r.mu.Unlock()
}

func (r *readers) get(ctx context.Context, id string) (v artist.View, err error) {
	body, err := ask(ctx, r.http, r.url+"/api/artists/"+id)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(body, &v)
}

func (r *readers) close() { r.http.CloseIdleConnections() }
