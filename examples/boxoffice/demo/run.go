package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/report"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/trail"
)

// errEnded means that a process of the box office ended by itself.
var errEnded = errors.New("it ended in the middle of the demo")

// run is one demo; it returns the exit code.
func run(ctx context.Context, cfg config, out *screen.Screen, stderr io.Writer) int {
	place, err := open(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return command.Interrupted
		}
		_, _ = fmt.Fprintln(stderr, "boxoffice demo:", err)
		return command.Broken
	}
	code, err := visit(ctx, cfg, place, out)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "boxoffice demo:", err)
		code = command.Broken
	}
	if err := place.close(cfg.keep || code == command.Broken); err != nil && code != command.Interrupted {
		_, _ = fmt.Fprintln(stderr, "boxoffice demo:", err)
		code = command.Broken
	}
	if place.kept {
		out.Print("Data folder and logs: %s\n", place.dir)
	}
	return code
}

// place is a box office to visit.
type place struct {
	url, admin, gateway string
	others              []string // more processes that serve the API
	dir                 string
	kept                bool
	log                 *os.File
	processes           []running    // the last one was started last
	ended               chan error   // a process ended by itself; room for all
	forget              func() error // removes its keys in Redis; nil without any
	trail               *trail.Trail // nil for a box office that runs already, or sends no live events
}

// open starts a box office and its gateway, unless one is named.
func open(ctx context.Context, cfg config) (_ *place, err error) {
	if cfg.url != "" {
		return &place{url: cfg.url, admin: cfg.admin, gateway: cfg.gateway}, nil
	}
	p := &place{admin: launch.NewAdminToken(), ended: make(chan error, 16)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(false))
		}
	}()
	if p.dir, err = os.MkdirTemp(cfg.temp, "boxoffice-demo-"); err != nil {
		return nil, fmt.Errorf("make a data folder: %w", err)
	}
	if p.log, err = os.Create(filepath.Join(p.dir, "demo.log")); err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	if cfg.told() {
		if p.trail, err = trail.Start(); err != nil {
			return nil, err
		}
	}
	office := &launch.Office{Program: cfg.program, Prefix: cfg.prefix, Dir: p.dir, Hold: cfg.hold, Admin: p.admin, Log: p.log}
	gateway, err := office.StartGateway(ctx)
	if err != nil {
		return nil, err
	}
	p.watch("the gateway", gateway)
	p.gateway = office.Gateway
	return p, p.serve(ctx, cfg, office)
}

// tracedFans is of about how many fans the requests are traced.
const tracedFans = 20

// process is one of the box office.
type process struct{ name, roles string }

// serve starts the box office: one process, or two of each role.
func (p *place) serve(ctx context.Context, cfg config, office *launch.Office) error {
	office.Env = map[string]string{}
	if cfg.split && cfg.dbURL == "" {
		// By default a database belongs to one process.
		file := url.URL{Path: filepath.Join(p.dir, "boxoffice.db")}
		cfg.dbURL = "sqlite://" + file.EscapedPath()
	}
	for name, value := range map[string]string{"BOXOFFICE_DB_URL": cfg.dbURL, "BOXOFFICE_BUS_URL": cfg.busURL, "BOXOFFICE_REDIS_URL": cfg.redisURL} {
		if value != "" {
			office.Env[name] = value
		}
	}
	if cfg.redisURL != "" {
		prefix := fmt.Sprintf("demo-%s:", strings.ToLower(rand.Text()[:8])) // another demo may have used it before
		office.Env["BOXOFFICE_REDIS_PREFIX"] = prefix
		p.forget = func() error { return forget(cfg.redisURL, prefix) }
	}
	if p.trail != nil {
		office.Env["BOXOFFICE_TRACES_URL"] = p.trail.URL(tracedFans, cfg.fans)
	}
	office.Env["QUEUE_THRESHOLD"] = strconv.Itoa(cfg.places())
	office.Env["QUEUE_ADMISSION_INTERVAL_MS"] = "100"
	processes := []process{{"box office", "all"}}
	if cfg.split {
		processes = split(cfg, office.Env)
	}
	for _, each := range processes {
		addr, err := launch.FreeAddr()
		if err != nil {
			return err
		}
		process, err := office.StartServe(ctx, each.name, each.roles, addr, time.Minute, nil)
		if err != nil {
			return err
		}
		p.watch("the "+each.name, process)
		switch {
		case each.roles != "all" && !strings.HasPrefix(each.roles, "api"):
		case p.url == "":
			p.url = "http://" + addr
		default:
			p.others = append(p.others, "http://"+addr)
		}
	}
	return nil
}

