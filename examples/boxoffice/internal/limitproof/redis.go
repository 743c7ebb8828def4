package limitproof

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/launch"
	"github.com/millrace-go/millrace/redisclient"
)

//go:embed shift.lua
var shiftScript string

// server is a Redis of our own, for faults.
type server struct {
	program, addr, dir string
	log                io.Writer
	client             redis.UniversalClient
	process            *launch.Process
}

// startServer starts Redis on a free port, and waits until it answers. It keeps
// an append-only file, so that after a crash it finds state that is older than
// the last grants.
func startServer(ctx context.Context, program, dir string, log io.Writer) (*server, error) {
	addr, err := launch.FreeAddr()
	if err != nil {
		return nil, err
	}
	s := &server{program: program, addr: addr, dir: dir, log: log}
	if s.client, err = redisclient.Open(s.url(), redisclient.Config{Timeout: 10 * time.Second}); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	return s, nil
}

func (s *server) url() string { return "redis://" + s.addr + "/0" }

func (s *server) start(ctx context.Context) error {
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return fmt.Errorf("limitproof: %w", err)
	}
	s.process, err = launch.Start(launch.Spec{
		Name: "redis-server", Path: s.program, Dir: s.dir, Env: os.Environ(), Log: s.log,
		Args: []string{"--port", port, "--bind", host, "--dir", s.dir, "--save", "", "--appendonly", "yes"},
	})
	if err != nil {
		return fmt.Errorf("limitproof: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := s.client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		timer := time.NewTimer(2 * time.Millisecond)
		select {
		case <-timer.C:
		case <-s.process.Done():
			timer.Stop()
			return fmt.Errorf("limitproof: redis-server ended (%s):\n%s", s.process.End(), s.process.Tail())
		case <-ctx.Done():
			timer.Stop()
			s.process.Kill()
			return fmt.Errorf("limitproof: redis-server does not answer: %w", err)
		}
	}
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

func (s *server) close() error {
	err := s.client.Close()
	select {
	case <-s.process.Done(): // it was killed, and not started again
		return err
	default:
		return errors.Join(err, s.process.Stop(10*time.Second))
	}
}
