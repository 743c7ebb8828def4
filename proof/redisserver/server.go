package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is the Redis that is measured. Make one with [Open].
type Server struct {
	URL string
	Own bool // no other program uses it

	options *redis.Options // of the clients, without a pool size
	admin   *redis.Client
	end     func() error
}

// startTimeout bounds how long a redis-server takes until it answers.
const startTimeout = 30 * time.Second

// Open starts a redis-server on a free port of the loopback interface, or takes
// that of the URL when there is none in PATH. Close it when done.
func Open(ctx context.Context, url string) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if url == "" {
			return nil, errors.New("there is neither a redis-server in PATH nor a URL of one; install it or give a URL")
		}
		return Connect(url)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "millrace-bench-*")
	if err != nil {
		return nil, err
	}
	process := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no")
	if err := process.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	end := func() error {
		err := process.Process.Kill()
		var killed *exec.ExitError
		if e := process.Wait(); e != nil && !errors.As(e, &killed) {
			err = errors.Join(err, e)
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	s, err := connect("redis://"+address+"/0", true, end)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("redis-server does not answer within %v: %w", startTimeout, err), s.Close())
	}
	return s, nil
}

// Connect takes the server of a URL, which is already running.
func Connect(url string) (*Server, error) {
	return connect(url, false, func() error { return nil })
}

func connect(url string, own bool, end func() error) (*Server, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the Redis URL does not parse; write redis://host:6379/0") // the parser's error may quote a password
	}
	admin := *options
	admin.PoolSize = 1
	return &Server{URL: url, Own: own, options: options, admin: redis.NewClient(&admin), end: end}, nil
}

func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.admin.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// Close ends the server if Open started it.
func (s *Server) Close() error { return errors.Join(s.admin.Close(), s.end()) }

// Client makes a client with go-redis' defaults. Close it when done.
func (s *Server) Client(pool int) *redis.Client {
	options := *s.options
	options.PoolSize = pool
	return redis.NewClient(&options)
}
