package limitproof

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
	"github.com/millrace-go/millrace/redisclient"
)

// load is one worker's demand in one act, behind one limiter.
type load struct {
	job     job
	limiter *ratelimit.Limiter
	client  *http.Client
	all     sync.WaitGroup

	written, failed, asked, refused atomic.Int64

	mu        sync.Mutex
	firstHigh time.Duration
	slowest   time.Duration
}

// reopen is how long the breaker stays open: a default of 30 s would outlast an
// act.
const reopen = 500 * time.Millisecond

// grace is for the calls in flight at the end of an act.
const grace = 5 * time.Second

// perform makes the calls of a job until it is over.
func perform(ctx context.Context, j job) (done, error) {
	client, err := redisclient.Open(j.Redis, redisclient.Config{Timeout: time.Second})
	if err != nil {
		return done{}, err
	}
	defer client.Close() //nolint:errcheck // nothing is left to be lost
	store, err := redisratelimit.New(client, redisratelimit.Config{Name: j.Budget})
	if err != nil {
		return done{}, err
	}
	quiet := slog.New(slog.DiscardHandler)
	limiter, err := ratelimit.New(store, ratelimit.Config{
		Limits: j.Limits, BreakerOpenFor: reopen, Logger: quiet,
	})
	if err != nil {
		return done{}, err
	}
	l := &load{job: j, limiter: limiter}
	transport, err := ratelimit.NewTransport(limiter, ratelimit.TransportConfig{
		Base: &http.Transport{
			DialContext: dialer(&l.written), DisableCompression: true,
			MaxIdleConns: 512, MaxIdleConnsPerHost: 512, ResponseHeaderTimeout: grace,
		},
		Priority: priorityOf, Logger: quiet,
	})
	if err != nil {
		return done{}, err
	}
	l.client = &http.Client{Transport: transport}
	defer l.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, max(0, j.End-boottime.Now())+grace)
	defer cancel()
	pauses := watchPauses()
	l.run(ctx)
	d := done{
		Written: l.written.Load(), Failed: l.failed.Load(), Asked: l.asked.Load(), Refused: l.refused.Load(),
		FirstHigh: l.firstHigh, Slowest: l.slowest,
	}
	d.Collections, d.Pause = pauses.end()
	s := limiter.Stats()
	d.Acquired, d.Returned, d.Trips = s.Acquired[ratelimit.Low]+s.Acquired[ratelimit.High], s.Returned, s.StoreCalls
	return d, nil
}

// run starts all callers, and waits for the last answer.
func (l *load) run(ctx context.Context) {
	defer l.all.Wait()
	if !until(ctx, l.job.Begin) {
		return
	}
	d := l.job.Demand
	if d.Garbage {
		l.all.Go(func() { litter(ctx, l.job.End) })
	}
	from := l.job.Begin
	if d.Touch {
		for !l.call(ctx, ratelimit.High) && ctx.Err() == nil {
			until(ctx, boottime.Now()+10*time.Millisecond)
		}
		from = boottime.Now() // the bucket has not begun to fill before
	}
	if d.HighEvery > 0 {
		l.all.Go(func() { l.pace(ctx, d.HighEvery) })
	}
	for range d.HighCallers {
		l.all.Go(func() { l.hurry(ctx, ratelimit.High, from+d.HighOffset) })
	}
	for range d.LowCallers {
		l.all.Go(func() { l.hurry(ctx, ratelimit.Low, l.job.Begin) })
	}
	if d.LowAsks > 0 {
		l.all.Go(func() { l.flood(ctx, d.LowAsks) })
	}
}

// pace makes high calls at a steady rate.
func (l *load) pace(ctx context.Context, every time.Duration) {
	for at := l.job.Begin + l.job.Demand.HighOffset; at < l.job.End && until(ctx, at); at += every {
		l.all.Go(func() { l.call(ctx, ratelimit.High) })
	}
}

// hurry makes one call after the other.
func (l *load) hurry(ctx context.Context, p ratelimit.Priority, from time.Duration) {
	if !until(ctx, from) {
		return
	}
	for boottime.Now() < l.job.End && ctx.Err() == nil {
		if !l.call(ctx, p) {
			until(ctx, boottime.Now()+10*time.Millisecond) // Redis may be away
		}
	}
}

// flood asks for low calls and makes the permitted ones.
func (l *load) flood(ctx context.Context, perSecond int) {
	const round = 20 * time.Millisecond
	each := max(1, perSecond*int(round)/int(time.Second))
	for at := l.job.Begin; at < l.job.End && until(ctx, at); at += round {
		for range each {
			l.asked.Add(1)
			d, err := l.limiter.Allow(ctx, ratelimit.Low)
			if err != nil || !d.Allowed {
				l.refused.Add(1)
				continue
			}
			l.all.Go(func() {
				l.call(ratelimit.WithPermit(ctx, d.Permit), ratelimit.Low)
				_ = d.Permit.Return(ctx) // Redis may be away; then it is lost
			})
		}
	}
}

// call makes one call, and reports whether it got any answer.
func (l *load) call(ctx context.Context, p ratelimit.Priority) bool {
	asked := boottime.Now()
	err := l.send(ctx, p)
	if err != nil {
		l.failed.Add(1)
	}
	if p == ratelimit.High {
		l.mu.Lock()
		if l.firstHigh == 0 || asked < l.firstHigh {
			l.firstHigh = asked
		}
		l.slowest = max(l.slowest, boottime.Now()-asked)
		l.mu.Unlock()
	}
	return err == nil
}

func (l *load) send(ctx context.Context, p ratelimit.Priority) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.job.Upstream+"/artists/1", nil)
	if err != nil {
		return fmt.Errorf("limitproof: %w", err)
	}
	req.Header.Set(upstream.HeaderPriority, p.String())
	req.Header.Set(upstream.HeaderInstance, l.job.Instance)
	req.Header.Set(upstream.HeaderSentAt, unsent) // the connection knows the time
	res, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func priorityOf(r *http.Request) ratelimit.Priority {
	if r.Header.Get(upstream.HeaderPriority) == ratelimit.High.String() {
		return ratelimit.High
	}
	return ratelimit.Low
}

// until waits for a moment of boottime, and reports false when ctx ends first.
func until(ctx context.Context, at time.Duration) bool {
	return backoff.Sleep(ctx, at-boottime.Now()) == nil
}
