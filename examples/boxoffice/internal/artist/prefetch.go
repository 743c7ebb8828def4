package artist

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"log/slog"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/prefetch.sql
var prefetchSQL string

const (
	prefetchLease = "artist-prefetch"
	// prefetchLeaseTTL is how long a killed process keeps others from taking over.
	prefetchLeaseTTL = 15 * time.Second
	// prefetchGivesWay ends a round while more requests of low priority wait: a quarter of a
	// minute at the low cap of 350/s.
	prefetchGivesWay = 5000
)

// tier is a group of artists that are refreshed without a reader: those that were read
// last at least readBefore ago and at most readWithin. A check may be as old as every.
type tier struct{ readBefore, readWithin, every time.Duration }

// tiers are hot, warm and cold, in the order in which they are served. Cold has all
// other artists, archived ones included: they stay archived while they do not change.
func tiers() []tier {
	const day = 24 * time.Hour
	return []tier{
		{readWithin: day, every: time.Hour},
		{readBefore: day, readWithin: 7 * day, every: 6 * time.Hour},
		{readBefore: 7 * day, readWithin: math.MaxInt64, every: day},
	}
}

// PrefetchConfig of a [Prefetch].
type PrefetchConfig struct {
	// Holder names this process in the lease; required.
	Holder string
	// Every is how often a round begins; 1 min when zero. A round with more artists to
	// ask for goes on until then.
	Every time.Duration
	// Pace bounds the requests in a second.
	Pace Pace
	// LowLag returns how many requests of low priority wait, from memory. Nil means that
	// the lag is unknown, and then prefetch relies on AskedFor alone.
	LowLag func() (messages int64, known bool)
	// AskedFor is how long an artist that was asked for is not asked for again;
	// 30 min when zero, the time in which low requests should be done.
	AskedFor time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c PrefetchConfig) validate() error {
	switch {
	case c.Holder == "":
		return errors.New("artist: PrefetchConfig.Holder is empty; name this process")
	case min(c.Every, c.AskedFor) < 0:
		return errors.New("artist: Every and AskedFor must not be negative; use 0 for the defaults")
	}
	return c.Pace.validate()
}

func (c PrefetchConfig) withDefaults() PrefetchConfig {
	c.Every = cmp.Or(c.Every, time.Minute)
	c.AskedFor = cmp.Or(c.AskedFor, 30*time.Minute)
	if c.LowLag == nil {
		c.LowLag = func() (int64, bool) { return 0, false }
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Pace = c.Pace.withDefaults()
	return c
}

// Prefetch asks for refreshes before a reader has to wait for one. Many processes may
// run it; the lease lets one of them do it.
type Prefetch struct {
	m   *Mirror
	cfg PrefetchConfig
	sql struct{ Due, Taken, GivenBack string }
	job *store.Job
	// The steps of a round, each second.
	take func(ctx context.Context, limit int) ([]string, error)
	ask  func(ctx context.Context, ids []string) (asked int, err error)
}

// NewPrefetch makes a Prefetch. It does no I/O.
func NewPrefetch(m *Mirror, cfg PrefetchConfig) (*Prefetch, error) {
	if m == nil {
		return nil, errors.New("artist: the mirror is nil; make one with New")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	p := &Prefetch{m: m, cfg: cfg, job: m.store.NewJob(prefetchLease, cfg.Holder, prefetchLeaseTTL, cfg.Logger)}
	p.take, p.ask = p.takeDue, p.askFor
	return p, loadSQL(m.store, prefetchSQL, &p.sql)
}

// Run begins a round at once and then every interval, until ctx ends. It returns nil.
// Failures are tried again with the next round.
func (p *Prefetch) Run(ctx context.Context) error {
	round := time.NewTicker(p.cfg.Every)
	defer round.Stop()
	defer p.job.GiveBack(ctx)
	for {
		if err := p.round(ctx); err != nil && ctx.Err() == nil {
			p.job.Lost()
			if !errors.Is(err, store.ErrLeaseHeld) {
				p.cfg.Logger.Warn("prefetch stopped, will go on with the next round", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-round.C:
		}
	}
}

// round asks second by second for the due artists, until none is due, the low topic
// is behind, or the next round is at hand.
func (p *Prefetch) round(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for end := time.Now().Add(p.cfg.Every - time.Second/2); ; {
		if n, known := p.cfg.LowLag(); known && n > prefetchGivesWay {
			p.m.metrics.count(func(s *Stats) { s.PrefetchSkipped++ })
			return nil
		}
		limit := p.cfg.Pace.At(time.Now())
		ids, err := p.take(ctx, limit)
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			asked, err := p.ask(ctx, ids)
			p.m.metrics.count(func(s *Stats) { s.PrefetchAsked += int64(asked) })
			if err != nil {
				return err
			}
		}
		if len(ids) < limit {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-second.C:
		}
		if !time.Now().Before(end) {
			return nil
		}
	}
}

// takeDue returns up to limit due artists, the hot ones first, and notes that they
// were asked for.
func (p *Prefetch) takeDue(ctx context.Context, limit int) (ids []string, err error) {
	lease, err := p.job.Take(ctx)
	if err != nil {
		return nil, err
	}
	err = p.m.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		ids = nil
		if err := lease.Keep(ctx, tx, prefetchLeaseTTL); err != nil {
			return err
		}
		for _, t := range tiers() {
			due, err := store.Column(ctx, tx, p.sql.Due, t.readBefore.Milliseconds(), t.readWithin.Milliseconds(),
				t.every.Milliseconds(), p.cfg.AskedFor.Milliseconds(), limit-len(ids))
			if err != nil {
				return err
			}
			if ids = append(ids, due...); len(ids) == limit {
				break
			}
		}
		return each(ctx, tx, p.sql.Taken, ids)
	})
	return ids, err
}

// prefetchAskers is how many requests are published at once.
const prefetchAskers = 16

// askFor publishes requests of low priority. Artists that could not be asked for are
// due again in the next round.
func (p *Prefetch) askFor(ctx context.Context, ids []string) (asked int, err error) {
	asking, wanted := errgroup.WithContext(ctx)
	asking.SetLimit(prefetchAskers)
	done := make([]bool, len(ids))
	for i, id := range ids {
		asking.Go(func() error {
			if wanted.Err() != nil {
				return nil
			}
			err := p.request(ctx, id)
			done[i] = err == nil
			return err
		})
	}
	err = asking.Wait()
	var failed []string
	for i, id := range ids {
		if !done[i] {
			failed = append(failed, id)
		}
	}
	if len(failed) > 0 {
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.m.cfg.AskTimeout)
		defer cancel()
		err = errors.Join(err, p.m.store.Write(back, func(ctx context.Context, tx *sql.Tx) error {
			return each(ctx, tx, p.sql.GivenBack, failed)
		}))
	}
	return len(ids) - len(failed), err
}

func (p *Prefetch) request(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, p.m.cfg.AskTimeout)
	defer cancel()
	_, err := p.m.request(ctx, id, event.Low, Prefetched)
	return err
}
