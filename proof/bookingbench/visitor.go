package bookingbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/proof/together"
)

// shows and the seats of each, as the box office has them.
const (
	shows       = 5
	rows        = 20
	seatsPerRow = 25
)

// seat is a seat that can be booked.
type seat struct{ show, id string }

// seats are so many of the hall, each show in turn, so that no show is favoured.
func seats(n int) []seat {
	all := make([]seat, 0, n)
	for i := range n {
		in := i / shows
		all = append(all, seat{fmt.Sprintf("show-%d", i%shows+1), fmt.Sprintf("%c-%d", 'A'+in/seatsPerRow, in%seatsPerRow+1)})
	}
	return all
}

// visitor is a caller that has signed in and passed the waiting rooms.
type visitor struct {
	url    string
	client *http.Client
	token  string
	entry  string // into the show
}

// call sends a request and reads the answer, whose status must be want.
func (v *visitor) call(ctx context.Context, method, path, entry string, body any, want int, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	if entry != "" {
		req.Header.Set("x-queue-entry-token", entry)
	}
	res, err := v.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	answer, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != want {
		return fmt.Errorf("%s %s answered %d: %.300s", method, path, res.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// arrive signs in and passes the waiting room of a show.
func (v *visitor) arrive(ctx context.Context, member, show string) error {
	var login struct{ Token string }
	if err := v.call(ctx, http.MethodPost, "/api/login", "", map[string]string{"memberId": member}, http.StatusOK, &login); err != nil {
		return err
	}
	v.token = login.Token
	var place struct{ Status, EntryToken string }
	if err := v.call(ctx, http.MethodPost, "/api/queue/check/"+show, "", nil, http.StatusOK, &place); err != nil {
		return err
	}
	if place.Status != "active" || place.EntryToken == "" {
		return fmt.Errorf("the waiting room of %s says %q, though everybody may enter", show, place.Status)
	}
	v.entry = place.EntryToken
	return nil
}

func (v *visitor) book(ctx context.Context, s seat) error {
	return v.call(ctx, http.MethodPost, "/api/seats/reserve", v.entry, map[string]any{"eventId": s.show, "seatIds": []string{s.id}}, http.StatusCreated, nil)
}

// book makes visitors book a seat each, as fast as they are answered.
func book(ctx context.Context, cfg Config, o *office, got *result) error {
	callers := cfg.Callers * o.processes
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConns: 2 * callers, MaxIdleConnsPerHost: 2 * cfg.Callers, DisableCompression: true}}
	defer client.CloseIdleConnections()
	all := seats(cfg.Bookings)
	visitors := make([]*visitor, len(all))
	if err := together.Share(len(all), callers, func(i int) error {
		visitors[i] = &visitor{url: o.urls[i%len(o.urls)], client: client}
		return visitors[i].arrive(ctx, member(i), all[i].show)
	}); err != nil {
		return err
	}
	operator := &visitor{url: o.urls[0], client: client, token: o.admin}
	if err := operator.rest(ctx, 0); err != nil {
		return fmt.Errorf("before the sale: %w", err)
	}
	took := make([]time.Duration, len(all))
	start := time.Now()
	if err := together.Share(len(all), callers, func(i int) error {
		before := time.Now()
		err := visitors[i].book(ctx, all[i])
		took[i] = time.Since(before)
		return err
	}); err != nil {
		return err
	}
	got.booked = float64(cfg.Bookings) / time.Since(start).Seconds()
	if err := operator.rest(ctx, cfg.Bookings); err != nil {
		return fmt.Errorf("after the sale: %w", err)
	}
	got.published = float64(cfg.Bookings) / time.Since(start).Seconds()
	got.p50, got.p99 = percentile.Of(took, 0.5), percentile.Of(took, 0.99)
	return nil
}

func member(i int) string { return fmt.Sprintf("member-%d", i) }

// rest waits until at least so many events were published and none is pending.
func (v *visitor) rest(ctx context.Context, published int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var seen struct {
			Outbox struct{ Backlog, Published int }
		}
		if err := v.call(ctx, http.MethodGet, "/api/admin/ops?fresh=true", "", nil, http.StatusOK, &seen); err != nil {
			return err
		}
		if seen.Outbox.Backlog == 0 && seen.Outbox.Published >= published {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d events wait, and %d of %d were published: %w", seen.Outbox.Backlog, seen.Outbox.Published, published, ctx.Err())
		}
	}
}
