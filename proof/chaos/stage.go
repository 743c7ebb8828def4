package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/report"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// stage is the place of one act: a data folder, a gateway that lives on, and a load
// generator that does not know about the kills.
type stage struct {
	cfg    config
	dir    string
	log    *os.File
	launch *launch.Office
	office audit.Office
	addr   string // where the API is, through all restarts
	fans   *crowd.Crowd
	live   []*launch.Process // to be stopped at the end; the gateway is first

	mu       sync.Mutex
	state    string          // the step of the act
	recovery []time.Duration // restart → ready
	extra    []judge.Check   // the checks of this act alone
}

// perform plays one act and judges it.
func perform(ctx context.Context, cfg config, a act, out *screen.Screen) (code int, err error) {
	s := &stage{cfg: cfg}
	defer func() {
		if closeErr := s.close(cfg.keep || code == command.Broken); closeErr != nil && code != command.Interrupted {
			code, err = command.Broken, errors.Join(err, closeErr)
		}
		if s.dir != "" && (cfg.keep || code == command.Broken) {
			out.Print("Data folder and logs: %s\n", s.dir)
		}
	}()
	if err := s.open(ctx, a.hold); err != nil {
		return failed(ctx, err)
	}
	start := time.Now()
	if err := s.play(ctx, a, out, start); err != nil {
		out.Print("%s\n", report.Crowd(out, s.fans.Progress(), s.fans.Meter().Steps(), time.Since(start)))
		if ctx.Err() != nil {
			out.Print("Interrupted: the invariants were not judged.\n")
		}
		return failed(ctx, err)
	}
	elapsed := time.Since(start)
	out.Print("The crowd has left after %.1f s. Waiting until nothing moves any more …\n", elapsed.Seconds())
	result, err := audit.Run(ctx, audit.Subject{Office: s.office, GatewayURL: s.launch.Gateway, Patience: cfg.drain, Crowd: s.fans})
	if err != nil {
		return failed(ctx, err)
	}
	if err := s.judge(ctx, a); err != nil {
		return failed(ctx, err)
	}
	result.Outside = append(result.Outside, s.extra...)
	out.Print("%s%s%s\n%s", report.Crowd(out, s.fans.Progress(), s.fans.Meter().Steps(), elapsed), report.Audit(out, result),
		s.recoveries(out), report.Verdict(out, result))
	if !result.OK() {
		return command.Broken, nil
	}
	return command.OK, nil
}

func failed(ctx context.Context, err error) (int, error) {
	if ctx.Err() != nil {
		return command.Interrupted, nil
	}
	return command.Broken, err
}

// open makes the data folder and starts the gateway.
func (s *stage) open(ctx context.Context, hold time.Duration) (err error) {
	if s.dir, err = os.MkdirTemp(s.cfg.temp, "boxoffice-chaos-"); err != nil {
		return fmt.Errorf("make a data folder: %w", err)
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "chaos.log")); err != nil {
		return fmt.Errorf("make a log: %w", err)
	}
	s.launch = &launch.Office{
		Program: s.cfg.program, Prefix: s.cfg.prefix, Dir: s.dir, Hold: hold, Admin: launch.NewAdminToken(), Log: s.log,
	}
	gateway, err := s.launch.StartGateway(ctx)
	if err != nil {
		return err
	}
	s.live = append(s.live, gateway)
	if s.addr, err = launch.FreeAddr(); err != nil {
		return err
	}
	s.office = audit.Office{Admin: s.launch.Admin, Client: &crowd.Client{URL: "http://" + s.addr, HTTP: crowd.NewHTTP(16), Patience: 30 * time.Second}}
	s.fans, err = crowd.New(crowd.Config{
		URL: "http://" + s.addr, Concurrency: s.cfg.concurrency, Seed: s.cfg.seed, Patience: s.cfg.patience, Churn: true,
	})
	return err
}

// play runs the act beside the crowd, and lets the crowd finish after it.
func (s *stage) play(ctx context.Context, a act, out *screen.Screen, start time.Time) error {
	both, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	done, ended := make(chan error, 1), make(chan error, 1)
	wg.Go(func() {
		if err := a.play(both, s); err != nil {
			ended <- err
			return
		}
		s.setState("no more kills; the crowd finishes")
		s.fans.LastCall()
	})
	wg.Go(func() { done <- s.fans.Run(both) })
	progress := report.NewProgress(out, s.office, s.fans, start)
	progress.Head = s.head
	return progress.Show(both, done, ended)
}

// close stops the processes that still run, the gateway last.
func (s *stage) close(keep bool) (err error) {
	if s.office.Client != nil { // a server waits for connections that were never used
		s.office.Client.HTTP.CloseIdleConnections()
	}
	for i := len(s.live) - 1; i >= 0; i-- {
		err = errors.Join(err, s.live[i].Stop(30*time.Second))
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	if s.dir != "" && !keep {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// shared is the environment of processes that share the database: by default
// it belongs to one process.
func (s *stage) shared() map[string]string {
	file := url.URL{Path: filepath.Join(s.dir, "boxoffice.db")}
	return map[string]string{"BOXOFFICE_DB_URL": "sqlite://" + file.EscapedPath()}
}

func (s *stage) setState(format string, args ...any) {
	s.mu.Lock()
	s.state = fmt.Sprintf(format, args...)
	s.mu.Unlock()
}

func (s *stage) recovered(d time.Duration) {
	s.mu.Lock()
	s.recovery = append(s.recovery, d)
	s.mu.Unlock()
}

// head is the line above the crowd's progress.
func (s *stage) head() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}
