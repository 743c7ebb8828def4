package queuebench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/together"
)

const (
	millrace = "millrace"
	peer     = "plain scripts"
)

// The loads, in the order of a round and of the table.
const (
	poll   = "poll"
	byName = "poll without ticket"
	join   = "join"
)

var loads = [...]string{poll, byName, join}

func admit(n int) string { return fmt.Sprintf("admit %d", n) }
func visit(n int) string { return fmt.Sprintf("join %d in a call", n) }
func sweep(n int) string { return fmt.Sprintf("sweep %d", n) }

// room is a waiting room under measurement.
type room interface {
	// fill lines people up in batches, which is not measured.
	fill(ctx context.Context, ids []string) ([]person, error)
	poll(ctx context.Context, who person) error
	// join lines a person up; learn reads the tickets of the people who joined.
	learn(people []person) error
	join(ctx context.Context, id string) (person, error)
	// flush sends Redis the pending signs of life.
	flush(ctx context.Context) error
	// ready waits until a tick can begin.
	ready(ctx context.Context) error
	// enter admits so many in one tick, and returns how many were admitted.
	enter(ctx context.Context, most int) (int, error)
	// strike makes the dead silent for longer than the grace.
	strike(ctx context.Context, living, dead []person) error
	// sweep returns how many were removed.
	sweep(ctx context.Context) (int, error)
	close() error
}

// contender is a room with its waiting people.
type contender struct {
	name   string
	room   room
	ids    names
	people []person // in order
}

func openMillrace(s *redisserver.Server, cfg Config) (*contender, error) {
	o, err := openOurs(s, cfg.Event, cfg.PoolSize)
	if err != nil {
		return nil, err
	}
	return &contender{name: millrace, room: o}, nil
}

func openPeer(s *redisserver.Server, cfg Config) *contender {
	return &contender{name: peer, room: openPlain(s, cfg.Event, cfg.PoolSize)}
}

func (c *contender) lineUp(ctx context.Context, count int) error {
	people, err := c.room.fill(ctx, c.ids.next(max(0, count)))
	c.people = append(c.people, people...)
	return err
}

// load measures one of the loads; ok is false when this contender does not have it.
func (c *contender) load(ctx context.Context, s *redisserver.Server, cfg Config, what string, draw *rand.Rand) (_ result, ok bool, err error) {
	ask := c.room.poll
	o, isOurs := c.room.(*ours)
	if isOurs {
		if err := o.restart(); err != nil {
			return result{}, false, err
		}
	}
	switch {
	case what == join:
		got, err := c.joins(ctx, s, cfg)
		return got, true, err
	case what == byName && !isOurs:
		return result{}, false, nil
	case what == byName:
		ask = o.named
	}
	for range callers { // the callers' connections are made, and a first snapshot
		if err := ask(ctx, c.people[draw.IntN(len(c.people))]); err != nil {
			return result{}, false, err
		}
	}
	// No person polls twice, as in a line that polls once a minute.
	crowd := shuffled(c.people, draw)
	var next atomic.Int64
	share := int64(max(1, min(64, len(crowd)/(4*callers)))) // so that a short line keeps all callers busy
	got, err := load(ctx, s, cfg.Span, func() func(ctx context.Context) error {
		var from, to int64
		return func(ctx context.Context) error {
			if from == to {
				to = next.Add(share)
				from = to - share
			}
			if from >= int64(len(crowd)) {
				return together.ErrDone
			}
			from++
			return ask(ctx, crowd[from-1])
		}
	}, c.room.flush)
	if isOurs && err == nil {
		counts := o.room.Stats()
		got.told = min(1, float64(counts.Beats)/float64(max(1, counts.Snapshot)))
	}
	return got, true, err
}

// joins lines people up one by one.
func (c *contender) joins(ctx context.Context, s *redisserver.Server, cfg Config) (result, error) {
	var next atomic.Uint64
	joined := make([][]person, 0, callers)
	got, err := load(ctx, s, cfg.Span, func() func(ctx context.Context) error {
		joined = append(joined, nil)
		mine := &joined[len(joined)-1]
		return func(ctx context.Context) error {
			who, err := c.room.join(ctx, name(c.ids.given+next.Add(1)))
			if err == nil {
				*mine = append(*mine, who)
			}
			return err
		}
	}, c.room.flush)
	c.ids.given += next.Load()
	if err != nil {
		return got, err
	}
	people := slices.Concat(joined...)
	c.people = append(c.people, people...)
	return got, c.room.learn(c.people[len(c.people)-len(people):])
}

// enter makes so many admitted, of the first.
func (c *contender) enter(ctx context.Context, n int) error {
	got, err := c.room.enter(ctx, n)
	if err == nil && got != n {
		err = fmt.Errorf("%d were admitted", got)
	}
	c.people = c.people[min(got, len(c.people)):]
	return err
}

func (c *contender) sweep(ctx context.Context, living []person, dead int) error {
	removed, err := c.room.sweep(ctx)
	if err == nil && removed != dead {
		err = fmt.Errorf("%d were removed", removed)
	}
	c.people = living
	return err
}