// split names two processes of each role.
func split(cfg config, env map[string]string) (all []process) {
	roles := []string{"api", "admitter", "relay", "worker"}
	if cfg.redisURL == "" {
		// Without Redis the waiting room is in the process that serves it. The crowd
		// asks for no artists, which would need Redis too.
		env["BOXOFFICE_REDIS_URL"] = "off"
		roles, all = []string{"relay", "worker"}, []process{{"api and admitter", "api,admitter"}}
	} else {
		env["BOXOFFICE_WORKERS"] = "2"
	}
	for _, role := range roles {
		for n := 1; n <= 2; n++ {
			all = append(all, process{fmt.Sprintf("%s %d", role, n), role})
		}
	}
	return all
}

// running is a child of the demo.
type running struct {
	name string
	*launch.Process
}

// fell is the error of a child that has ended.
func (r running) fell() error {
	return fmt.Errorf("%s: %w (%s):\n%s", r.name, errEnded, r.End(), r.Tail())
}

func (p *place) watch(name string, process *launch.Process) {
	one := running{name, process}
	p.processes = append(p.processes, one)
	go func() {
		<-one.Done()
		p.ended <- one.fell()
	}()
}

// fell is the error of a process that has ended, nil while all run.
func (p *place) fell() error {
	for _, one := range p.processes {
		select {
		case <-one.Done():
			return one.fell()
		default:
		}
	}
	return nil
}

// close stops the processes of open: the box office first, which may still need its
// gateway.
func (p *place) close(keep bool) (err error) {
	for i := len(p.processes) - 1; i >= 0; i-- {
		select {
		case <-p.processes[i].Done(): // reported by fell
		default:
			err = errors.Join(err, p.processes[i].Stop(time.Minute))
		}
	}
	if p.forget != nil {
		err = errors.Join(err, p.forget())
	}
	if p.trail != nil {
		err = errors.Join(err, p.trail.Close())
	}
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	if p.kept = keep && p.dir != ""; p.dir != "" && !keep {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// crowdName keeps crowds apart that visit one office, before each other or at once.
func crowdName(cfg config) string {
	if cfg.url == "" {
		return "0"
	}
	return strings.ToLower(rand.Text())
}

// visit sends the crowd through, audits, and prints the report.
func visit(ctx context.Context, cfg config, p *place, out *screen.Screen) (int, error) {
	think := cfg.think
	if think == 0 {
		think = -1 // asked for none, which is not the Config's zero value
	}
	fans, err := crowd.New(crowd.Config{
		URL: p.url, Others: p.others, Fans: cfg.fans, Concurrency: cfg.concurrency, Seed: cfg.seed, Run: crowdName(cfg), Think: think, Patience: cfg.patience,
	})
	if err != nil {
		return command.Broken, err
	}
	office := audit.Office{Admin: p.admin, Client: &crowd.Client{URL: p.url, HTTP: crowd.NewHTTP(16), Patience: 15 * time.Second}}
	defer office.Client.HTTP.CloseIdleConnections()
	out.Print("Box office: %s   fans: %d   at a time: %d   seed: %d\n", p.url, cfg.fans, min(cfg.concurrency, cfg.fans), cfg.seed)

	crowdCtx, stop := context.WithCancel(ctx)
	defer stop()
	start := time.Now()
	done, left := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(left)
		done <- fans.Run(crowdCtx)
	}()
	progress := report.NewProgress(out, office, fans, start)
	ended := progress.Show(crowdCtx, done, p.ended)
	stop()
	<-left
	elapsed := time.Since(start)
	tables := report.Crowd(out, fans.Progress(), fans.Meter().Steps(), elapsed) + report.Rooms(out, fans.Rooms())
	switch {
	case ctx.Err() != nil:
		out.Print("%s\nInterrupted: the invariants were not judged.\n", tables)
		return command.Interrupted, nil
	case ended != nil:
		out.Print("%s\n", tables)
		return command.Broken, ended
	}
	var followed []judge.Check
	var tree string
	if p.trail != nil {
		check, drawn := p.trail.Follow(ctx, p.url, "trail", cfg.patience)
		followed, tree = []judge.Check{check}, report.Trail(out, drawn)
	}
	out.Print("The crowd has left after %.1f s. Waiting until nothing moves any more …\n", elapsed.Seconds())
	hold := cfg.hold
	if cfg.url != "" {
		hold = 0 // that of another office
	}
	result, err := audit.Run(ctx, audit.Subject{
		Office: office, GatewayURL: p.gateway, Patience: cfg.drain, Crowd: fans, Hold: hold, Foreign: cfg.url != "", Lines: cfg.url == "",
	})
	if err != nil {
		out.Print("%s\nInterrupted: the invariants were not judged.\n", tables)
		return command.Interrupted, nil
	}
	if ended := p.fell(); ended != nil { // after the crowd had left
		out.Print("%s\n", tables)
		return command.Broken, ended
	}
	result.Outside = append(result.Outside, followed...)
	out.Print("%s%s%s\n%s", tables, tree, report.Audit(out, result), report.Verdict(out, result))
	if !result.OK() {
		return command.Broken, nil
	}
	return command.OK, nil
}
