package redisserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// Server is the Redis that is measured. Make one with [Open], [Start] or [Connect].
type Server struct {
	URL string
	Own bool // no other program uses it

	options *redis.Options // of the clients, without a pool size
	admin   *redis.Client
	cfg     Config
	process *launch.Process // nil unless Own
	remove  string          // the folder that is not needed any more
}

// Config of a server that is started.
type Config struct {
	Program string    // redis-server; a path, or a name in PATH
	Dir     string    // of its data; one of its own when empty
	Keep    bool      // an append-only file: after Kill it finds a state that is not much older
	Log     io.Writer // of its output; may be nil
}

// startTimeout bounds how long a redis-server takes until it answers.
const startTimeout = 30 * time.Second

// Open starts a redis-server on a free port of the loopback interface, or takes
// that of the URL when there is none in PATH. Close it when done.
func Open(ctx context.Context, url string) (*Server, error) {
	if _, err := exec.LookPath("redis-server"); err == nil {
		return Start(ctx, Config{})
	}
	if url == "" {
		return nil, errors.New("there is neither a redis-server in PATH nor a URL of one; install it or give a URL")
	}
	return Connect(url)
}

// Start starts a redis-server on a free port of the loopback interface, and waits until
// it answers. Close it when done.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	addr, err := launch.FreeAddr()
	if err != nil {
		return nil, err
	}
	s, err := Connect("redis://" + addr + "/0")
	if err != nil {
		return nil, err
	}
	s.Own, s.cfg = true, cfg
	if s.cfg.Program == "" {
		s.cfg.Program = "redis-server"
	}
	if s.cfg.Dir == "" {
		if s.cfg.Dir, err = os.MkdirTemp("", "millrace-redis-*"); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.remove = s.cfg.Dir
	}
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Restart starts a server that was killed, and waits until it answers.
func (s *Server) Restart(ctx context.Context) error {
	host, port, err := net.SplitHostPort(s.options.Addr)
	if err != nil {
		return err
	}
	keep := "no"
	if s.cfg.Keep {
		keep = "yes"
	}
	s.process, err = launch.Start(launch.Spec{
		Name: "redis-server", Path: s.cfg.Program, Dir: s.cfg.Dir, Env: os.Environ(), Log: s.cfg.Log,
		Args: []string{"--port", port, "--bind", host, "--dir", s.cfg.Dir, "--save", "", "--appendonly", keep},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return s.process.Until(ctx, "answering", func(ctx context.Context) error { return s.admin.Ping(ctx).Err() })
}

// Kill ends a server that was started, as kill -9 does.
func (s *Server) Kill() { s.process.Kill() }

// Connect takes the server of a URL, which is already running.
func Connect(url string) (*Server, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the Redis URL does not parse; write redis://host:6379/0") // the parser's error may quote a password
	}
	admin := *options
	admin.PoolSize = 1
	return &Server{URL: url, options: options, admin: redis.NewClient(&admin)}, nil
}

// Addr is the server's address.
func (s *Server) Addr() string { return s.options.Addr }

// Close ends the server if it was started.
func (s *Server) Close() error {
	err := s.admin.Close()
	if s.process != nil {
		s.Kill()
	}
	if s.remove != "" {
		err = errors.Join(err, os.RemoveAll(s.remove))
	}
	if err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	return nil
}

// Client makes a client with go-redis' defaults. Close it when done.
func (s *Server) Client(pool int) *redis.Client {
	options := *s.options
	options.PoolSize = pool
	return redis.NewClient(&options)
}
