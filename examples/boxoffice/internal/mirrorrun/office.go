package mirrorrun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// office is a box office in this process, before an upstream of its own.
type office struct {
	dir      string
	log      *slog.Logger
	upstream *launch.Process
	witness  string // the upstream's URL
	url      string
	http     *http.Client
	demand   *demand
	broker   slow
	redis    *outage // before Redis; nil when there is none
	opened   []func() error
	ended    chan error
}

// open starts everything. close closes it, also after an error.
func open(ctx context.Context, c settings) (*office, error) {
	o := &office{ended: make(chan error, 1), http: &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}}
	o.opened = append(o.opened, func() error { o.http.CloseIdleConnections(); return nil })
	var err error
	if o.dir, err = os.MkdirTemp(c.temp, "boxoffice-mirror-"); err != nil {
		return o, fmt.Errorf("make a data folder: %w", err)
	}
	file, err := os.Create(filepath.Join(o.dir, "mirror.log"))
	if err != nil {
		return o, fmt.Errorf("make a log: %w", err)
	}
	o.opened = append(o.opened, file.Close)
	o.log = slog.New(slog.NewTextHandler(file, nil))
	if err := o.startUpstream(ctx, c); err != nil {
		return o, err
	}
	cfg, err := o.configure(c)
	if err != nil {
		return o, err
	}
	s, err := store.Open(ctx, cfg.DBURL)
	if err != nil {
		return o, fmt.Errorf("--db-url: %w", err)
	}
	o.opened = append(o.opened, s.Close)
	if o.demand, err = newDemand(s, o.log); err != nil {
		return o, err
	}
	if err := o.demand.seed(ctx); err != nil {
		return o, err
	}
	return o, o.serve(ctx, cfg, c.low)
}

// startUpstream starts the upstream as a process: it counts arrivals, and so must not share a
// process with its callers.
func (o *office) startUpstream(ctx context.Context, c settings) (err error) {
	o.upstream, err = launch.Start(launch.Spec{
		Name: "upstream", Path: c.program, Dir: o.dir, Env: os.Environ(),
		Args: append(append([]string{}, c.prefix...), "upstream", "--addr", "127.0.0.1:0",
			"--body-bytes", strconv.Itoa(c.bodyBytes), "--latency", c.latency.String(), "--revise-every", "1m"),
	})
	if err != nil {
		return err
	}
	o.opened = append(o.opened, func() error { return o.upstream.Stop(20 * time.Second) })
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	o.witness, err = o.upstream.FirstLine(ctx)
	return err
}

// configure makes the settings of the office. A proxy before Redis can make it unreachable.
func (o *office) configure(c settings) (config.Config, error) {
	args := []string{"--addr", "127.0.0.1:0", "--data-dir", o.dir, "--upstream-url", o.witness,
		"--redis-prefix", "mirror-" + strings.ToLower(rand.Text()) + ":"}
	if c.dbURL != "" {
		args = append(args, "--db-url", c.dbURL)
	}
	if c.busURL != "" {
		args = append(args, "--bus-url", c.busURL)
	}
	if c.redisURL != "" {
		u, err := kit.ParseURL(c.redisURL)
		if err != nil {
			return config.Config{}, fmt.Errorf("--redis-url: %w", err)
		}
		host := u.Host
		if u.Port() == "" {
			host += ":6379"
		}
		if o.redis, err = newOutage(host); err != nil {
			return config.Config{}, fmt.Errorf("a proxy before Redis: %w", err)
		}
		o.opened = append(o.opened, o.redis.close)
		u.Host = o.redis.addr()
		args = append(args, "--redis-url", u.String())
	}
	return config.Parse(args, func(string) string { return "" }, app.Schemes(), os.Stderr)
}

// serve runs the office until close.
func (o *office) serve(ctx context.Context, cfg config.Config, low int) error {
	a, err := app.New(cfg, app.Options{
		Logger: o.log, WrapArtists: o.slowed,
		Prefetch: artist.PrefetchConfig{Every: 2 * time.Second, Pace: artist.Pace{Usual: low, Evening: low}},
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() { o.ended <- a.Run(running) }()
	select {
	case <-a.Ready():
	case err := <-o.ended:
		stop()
		return fmt.Errorf("the office did not start: %w", err)
	}
	o.opened = append(o.opened, func() error { stop(); return <-o.ended })
	o.url = a.URL()
	return nil
}

func (o *office) close() (err error) {
	for i := len(o.opened) - 1; i >= 0; i-- {
		err = errors.Join(err, o.opened[i]())
	}
	return err
}

func (o *office) slowed(next message.Publisher) message.Publisher {
	o.broker.Publisher = next
	return &o.broker
}

// slow is a slow broker.
type slow struct {
	message.Publisher
	by atomic.Int64 // nanoseconds
}

// Publish implements message.Publisher.
func (s *slow) Publish(topic string, messages ...*message.Message) error {
	if d := time.Duration(s.by.Load()); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-messages[0].Context().Done():
			return messages[0].Context().Err()
		}
	}
	return s.Publisher.Publish(topic, messages...)
}
