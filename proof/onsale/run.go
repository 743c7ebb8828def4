package onsale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/together"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// Run simulates an on-sale and writes its samples, each second and at the end. It
// leaves nothing behind.
func Run(ctx context.Context, cfg Config, out io.Writer) (err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	s := newSale(cfg)
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	fmt.Fprintln(out, s.preface())
	m := newMonitor(s)
	if err := m.begin(ctx); err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	if err := s.sell(ctx, m, out); err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	e := s.evidence()
	if e.last, e.state, err = census(ctx, s.store, cfg.Event, rules(cfg), cfg.People); err != nil {
		return fmt.Errorf("onsale: count who is where: %w", err)
	}
	m.report(out)
	return judge.Conclude(screen.New(out, true), findings(e))
}

func newSale(cfg Config) *sale {
	s := &sale{
		cfg: cfg, schedule: &schedule{start: time.Now()}, people: crowd(cfg), caller: newCaller(), failed: map[string]int{},
		check: actionOf("check", cfg.Event), heartbeat: actionOf("heartbeat", cfg.Event), done: actionOf("done", cfg.Event), leaving: actionOf("leave", cfg.Event),
	}
	s.record = newRecord(cfg.People, number, s.schedule.now)
	s.record.event = cfg.Event
	return s
}

// rules are those of the instances' rooms, for the census.
func rules(cfg Config) driver.Rules {
	return driver.Rules{
		Threshold: cfg.Threshold, Active: 600 * time.Second, Seen: 600 * time.Second, NoShow: cfg.NoShow,
		Tick: time.Second, Batch: cfg.Batch, SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
	}
}

// open makes the store and the instances. Close what it made even after an error.
func (s *sale) open(ctx context.Context) (err error) {
	var stores []driver.Store
	if s.cfg.Memory {
		store, err := memqueue.New(memqueue.Config{})
		if err != nil {
			return err
		}
		for range s.cfg.Instances {
			stores = append(stores, store)
		}
	} else {
		if s.redis, err = redisserver.Open(ctx, s.cfg.URL); err != nil {
			return err
		}
		s.closers = append(s.closers, s.redis.Close)
		if !s.redis.Own {
			s.closers = append(s.closers, func() error {
				return place.SweepRedis(context.WithoutCancel(ctx), s.cfg.URL, place.RoomPrefix(s.cfg.Event))
			})
		}
		for range s.cfg.Instances {
			client, err := redisdb.Open(s.redis.URL, redisdb.Config{Timeout: patience})
			if err != nil {
				return err
			}
			s.closers = append(s.closers, client.Close)
			store, err := redisqueue.New(client, redisqueue.Config{Prefix: place.RoomPrefix(s.cfg.Event)})
			if err != nil {
				return err
			}
			stores = append(stores, store)
		}
	}
	for _, store := range stores {
		if s.cfg.wrap != nil {
			store = s.cfg.wrap(store)
		}
		i, err := newInstance(s.recorded(store), s.cfg)
		if err != nil {
			return err
		}
		s.instances = append(s.instances, i)
	}
	s.store = s.recorded(stores[0])
	return nil
}

// close closes what open made, the last first.
func (s *sale) close() (err error) {
	for _, shut := range slices.Backward(s.closers) {
		err = errors.Join(err, shut())
	}
	return err
}

func (s *sale) recorded(store driver.Store) driver.Store {
	if s.cfg.settings != nil {
		return store
	}
	return recorded{store, s.record}
}

// begin lets people come, and the instances admit them until end is called.
func (s *sale) begin(ctx context.Context) (end func() error) {
	s.schedule.start = time.Now()
	for n := range s.people {
		s.schedule.put(s.people[n].comes, int32(n))
	}
	return together.Background(ctx, func(ctx context.Context) error {
		return together.All(len(s.instances), func(n int) error { return s.instances[n].room.Run(ctx) })
	})
}

// sell lets all people come, and ends with the window.
func (s *sale) sell(ctx context.Context, m *monitor, out io.Writer) error {
	end := s.begin(ctx)
	watched := together.Background(ctx, func(ctx context.Context) error { return m.watch(ctx, out) })
	window, over := context.WithTimeout(ctx, s.cfg.Window)
	defer over()
	// Calls in flight at the end of the window complete.
	s.schedule.run(window, s.cfg.Workers, func(n int32) time.Duration { return s.act(ctx, n) })
	return errors.Join(end(), watched(), ctx.Err())
}

func (s *sale) evidence() evidence {
	e := evidence{
		cfg: s.cfg, people: s.people, entries: s.record.inOrder(),
		forgotten: s.forgotten.Load(), unsealed: s.unsealed.Load(),
	}
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	e.places = s.record.places
	e.answers, e.unanswered, e.over, e.orders, e.moved = s.record.answers, s.record.lost, s.record.over, s.record.orders, s.record.moved
	return e
}
