package redisserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Blocked is for how long a server served no other client.
type Blocked struct {
	// Command is the longest time the server worked on one command, by its own
	// record: while a script runs, Redis does nothing else. Zero when the record is
	// empty, and on a server that others use, whose settings stay.
	Command time.Duration
	// Waited is the longest wait of a prober for an answer. It exceeds Command by
	// the delays of the network and of a busy machine's scheduler. It also shows
	// commands of one client that come in one packet, between which no other client
	// is served.
	Waited time.Duration

	own bool
}

// AtOnce is the longest block: the server's record where there is one, because a
// prober that does not get to run on a busy machine is no fault of Redis.
func (b Blocked) AtOnce() time.Duration {
	if b.own {
		return b.Command
	}
	return b.Waited
}

const (
	recorded = 50 * time.Microsecond // well above a PING
	records  = 100_000
)

// Blocked runs fn and returns for how long the server was blocked meanwhile.
func (s *Server) Blocked(ctx context.Context, fn func() error) (Blocked, error) {
	b := Blocked{own: s.Own}
	if s.Own {
		if err := s.record(ctx, recorded.Microseconds()); err != nil {
			return b, err
		}
	}
	stop, err := s.probe(ctx)
	if err != nil {
		return b, err
	}
	err = fn()
	waited, probed := stop()
	if err := errors.Join(err, probed); err != nil || !s.Own {
		b.Waited = waited
		return b, err
	}
	b.Waited = waited
	if err := s.record(ctx, -1); err != nil {
		return b, err
	}
	entries, err := s.admin.SlowLogGet(ctx, records).Result()
	if err != nil {
		return b, fmt.Errorf("SLOWLOG: %w", err)
	}
	if len(entries) >= records {
		return b, fmt.Errorf("SLOWLOG: more than its %d commands took %v", records, recorded)
	}
	for _, e := range entries {
		if len(e.Args) > 0 && !strings.EqualFold(e.Args[0], "ping") {
			b.Command = max(b.Command, e.Duration)
		}
	}
	return b, nil
}

// record makes the server record commands that take longer than so many µs, in an
// empty record; none from now on when it is negative.
func (s *Server) record(ctx context.Context, micros int64) error {
	_, err := s.admin.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ConfigSet(ctx, "slowlog-max-len", fmt.Sprint(records))
		p.ConfigSet(ctx, "slowlog-log-slower-than", fmt.Sprint(micros))
		if micros >= 0 {
			p.SlowLogReset(ctx)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set up SLOWLOG: %w", err)
	}
	return nil
}

// probe sends one PING after the other until stop, which returns the longest wait.
func (s *Server) probe(ctx context.Context) (stop func() (time.Duration, error), err error) {
	options := *s.options
	options.PoolSize, options.ReadTimeout, options.MaxRetries = 1, -1, -1 // it waits, and asks once
	client := redis.NewClient(&options)
	if err := client.Ping(ctx).Err(); err != nil { // it connects
		return nil, errors.Join(err, client.Close())
	}
	var over atomic.Bool
	var longest time.Duration
	ended := make(chan error, 1)
	go func() {
		start := time.Now()
		var err error
		for !over.Load() {
			err = client.Ping(ctx).Err()
			longest = max(longest, time.Since(start))
			// Within a script of more than five seconds Redis answers that it is busy,
			// which counts as blocked too.
			if err != nil && strings.HasPrefix(err.Error(), "BUSY ") {
				err = nil
				continue
			}
			if err != nil {
				break
			}
			start = time.Now()
		}
		ended <- errors.Join(err, client.Close())
	}()
	return func() (time.Duration, error) {
		over.Store(true)
		err := <-ended
		return longest, err
	}, nil
}
