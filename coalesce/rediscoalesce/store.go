package rediscoalesce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// store is a [driver.Store] in Redis, with Redis' own clock.
type store struct {
	client  redis.UniversalClient
	prefix  string
	scripts scripts
}

var _ driver.Store = (*store)(nil)

// New creates a store on a client, which the caller closes. The client must obey the deadlines
// of contexts and must not repeat calls:
//
//	redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: …, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
//	})
func New(client redis.UniversalClient, cfg Config) (driver.Store, error) {
	if client == nil {
		return nil, errors.New("rediscoalesce: the client is nil; make one with redis.NewUniversalClient")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := redisdb.CheckClient(client); err != nil {
		return nil, fmt.Errorf("rediscoalesce: %w", err)
	}
	return &store{client: client, prefix: cmp.Or(cfg.Prefix, "upd:"), scripts: newScripts()}, nil
}

// Request decides; see [driver.Store].
func (s *store) Request(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
	if err := driver.Check(key, p); err != nil {
		return driver.Decision{}, err
	}
	mark := "0"
	if again {
		mark = "1"
	}
	n := s.names(key)
	answer, err := s.scripts.request.Run(ctx, s.client, []string{n.lock, n.version, n.again},
		string(p), ttl.Of(p).Milliseconds(), ttl.Version.Milliseconds(), mark).StringSlice()
	if err != nil {
		return driver.Decision{}, failed("request", key, err)
	}
	if len(answer) != 2 {
		return driver.Decision{}, failed("request", key, fmt.Errorf("the script answered %q", answer))
	}
	d := driver.Decision{Outcome: outcomes[answer[0]]}
	if d.Ticket, err = ticket(key, answer[1]); err != nil {
		return driver.Decision{}, failed("request", key, err)
	}
	return d, nil
}

var outcomes = map[string]driver.Outcome{
	"published": driver.Published, "upgraded": driver.Upgraded, "processing": driver.AlreadyProcessing,
}

// Release deletes the ticket's lock.
func (s *store) Release(ctx context.Context, t driver.Ticket) (bool, error) {
	if err := t.Check(); err != nil {
		return false, err
	}
	n := s.names(t.Key)
	released, err := s.scripts.release.Run(ctx, s.client, []string{n.lock, n.again}, value(t)).Bool()
	if err != nil {
		return false, failed("release", t.Key, err)
	}
	return released, nil
}

// Done ends the ticket's run, and begins the next one if it was requested.
func (s *store) Done(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (driver.End, error) {
	if err := t.Check(); err != nil {
		return driver.End{}, err
	}
	n := s.names(t.Key)
	answer, err := s.scripts.done.Run(ctx, s.client, []string{n.lock, n.version, n.again},
		value(t), ttl.High.Milliseconds(), ttl.Low.Milliseconds(), ttl.Version.Milliseconds()).StringSlice()
	if err != nil {
		return driver.End{}, failed("end the run of", t.Key, err)
	}
	switch {
	case len(answer) == 1 && answer[0] == "lost":
		return driver.End{}, nil
	case len(answer) == 1 && answer[0] == "released":
		return driver.End{Released: true}, nil
	case len(answer) != 2:
		return driver.End{}, failed("end the run of", t.Key, fmt.Errorf("the script answered %q", answer))
	}
	next, err := ticket(t.Key, answer[1])
	if err != nil {
		return driver.End{}, failed("end the run of", t.Key, err)
	}
	return driver.End{Released: true, Again: true, Next: next}, nil
}

// Extend restarts the TTLs.
func (s *store) Extend(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (bool, error) {
	if err := t.Check(); err != nil {
		return false, err
	}
	n := s.names(t.Key)
	extended, err := s.scripts.extend.Run(ctx, s.client, []string{n.lock, n.version, n.again},
		value(t), ttl.Of(t.Priority).Milliseconds(), ttl.Version.Milliseconds()).Bool()
	if err != nil {
		return false, failed("extend", t.Key, err)
	}
	return extended, nil
}

// Current returns the newest version.
func (s *store) Current(ctx context.Context, key string) (version int64, known bool, err error) {
	if err := driver.CheckKey(key); err != nil {
		return 0, false, err
	}
	version, err = s.client.Get(ctx, s.names(key).version).Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return 0, false, nil
	case err != nil:
		return 0, false, failed("look up the version of", key, err)
	}
	return version, true, nil
}

// value returns the value of a ticket's lock.
func value(t driver.Ticket) string {
	return string(t.Priority) + ":" + strconv.FormatInt(t.Version, 10)
}

// ticket parses the value of a lock.
func ticket(key, value string) (driver.Ticket, error) {
	p, version, _ := strings.Cut(value, ":")
	n, err := strconv.ParseInt(version, 10, 64)
	t := driver.Ticket{Key: key, Priority: driver.Priority(p), Version: n}
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return driver.Ticket{}, fmt.Errorf("the lock holds %.40q, not HIGH or LOW and a version: %w", value, err)
	}
	return t, nil
}

func failed(what, key string, err error) error {
	return fmt.Errorf("rediscoalesce: %s %q: %w", what, key, redisdb.Mark(err, ""))
}
