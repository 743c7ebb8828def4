package redisgate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Config of a store. The zero value works.
type Config struct {
	// Prefix of the keys, before the braces of their hash tag; none by default.
	// Gates with different prefixes share a Redis without meeting. Up to 200 bytes
	// without braces.
	Prefix string
}

const maxPrefix = 200

type store struct {
	client   redis.UniversalClient
	prefix   string
	registry string
	scripts  scripts
	extra    func() []any // more arguments, for tests
}

// New makes a store on a client, which the caller has to close. New refuses a
// client that ignores contexts or retries calls by itself, since a retried call may
// give positions out twice, and the first ones are lost:
//
//	redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: …, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
//	})
func New(client redis.UniversalClient, cfg Config) (driver.Store, error) {
	switch {
	case client == nil:
		return nil, errors.New("redisgate: the client is nil; make one with redis.NewUniversalClient")
	case len(cfg.Prefix) > maxPrefix:
		return nil, fmt.Errorf("redisgate: Config.Prefix has %d bytes; use at most %d", len(cfg.Prefix), maxPrefix)
	case strings.ContainsAny(cfg.Prefix, "{}"):
		return nil, fmt.Errorf("redisgate: Config.Prefix %q has a brace; the event is the hash tag of the keys, leave braces out", cfg.Prefix)
	}
	if err := redisdb.CheckClient(client); err != nil {
		return nil, fmt.Errorf("redisgate: %w", err)
	}
	return &store{
		client: client, prefix: cfg.Prefix, registry: cfg.Prefix + "vwr:events",
		scripts: newScripts(func(text string) string { return text }),
	}, nil
}

func (s *store) key(event string) string { return s.prefix + "{" + event + "}:vwr" }

// Assign gives positions out; see [driver.Store].
func (s *store) Assign(ctx context.Context, event string, n int) (driver.State, error) {
	if err := driver.CheckAssign(ctx, event, n); err != nil {
		return driver.State{}, fmt.Errorf("redisgate: assign: %w", err)
	}
	r, err := s.run(ctx, "assign", s.scripts.assign, event, n)
	return r.State, err
}

// Keep keeps positions of members; see [driver.Store].
func (s *store) Keep(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error) {
	if err := driver.CheckKeep(ctx, event, epoch, asks); err != nil {
		return nil, fmt.Errorf("redisgate: keep: %w", err)
	}
	args := make([]any, 0, 1+2*len(asks))
	args = append(args, driver.Kept.Milliseconds())
	for _, ask := range asks {
		args = append(args, ask.Member, ask.Position)
	}
	positions, err := s.scripts.keep.Run(ctx, s.client, []string{s.key(event) + ":" + strconv.FormatUint(epoch, 10)}, args...).Int64Slice()
	switch {
	case err != nil:
		return nil, failed("keep", err)
	case len(positions) != len(asks):
		return nil, failed("keep", fmt.Errorf("the script answered %d positions for %d members", len(positions), len(asks)))
	}
	return positions, nil
}

// State returns the state of the gate; see [driver.Store].
func (s *store) State(ctx context.Context, event string) (driver.State, error) {
	if err := driver.Check(ctx, event); err != nil {
		return driver.State{}, fmt.Errorf("redisgate: state: %w", err)
	}
	r, err := s.run(ctx, "state", s.scripts.state, event)
	if err == nil && r.On {
		// The list of events may have been lost without the counters. If this call
		// fails, the next one repairs the list.
		_ = s.client.SAdd(ctx, s.registry, event).Err()
	}
	return r.State, err
}

// Advance makes a round; see [driver.Store].
func (s *store) Advance(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
	if err := driver.CheckAdvance(ctx, event, by, every); err != nil {
		return driver.Round{}, fmt.Errorf("redisgate: advance: %w", err)
	}
	return s.run(ctx, "advance", s.scripts.advance, event, by, every.Microseconds())
}

// Switch switches the gate; see [driver.Store].
func (s *store) Switch(ctx context.Context, event string, on bool) (driver.State, error) {
	if err := driver.Check(ctx, event); err != nil {
		return driver.State{}, fmt.Errorf("redisgate: switch: %w", err)
	}
	wanted := 0
	if on {
		wanted = 1
		// Listed before it is on: a listed event without counters is harmless.
		if err := s.client.SAdd(ctx, s.registry, event).Err(); err != nil {
			return driver.State{}, failed("switch", err)
		}
	}
	r, err := s.run(ctx, "switch", s.scripts.turn, event, wanted, driver.Kept.Milliseconds())
	return r.State, err
}

func (s *store) run(ctx context.Context, what string, script *redis.Script, event string, args ...any) (driver.Round, error) {
	if s.extra != nil {
		args = append(args, s.extra()...)
	}
	answer, err := script.Run(ctx, s.client, []string{s.key(event)}, args...).Text()
	if err != nil {
		return driver.Round{}, failed(what, err)
	}
	r, ok := roundOf(answer)
	if !ok {
		return driver.Round{}, failed(what, fmt.Errorf("the script answered %q", answer))
	}
	return r, nil
}

// Events lists the events; see [driver.Store]. It removes those whose counters
// have expired from the list.
func (s *store) Events(ctx context.Context) ([]string, error) {
	listed, err := s.client.SMembers(ctx, s.registry).Result()
	if err != nil {
		return nil, failed("events", err)
	}
	there, err := s.exist(ctx, listed)
	if err != nil {
		return nil, failed("events", err)
	}
	var events, gone []string
	for i, event := range listed {
		if there[i] {
			events = append(events, event)
		} else {
			gone = append(gone, event)
		}
	}
	if len(gone) == 0 {
		return events, nil
	}
	if err := s.client.SRem(ctx, s.registry, gone).Err(); err != nil {
		return nil, failed("events", err)
	}
	// One of them may have been switched on since the first look.
	there, err = s.exist(ctx, gone)
	if err != nil {
		return nil, failed("events", err)
	}
	for i, event := range gone {
		if !there[i] {
			continue
		}
		if err := s.client.SAdd(ctx, s.registry, event).Err(); err != nil {
			return nil, failed("events", err)
		}
		events = append(events, event)
	}
	return events, nil
}

// exist says which of the events have counters.
func (s *store) exist(ctx context.Context, events []string) ([]bool, error) {
	there := make([]bool, len(events))
	if len(events) == 0 {
		return there, nil
	}
	answers := make([]*redis.IntCmd, len(events))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, event := range events {
			answers[i] = p.Exists(ctx, s.key(event))
		}
		return nil
	})
	for i, a := range answers {
		there[i] = a.Val() == 1
	}
	return there, err
}
