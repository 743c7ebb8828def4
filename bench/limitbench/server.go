package limitbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is the Redis that is measured.
type server struct {
	options *redis.Options // of the peers' clients, without a pool size
	url     string
	own     bool // nobody else uses it
	admin   *redis.Client
	end     func() error
}

// startTimeout bounds how long a redis-server takes until it answers.
const startTimeout = 30 * time.Second

// open starts a redis-server, or takes that of the URL when there is none to
// start.
func open(ctx context.Context, url string) (*server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if url == "" {
			return nil, errors.New("there is neither a redis-server in PATH nor a URL of one; install it or set Config.URL")
		}
		return connect(url, false, func() error { return nil })
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
	dir, err := os.MkdirTemp("", "limitbench-*")
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
		return nil, errors.Join(fmt.Errorf("redis-server does not answer within %v: %w", startTimeout, err), s.close())
	}
	return s, nil
}

func connect(url string, own bool, end func() error) (*server, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the Redis URL does not parse; write redis://host:6379/0") // the parser's error may quote a password
	}
	admin := *options
	admin.PoolSize = 1
	return &server{options: options, url: url, own: own, admin: redis.NewClient(&admin), end: end}, nil
}

func (s *server) ready(ctx context.Context) error {
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

func (s *server) close() error { return errors.Join(s.admin.Close(), s.end()) }

// peer makes a client with go-redis' defaults.
func (s *server) peer(pool int) *redis.Client {
	options := *s.options
	options.PoolSize = pool
	return redis.NewClient(&options)
}

// used is what a server has done.
type used struct {
	cpu   time.Duration
	calls map[string]int64 // by command, those of scripts included
}

// used asks the server.
func (s *server) used(ctx context.Context) (used, error) {
	u := used{calls: map[string]int64{}}
	text, err := s.admin.Info(ctx, "cpu").Result()
	if err != nil {
		return u, err
	}
	seconds := 0.0
	for name, value := range fields(text) {
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return u, fmt.Errorf("INFO cpu: %w", err)
		}
		seconds += n
	}
	u.cpu = time.Duration(seconds * float64(time.Second))
	if text, err = s.admin.Info(ctx, "commandstats").Result(); err != nil {
		return u, err
	}
	for name, value := range fields(text) {
		command, ok := strings.CutPrefix(name, "cmdstat_")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		if u.calls[command], err = strconv.ParseInt(first, 10, 64); err != nil {
			return u, fmt.Errorf("INFO commandstats: %w", err)
		}
	}
	return u, nil
}

// fields are the lines name:value of an INFO.
func fields(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}

// since returns the processor time, and the calls of some commands, since then.
func (u used) since(before used, commands []string) (time.Duration, int64) {
	var n int64
	for _, c := range commands {
		n += u.calls[c] - before.calls[c]
	}
	return u.cpu - before.cpu, n
}
