package app

import (
	"context"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
)

// newSocial makes the members' actions around a show.
func newSocial(b *base, shows *catalog.Catalog) (*social.Social, error) {
	deltas, err := newDeltas(b)
	if err != nil {
		return nil, err
	}
	s, err := social.New(b.store, shows, b.outbox, deltas, social.Config{Holder: b.holder, Logger: b.log})
	if err != nil {
		return nil, err
	}
	shows.SetPending(s.Pending)
	if err := s.Migrate(context.Background()); err != nil {
		return nil, err
	}
	return s, s.Open(context.Background())
}

// newDeltas has the comments that are not counted yet: in Redis, for all processes, or
// in this process: then only the workers' own processes show the uncounted comments.
func newDeltas(b *base) (driver.Store, error) {
	if b.cfg.RoomInMemory() || !b.cfg.Has(config.RoleAPI) && !b.cfg.Has(config.RoleWorker) {
		return memcounter.New(), nil
	}
	client, err := b.redis()
	if err != nil {
		return nil, err
	}
	return rediscounter.New(client, rediscounter.Config{Prefix: b.cfg.RedisPrefix})
}
