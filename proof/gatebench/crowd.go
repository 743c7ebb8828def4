package gatebench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/redisserver"
)

// waiting is the memory of a gate, in bytes.
type waiting struct {
	empty, full float64
	took        time.Duration // for all to line up
}

// crowd fills the room of a gate, in memory or on Redis.
func (g grounds) crowd(ctx context.Context, people int, v visitors, redis string) (got waiting, err error) {
	at, err := launch.FreeAddr()
	if err != nil {
		return got, err
	}
	operators, err := launch.FreeAddr()
	if err != nil {
		return got, err
	}
	flags := []string{"--to", "http://127.0.0.1:1", "--threshold", "1", "--admin-listen", operators, "--behind-proxy"}
	if redis != "" {
		flags = append(flags, "--redis", redis, "--prefix", place.RoomPrefix(event))
	}
	p, err := g.gate(ctx, at, flags...)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, p.Stop(startTimeout)) }()
	if got.empty, err = p.Resident(); err != nil {
		return got, err
	}
	start := time.Now()
	if err := lineUp(ctx, at, people, v); err != nil {
		return got, err
	}
	got.took = time.Since(start)
	if got.full, err = p.Resident(); err != nil {
		return got, err
	}
	return got, stand(ctx, operators, people-1) // the first one is inside
}

// crowdRedis is [grounds.crowd] on a Redis of its own.
func (g grounds) crowdRedis(ctx context.Context, people int, v visitors, url string) (got waiting, err error) {
	s, err := redisserver.Open(ctx, url)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !s.Own {
		defer func() {
			err = errors.Join(err, place.SweepRedis(context.WithoutCancel(ctx), s.URL, place.RoomPrefix(event)))
		}()
	}
	return g.crowd(ctx, people, v, s.URL)
}

// lineUp makes people poll once each, from addresses of their own. Each connection
// carries many of them, one behind the other.
func lineUp(ctx context.Context, at string, people int, v visitors) error {
	const conns, deep = 64, 50
	together, ctx := errgroup.WithContext(ctx)
	for i := range conns {
		together.Go(func() (err error) {
			w, err := dial(ctx, at, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, w.conn.Close()) }()
			stop := context.AfterFunc(ctx, func() { _ = w.conn.SetDeadline(time.Now()) })
			defer stop()
			for left, number := (people*(i+1))/conns-people*i/conns, people*i/conns; left > 0; {
				n := min(left, deep)
				var b strings.Builder
				for range n {
					number++
					fmt.Fprintf(&b, "POST /millrace-gate/check/%s HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\nX-Forwarded-For: 10.%d.%d.%d\r\nCookie: %s\r\nContent-Length: 0\r\n\r\n",
						event, at, number>>16&255, number>>8&255, number&255, v.cookie())
				}
				if _, err := w.conn.Write([]byte(b.String())); err != nil {
					return err
				}
				for range n {
					if _, err := w.answer(); err != nil {
						return err
					}
				}
				left -= n
			}
			return nil
		})
	}
	return together.Wait()
}

// stand demands that so many people wait.
func stand(ctx context.Context, operators string, want int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+operators+"/room", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	var room struct{ QueueSize int }
	if err := json.NewDecoder(answer.Body).Decode(&room); err != nil {
		return err
	}
	if room.QueueSize != want {
		return fmt.Errorf("%d people wait, and %d lined up", room.QueueSize, want)
	}
	return nil
}
