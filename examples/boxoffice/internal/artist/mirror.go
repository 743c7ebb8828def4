package artist

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/singleflight"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Mirror answers reads and requests refreshes. It is safe for concurrent use.
type Mirror struct {
	store     *store.Store
	sql       statements
	askSQL    askStatements
	cfg       Config
	coalescer *coalesce.Coalescer
	publisher message.Publisher
	asks      *asks
	repeat    chan struct{} // has something when the table artist_asks has
	touches   *touches
	metrics   *metrics
	flights   singleflight.Group
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
	m := &Mirror{store: s, cfg: cfg.withDefaults(), coalescer: c, publisher: p, metrics: newMetrics()}
	if err := loadSQL(s, artistSQL, &m.sql); err != nil {
		return nil, err
	}
	if err := loadSQL(s, asksSQL, &m.askSQL); err != nil {
		return nil, err
	}
	m.asks, m.repeat = newAsks(m.cfg.Queue, m.cfg.Deferred, m.cfg.AskedFor), make(chan struct{}, 1)
	m.touches = newTouches()
	return m, nil
}

// Run asks for the refreshes that reads and [Mirror.Refresh] queue, and notes which
// artists were read, until ctx ends. Then it writes the queued refreshes to the
// database, from which another process or the next one asks for them. It returns nil.
func (m *Mirror) Run(ctx context.Context) error {
	m.run(ctx)
	return nil
}
