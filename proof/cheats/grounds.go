package cheats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/tcpproxy"
	"github.com/millrace-go/millrace/proof/redisserver"
)

// instances of the room.
const instances = 4

// startTimeout bounds how long a program takes until it listens, or a replica until it has
// all data.
const startTimeout = 30 * time.Second

// grounds are the servers of a run.
type grounds struct {
	cfg       Config
	folder    string
	room      string // the program
	proxy     *tcpproxy.Proxy
	instances [instances]*instance

	mu              sync.Mutex
	master, replica *redisserver.Server
}

// instance is a process that serves the room.
type instance struct {
	address string
	cmd     *exec.Cmd
	said    bytes.Buffer
	ended   chan struct{}
}

func open(ctx context.Context, cfg Config) (g *grounds, err error) {
	g = &grounds{cfg: cfg, room: cfg.Room}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	if g.folder, err = os.MkdirTemp("", "millrace-cheats-*"); err != nil {
		return g, err
	}
	if g.room == "" {
		g.room = filepath.Join(g.folder, "room")
		if said, err := exec.CommandContext(ctx, "go", "build", "-o", g.room, "github.com/millrace-go/millrace/proof/cmd/room").CombinedOutput(); err != nil {
			return g, fmt.Errorf("build the room: %w: %s", err, said)
		}
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		return g, errors.New("there is no redis-server in PATH (Debian: redis-server), and a replica has to take over")
	}
	if g.master, err = redisserver.Open(ctx, ""); err != nil {
		return g, err
	}
	if g.proxy, err = tcpproxy.Start(hostOf(g.master)); err != nil {
		return g, err
	}
	if err := g.follow(ctx); err != nil {
		return g, err
	}
	for i := range g.instances {
		free, err := tcpproxy.Vacant()
		if err != nil {
			return g, err
		}
		g.instances[i] = &instance{address: free}
		if err := g.start(ctx, g.instances[i]); err != nil {
			return g, err
		}
	}
	return g, nil
}

func hostOf(s *redisserver.Server) string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// start runs an instance, and returns when it listens.
func (g *grounds) start(ctx context.Context, i *instance) error {
	i.said.Reset()
	i.cmd = exec.Command(g.room, i.address, "redis://"+g.proxy.Addr()+"/0", strconv.Itoa(g.cfg.Threshold+g.cfg.more), g.cfg.Active.String())
	i.cmd.Stdout, i.cmd.Stderr, i.ended = &i.said, &i.said, make(chan struct{})
	if err := i.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}(i.cmd, i.ended)
	return until(ctx, "an instance listens", func() error {
		select {
		case <-i.ended:
			return fmt.Errorf("it has ended: %s", &i.said)
		default:
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", i.address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func (i *instance) kill() {
	if i != nil && i.cmd != nil && i.cmd.Process != nil {
		_ = i.cmd.Process.Kill() // it may have ended
		<-i.ended
	}
}

// follow gives the master a replica that has all its data.
func (g *grounds) follow(ctx context.Context) error {
	replica, err := redisserver.Open(ctx, "")
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.replica = replica
	g.mu.Unlock()
	master, client := g.master.Client(1), replica.Client(1)
	defer master.Close() //nolint:errcheck // nothing is left to say
	defer client.Close() //nolint:errcheck // nothing is left to say
	if err := master.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(hostOf(g.master))
	if err != nil {
		return err
	}
	if err := client.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		return err
	}
	return until(ctx, "the replica has all data", func() error {
		info, err := client.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = errors.New("it has not")
		}
		return err
	})
}

// promote has the replica take over without the last writes, and makes another replica. lost
// is called before any instance can see the replica.
func (g *grounds) promote(ctx context.Context, lost func()) error {
	client := g.replica.Client(1)
	err := client.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
	if err = errors.Join(err, client.Close()); err != nil {
		return err
	}
	timer := time.NewTimer(g.cfg.Lose)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := g.master.Close(); err != nil {
		return err
	}
	lost()
	g.mu.Lock()
	g.master, g.replica = g.replica, nil
	g.mu.Unlock()
	g.proxy.Redirect(hostOf(g.master))
	g.proxy.Cut()
	return g.follow(ctx)
}

func (g *grounds) close() (err error) {
	for _, i := range g.instances {
		i.kill()
	}
	if g.proxy != nil {
		err = g.proxy.Close()
	}
	for _, s := range []*redisserver.Server{g.master, g.replica} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return errors.Join(err, os.RemoveAll(g.folder))
}

// until tries again until it succeeds.
func until(ctx context.Context, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
	}
}
