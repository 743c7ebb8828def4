package limitproof

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/proof/redisserver"
)

//go:embed shift.lua
var shiftScript string

// server is a Redis of our own, for faults. It keeps an append-only file, so that after a
// crash it finds state that is older than the last grants.
type server struct {
	*redisserver.Server
	client *redis.Client
}

func startServer(ctx context.Context, program, dir string, log io.Writer) (*server, error) {
	s, err := redisserver.Start(ctx, redisserver.Config{Program: program, Dir: dir, Keep: true, Log: log})
	if err != nil {
		return nil, fmt.Errorf("limitproof: %w", err)
	}
	return &server{s, s.Client(1)}, nil
}

// errNoState is returned when no call has been made that a clock could be wrong for.
var errNoState = errors.New("there is no state yet")

// step sets the clock as the scripts of a budget see it: stored times move the other
// way.
func (s *server) step(ctx context.Context, budget string, by time.Duration) error {
	keys := []string{"{" + budget + "}:global", "{" + budget + "}:low_cap"}
	n, err := s.client.Eval(ctx, shiftScript, keys, -by.Microseconds()).Int()
	if err == nil && n == 0 {
		err = errNoState
	}
	if err != nil {
		return fmt.Errorf("limitproof: step the clock by %v: %w", by, err)
	}
	return nil
}

func (s *server) flush(ctx context.Context) error {
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("limitproof: flush: %w", err)
	}
	return nil
}

func (s *server) close() error { return errors.Join(s.client.Close(), s.Close()) }
