package redisbus

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// streamLog is logdriver.Log on streams. A group's cursor is the last-delivered-id of the
// stream's consumer group of that name, so XINFO GROUPS shows its lag, and a later
// XREADGROUP continues from there.
//
// In a Position, From is the id of a message, and ID the number of the stream's messages up
// to it, from the first ever on; -1 when unknown.
type streamLog struct {
	client    redis.UniversalClient
	keys      keys
	scripts   scripts
	lanes     *lanes
	directory *directory
	cfg       Config
	logger    *slog.Logger
	writes    *logdriver.Writes[*call]
}

var _ logdriver.Log = (*streamLog)(nil)

// Lease implements logdriver.Log.
func (l *streamLog) Lease(ctx context.Context, c logdriver.Cursor, holder string, ttl time.Duration) (logdriver.Lease, error) {
	p := l.lanes.partition(c.Lane)
	answer, err := l.scripts.lease.Run(ctx, l.client,
		[]string{p.stream, l.keys.lease(p.stream, c.Consumer)}, c.Consumer, holder, ttl.Milliseconds()).Slice()
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
		l.logger.Debug("bus: a consumer group was made", slog.String("stream", p.stream), slog.String("group", c.Consumer))
		if err := l.directory.restore(ctx, p.Topic); err != nil {
			return logdriver.Lease{}, err
		}
	}
	return logdriver.Lease{Cursor: c, Holder: holder, Token: got.token, Position: logdriver.Position{From: got.id, ID: got.count}}, nil
}

// Renew implements logdriver.Log.
func (l *streamLog) Renew(ctx context.Context, ttl time.Duration, leases ...logdriver.Lease) error {
	calls := make([]*call, len(leases))
	for i, lease := range leases {
		calls[i] = l.extend(lease, "", -1, ttl)
	}
	return l.writes.Add(ctx, calls...)
}

// Release implements logdriver.Log.
func (l *streamLog) Release(ctx context.Context, lease logdriver.Lease) error {
	p := l.lanes.partition(lease.Lane)
	return l.writes.Add(ctx, &call{
		script: l.scripts.release,
		keys:   []string{l.keys.lease(p.stream, lease.Consumer)},
		args:   []any{lease.Holder, lease.Token, l.keys.channel(p.Topic)},
	})
}

// Advance implements logdriver.Log.
func (l *streamLog) Advance(ctx context.Context, lease logdriver.Lease, p logdriver.Position, ttl time.Duration) error {
	if p.From == "" {
		p = logdriver.Position{From: "0-0", ID: -1}
	}
	return l.writes.Add(ctx, l.extend(lease, p.From, p.ID, ttl))
}

// extend extends the lease, and moves the cursor unless id is "".
func (l *streamLog) extend(lease logdriver.Lease, id string, count int64, ttl time.Duration) *call {
	part := l.lanes.partition(lease.Lane)
	return &call{
		script: l.scripts.advance,
		keys:   []string{part.stream, l.keys.lease(part.stream, lease.Consumer)},
		args:   []any{lease.Holder, lease.Token, lease.Consumer, id, count, ttl.Milliseconds()},
	}
}

// write is Make of logdriver.Writes: one round trip moves all cursors, and the next one releases
// the leases. A lost lease does not stop the cursors of others.
func (l *streamLog) write(ctx context.Context, calls []*call) error {
	var moves, releases []*call
	for _, c := range calls {
		if c.script == l.scripts.release {
			releases = append(releases, c)
		} else {
			moves = append(moves, c)
		}
	}
	if err := runAll(ctx, l.client, moves); err != nil {
		return err
	}
	for _, c := range moves {
		if moved, err := c.result.Int(); err != nil {
			return err
		} else if moved == 0 {
			return logdriver.ErrLeaseLost
		}
	}
	return runAll(ctx, l.client, releases)
}

// Prune implements logdriver.Log.
func (l *streamLog) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	return l.scripts.prune.Run(ctx, l.client, []string{l.lanes.partition(lane).stream}, before.UnixMilli(), limit).Int()
}

// Backlog implements logdriver.Log.
func (l *streamLog) Backlog(ctx context.Context, c logdriver.Cursor, lanes, limit int) (int, time.Time, error) {
	return logdriver.EachBacklog(c, lanes, func(c logdriver.Cursor) (int, time.Time, error) { return l.backlog(ctx, c, limit) })
}

func (l *streamLog) backlog(ctx context.Context, c logdriver.Cursor, limit int) (int, time.Time, error) {
	stream := l.lanes.partition(c.Lane).stream
	b, err := l.behind(ctx, stream, c.Consumer)
	if err != nil || b.oldest == "" {
		return 0, time.Time{}, err
	}
	if b.lag < 0 {
		if b.lag, err = l.count(ctx, stream, b.place, limit); err != nil {
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

func (l *streamLog) behind(ctx context.Context, stream, group string) (backlog, error) {
	return behind(ctx, l.client, l.scripts, stream, group)
}

func behind(ctx context.Context, client redis.UniversalClient, s scripts, stream, group string) (b backlog, err error) {
	answer, err := s.backlog.Run(ctx, client, []string{stream}, group).Slice()
	if err != nil {
		return b, err
	}
	return backlogOf(answer)
}

// countChunk bounds one read while counting: Redis cannot count messages without sending them.
const countChunk = 500

// count counts the messages after id, up to limit.
func (l *streamLog) count(ctx context.Context, stream, id string, limit int) (n int, err error) {
	for n < limit {
		found, err := l.client.XRangeN(ctx, stream, "("+id, "+", min(countChunk, int64(limit-n))).Result()
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
