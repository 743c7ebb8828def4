package redisbus

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// store is logdriver's Log and Directory in Redis. A group's cursor is the last-delivered-id of the
// stream's consumer group of that name, so XINFO GROUPS shows its lag, and a later
// XREADGROUP continues from there.
//
// In a Position, From is the id of a message, and ID the number of the stream's messages up
// to it, from the first ever on; -1 when unknown.
type store struct {
	client  redis.UniversalClient
	keys    keys
	scripts scripts
	lanes   logdriver.Lanes
	cfg     Config
	logger  *slog.Logger
	pubsub  *redis.PubSub // made at the first use; see watch
}

var (
	_ logdriver.Log       = (*store)(nil)
	_ logdriver.Directory = (*store)(nil)
	_ logdriver.Places    = (*store)(nil)
)

// Lease implements logdriver.Log.
func (s *store) Lease(ctx context.Context, c logdriver.Cursor, holder string, ttl time.Duration) (logdriver.Lease, error) {
	p := s.partition(c.Lane)
	answer, err := s.scripts.lease.Run(ctx, s.client,
		[]string{p.stream, s.keys.lease(p.stream, c.Consumer)}, c.Consumer, holder, ttl.Milliseconds()).Slice()
	if err != nil {
		return logdriver.Lease{}, err
	}
	if len(answer) == 1 {
		return logdriver.Lease{}, logdriver.ErrLeaseHeld
	}
	got, err := leaseOf(answer)
	if err != nil {
		return logdriver.Lease{}, err
	}
	if got.made {
		// A new group, or one that Redis has lost, perhaps with more.
		s.logger.Debug("bus: a consumer group was made", slog.String("stream", p.stream), slog.String("group", c.Consumer))
		if err := s.restore(ctx, p.Topic); err != nil {
			return logdriver.Lease{}, err
		}
	}
	return logdriver.Lease{Cursor: c, Holder: holder, Token: got.token, Position: logdriver.Position{From: got.id, ID: got.count}}, nil
}

// Renew implements logdriver.Log.
func (s *store) Renew(ctx context.Context, ttl time.Duration, leases ...logdriver.Lease) error {
	for _, lease := range leases {
		if err := s.extend(ctx, lease, "", -1, ttl); err != nil {
			return err
		}
	}
	return nil
}

// Release implements logdriver.Log.
func (s *store) Release(ctx context.Context, lease logdriver.Lease) error {
	p := s.partition(lease.Lane)
	return s.scripts.release.Run(ctx, s.client, []string{s.keys.lease(p.stream, lease.Consumer)},
		lease.Holder, lease.Token, s.keys.channel(p.Topic)).Err()
}

// Advance implements logdriver.Log.
func (s *store) Advance(ctx context.Context, lease logdriver.Lease, p logdriver.Position, ttl time.Duration) error {
	if p.From == "" {
		p = logdriver.Position{From: "0-0", ID: -1}
	}
	return s.extend(ctx, lease, p.From, p.ID, ttl)
}

// extend extends the lease, and moves the cursor unless id is "".
func (s *store) extend(ctx context.Context, lease logdriver.Lease, id string, count int64, ttl time.Duration) error {
	stream := s.partition(lease.Lane).stream
	held, err := s.scripts.advance.Run(ctx, s.client, []string{stream, s.keys.lease(stream, lease.Consumer)},
		lease.Holder, lease.Token, lease.Consumer, id, count, ttl.Milliseconds()).Bool()
	if err == nil && !held {
		err = logdriver.ErrLeaseLost
	}
	return err
}

// Prune implements logdriver.Log.
func (s *store) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	return s.scripts.prune.Run(ctx, s.client, []string{s.partition(lane).stream}, before.UnixMilli(), limit).Int()
}

// Backlog implements logdriver.Log.
func (s *store) Backlog(ctx context.Context, c logdriver.Cursor, lanes, limit int) (int, time.Time, error) {
	return logdriver.EachBacklog(c, lanes, func(c logdriver.Cursor) (int, time.Time, error) { return s.backlog(ctx, c, limit) })
}

func (s *store) backlog(ctx context.Context, c logdriver.Cursor, limit int) (int, time.Time, error) {
	stream := s.partition(c.Lane).stream
	b, err := s.behind(ctx, stream, c.Consumer)
	if err != nil || b.oldest == "" {
		return 0, time.Time{}, err
	}
	if b.lag < 0 {
		if b.lag, err = s.count(ctx, stream, b.place, limit); err != nil {
			return 0, time.Time{}, err
		}
	}
	return min(b.lag+b.pending, limit), time.UnixMilli(millis(b.oldest)), nil
}

// backlog is how far a group is behind on a stream.
type backlog struct {
	group   bool   // it exists
	lag     int    // messages after the place; -1 when only counting can tell
	pending int    // messages that a consumer of XREADGROUP has not acknowledged
	place   string // the last message done
	oldest  string // the first that is not done; "" when there is none
}

func (s *store) behind(ctx context.Context, stream, group string) (backlog, error) {
	answer, err := s.scripts.backlog.Run(ctx, s.client, []string{stream}, group).Slice()
	if err != nil {
		return backlog{}, err
	}
	return backlogOf(answer)
}

// countChunk bounds one read while counting: Redis cannot count messages without sending them.
const countChunk = 500

// count counts the messages after id, up to limit.
func (s *store) count(ctx context.Context, stream, id string, limit int) (n int, err error) {
	for n < limit {
		found, err := s.client.XRangeN(ctx, stream, "("+id, "+", min(countChunk, int64(limit-n))).Result()
		if err != nil {
			return 0, err
		}
		n += len(found)
		if len(found) < countChunk {
			break
		}
		id = found[len(found)-1].ID
	}
	return n, nil
}
