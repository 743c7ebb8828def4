package artist

import (
	"context"
	"errors"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// desk is what the parts of a Mirror share.
type desk struct {
	store   *store.Store
	sql     statements
	cfg     Config
	metrics *metrics
	asks    *asks
}

// Mirror answers reads and requests refreshes. It is put together here of the parts that
// have its methods. It is safe for concurrent use.
type Mirror struct {
	*desk
	*Reader
	*Requests

	askers    *askers
	deferrals *deferrals
}

// New makes a Mirror on an open store. Refreshes are asked for under the id of
// the artist, at the coalescer, and published to the topics that [Topics] names.
// It does no I/O.
func New(s *store.Store, c *coalesce.Coalescer, p message.Publisher, cfg Config) (*Mirror, error) {
	switch {
	case s == nil:
		return nil, errors.New("artist: the store is nil; open one with store.Open")
	case c == nil:
		return nil, errors.New("artist: the coalescer is nil; make one with coalesce.New")
	case p == nil:
		return nil, errors.New("artist: the publisher is nil; use bus.Bus.Publisher")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	d := &desk{store: s, cfg: cfg, metrics: newMetrics(), asks: newAsks(cfg.Queue, cfg.Deferred, cfg.AskedFor)}
	if err := loadSQL(s, artistSQL, &d.sql); err != nil {
		return nil, err
	}
	m := &Mirror{desk: d, Requests: &Requests{coalescer: c, publisher: p}}
	m.askers = &askers{d, m.Requests}
	m.deferrals = &deferrals{desk: d, askers: m.askers, repeat: signal.New()}
	if err := loadSQL(s, asksSQL, &m.deferrals.table); err != nil {
		return nil, err
	}
	m.Reader = &Reader{desk: d, deferrals: m.deferrals, touches: newTouches(d)}
	return m, nil
}

// Run asks for the refreshes that reads and [Reader.Refresh] queue, and notes which
// artists were read, until ctx ends. Then it writes the queued refreshes to the
// database, from which another process or the next one asks for them, and the last
// reads. It returns nil.
func (m *Mirror) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { m.askers.run(ctx) })
	parts.Go(func() { m.touches.run(ctx) })
	parts.Go(func() { m.deferrals.run(ctx) })
	parts.Wait()
	m.asks.rest()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.AskTimeout)
	defer cancel()
	if err := m.deferrals.deferAll(last); err != nil {
		waiting, _, _ := m.asks.standing()
		m.cfg.Logger.Warn("refreshes that were queued are forgotten; the next reads ask for them", "artists", waiting, "error", err)
	}
	m.touches.write(last)
	return nil
}
