package redisbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
)

var (
	// errFull is wrapped by the error of Publish when a partition has as many messages as
	// ?maxlen= allows, and groups have not acknowledged them.
	errFull = errors.New("redisbus: the stream is full")
	// errNotReplicated is wrapped by the error of Publish when fewer replicas than ?wait=
	// requires have confirmed in time. The messages are appended.
	errNotReplicated = errors.New("redisbus: too few replicas have confirmed")
)

// The most that one script appends, beyond its first message: it blocks Redis meanwhile.
const (
	appendEntries = 1000
	appendBytes   = 4 << 20
)

// append is logsub.Backend.Append. One script appends the messages of one partition, so no
// later message can overtake any of them; more than fit are appended by several scripts,
// one after the other.
func (s *store) append(ctx context.Context, entries []logdriver.Entry) error {
	if len(entries) == 1 && s.cfg.MaxLen == 0 && s.cfg.Wait == 0 {
		if done, err := s.appendOne(ctx, entries[0]); done || err != nil {
			return err
		}
	}
	most := appendEntries
	if s.cfg.MaxLen > 0 {
		most = min(most, s.cfg.MaxLen)
	}
	byLane := make(map[int][]logdriver.Entry)
	for _, e := range entries {
		byLane[e.Lane] = append(byLane[e.Lane], e)
	}
	for len(byLane) > 0 {
		var calls []*call
		var sizes []int
		var into []partition
		for lane, rest := range byLane {
			n := logdriver.Chunk(rest, most, appendBytes, func(e logdriver.Entry) int { return len(e.Payload) + len(e.Headers) })
			if byLane[lane] = rest[n:]; len(rest) == n {
				delete(byLane, lane)
			}
			p := s.partition(lane)
			calls, sizes, into = append(calls, s.appending(p, rest[:n])), append(sizes, n), append(into, p)
		}
		if err := s.send(ctx, calls, sizes, into); err != nil {
			return err
		}
	}
	return nil
}

// appendOne appends to an existing stream by a plain command, which costs a server a third
// of the script. It reports whether the stream existed.
func (s *store) appendOne(ctx context.Context, e logdriver.Entry) (done bool, err error) {
	err = s.client.XAdd(ctx, &redis.XAddArgs{
		Stream: s.partition(e.Lane).stream, NoMkStream: true,
		Values: []any{idField, e.MessageID, metadataField, e.Headers, payloadField, e.Payload},
	}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

func (s *store) appending(p partition, entries []logdriver.Entry) *call {
	args := make([]any, 1, 1+3*len(entries))
	args[0] = s.cfg.MaxLen
	for _, e := range entries {
		args = append(args, e.MessageID, e.Headers, e.Payload)
	}
	return &call{script: s.scripts.append, keys: []string{p.stream}, args: args}
}

// send appends by one script to each partition, in one round trip.
func (s *store) send(ctx context.Context, calls []*call, sizes []int, into []partition) error {
	if err := s.replicated(ctx, calls); err != nil {
		return err
	}
	for i, c := range calls {
		length, err := c.result.Int()
		if err == nil && length < 0 {
			length, err = s.makeRoom(ctx, c, into[i])
		}
		if err != nil {
			return err
		}
		if length == sizes[i] {
			// The stream is new, or was lost: the topic may be lost too.
			if err := s.restore(ctx, into[i].Topic); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeRoom removes messages that every group has acknowledged, before their retention is
// over, and tries once more.
func (s *store) makeRoom(ctx context.Context, c *call, p partition) (length int, err error) {
	if err := s.scripts.prune.Run(ctx, s.client, []string{p.stream}, time.Now().UnixMilli(), 0).Err(); err != nil {
		return 0, err
	}
	if err := s.replicated(ctx, []*call{c}); err != nil {
		return 0, err
	}
	if length, err = c.result.Int(); err == nil && length < 0 {
		err = fault.MarkInfrastructure(fmt.Errorf("%w: %s has %d messages that not every group has acknowledged; let them catch up, or raise ?maxlen=",
			errFull, p.stream, s.cfg.MaxLen))
	}
	return length, err
}
