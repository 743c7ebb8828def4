package cheats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/internal/backoff"
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
	process *launch.Process
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
		if g.room, err = launch.Build(ctx, g.folder, "github.com/millrace-go/millrace/proof/cmd/room"); err != nil {
			return g, err
		}
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		return g, errors.New("there is no redis-server in PATH (Debian: redis-server), and a replica has to take over")
	}
	if g.master, err = redisserver.Open(ctx, ""); err != nil {
		return g, err
	}
	if g.proxy, err = tcpproxy.Start(g.master.Addr()); err != nil {
		return g, err
	}
	if err := g.follow(ctx); err != nil {
		return g, err
	}
	for i := range g.instances {
		free, err := launch.FreeAddr()
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

// start runs an instance, and returns when it listens.
func (g *grounds) start(ctx context.Context, i *instance) (err error) {
	i.process, err = launch.Start(launch.Spec{
		Name: "an instance", Path: g.room, Env: os.Environ(),
		Args: []string{i.address, "redis://" + g.proxy.Addr() + "/0", strconv.Itoa(g.cfg.Threshold + g.cfg.more), g.cfg.Active.String()},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return i.process.Listens(ctx, i.address)
}

func (i *instance) kill() {
	if i != nil && i.process != nil {
		i.process.Kill()
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
	host, port, err := net.SplitHostPort(g.master.Addr())
	if err != nil {
		return err
	}
	if err := client.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = launch.Until(ctx, func(ctx context.Context) error {
		info, err := client.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = errors.New("its link is not up")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the replica does not get all data: %w", err)
	}
	return nil
}

// promote has the replica take over without the last writes, and makes another replica. lost
// is called before any instance can see the replica.
func (g *grounds) promote(ctx context.Context, lost func()) error {
	client := g.replica.Client(1)
	err := client.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
	if err = errors.Join(err, client.Close()); err != nil {
		return err
	}
	if err := backoff.Sleep(ctx, g.cfg.Lose); err != nil {
		return err
	}
	if err := g.master.Close(); err != nil {
		return err
	}
	lost()
	g.mu.Lock()
	g.master, g.replica = g.replica, nil
	g.mu.Unlock()
	g.proxy.Redirect(g.master.Addr())
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
