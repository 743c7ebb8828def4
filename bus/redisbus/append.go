package redisbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	failed := failures{}
	for len(byLane) > 0 {
		var all []chunk
		for lane, rest := range byLane {
			n := logdriver.Chunk(rest, most, appendBytes, func(e logdriver.Entry) int { return len(e.Payload) + len(e.Headers) })
			if byLane[lane] = rest[n:]; len(rest) == n {
				delete(byLane, lane)
			}
			p := s.partition(lane)
			all = append(all, chunk{s.appending(p, rest[:n]), lane, n, p})
		}
		s.send(ctx, all, failed)
		for lane := range failed {
			delete(byLane, lane)
		}
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// failures are the errors of an append, by lane. The entries of the other lanes are appended.
type failures map[int]error

// Error and Unwrap implement error.
func (f failures) Error() string { return errors.Join(f.Unwrap()...).Error() }

func (f failures) Unwrap() (all []error) {
	for _, lane := range slices.Sorted(maps.Keys(f)) {
		all = append(all, f[lane])
	}
	return all
}

// Lane tells the publisher which of the calls that share an append have failed.
func (f failures) Lane(lane int) error { return f[lane] }

// chunk is the part of a lane's entries that one script appends.
type chunk struct {
	*call
	lane, size int
	into       partition
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

// send appends by one script to each partition, in one round trip, and notes what has failed.
func (s *store) send(ctx context.Context, all []chunk, failed failures) {
	calls := make([]*call, len(all))
	for i, c := range all {
		calls[i] = c.call
	}
	unconfirmed := s.replicated(ctx, calls)
	for _, c := range all {
		length, err := c.result.Int()
		switch {
		case err != nil:
		case length < 0:
			length, err = s.makeRoom(ctx, c.call, c.into)
		default:
			err = unconfirmed
		}
		if err == nil && length == c.size {
			// The stream is new, or was lost: the topic may be lost too.
			err = s.restore(ctx, c.into.Topic)
		}
		if err != nil {
			failed[c.lane] = err
		}
	}
}

// makeRoom removes messages that every group has acknowledged, before their retention is
// over, and tries once more.
func (s *store) makeRoom(ctx context.Context, c *call, p partition) (length int, err error) {
	if err := s.scripts.prune.Run(ctx, s.client, []string{p.stream}, time.Now().UnixMilli(), 0).Err(); err != nil {
		return 0, err
	}
	unconfirmed := s.replicated(ctx, []*call{c})
	if length, err = c.result.Int(); err == nil {
		err = unconfirmed
	}
	if err == nil && length < 0 {
		err = fault.MarkInfrastructure(fmt.Errorf("%w: %s has %d messages that not every group has acknowledged; let them catch up, or raise ?maxlen=",
			errFull, p.stream, s.cfg.MaxLen))
	}
	return length, err
}
