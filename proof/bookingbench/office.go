package bookingbench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// office is a box office of several processes.
type office struct {
	dir, db, keys string
	processes     int

	urls    []string
	admin   string
	running []*process
}

// process is a process of the office.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
}

// patience is how long a process may take to be ready, and to end.
const patience = 90 * time.Second

// withOffice starts the processes, runs fn, and stops them.
func withOffice(ctx context.Context, cfg Config, o office, fn func(*office) error) (err error) {
	o.admin = rand.Text() + rand.Text()
	defer func() { err = errors.Join(err, o.stop()) }()
	gateway, err := o.startGateway(ctx, cfg)
	if err != nil {
		return err
	}
	for i := range o.processes {
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		p, err := o.start(cfg, fmt.Sprintf("box office %d", i+1), map[string]string{
			"BOXOFFICE_ADDR": addr, "BOXOFFICE_DATA_DIR": o.dir, "BOXOFFICE_ROLES": "all", "BOXOFFICE_ADMIN_TOKEN": o.admin,
			"BOXOFFICE_GATEWAY_URL": gateway, "BOXOFFICE_DB_URL": o.db, "BOXOFFICE_BUS_URL": "kafka://" + cfg.Brokers + "/",
			"BOXOFFICE_REDIS_URL": redisURL(cfg.Cluster), "BOXOFFICE_REDIS_PREFIX": o.keys, "BOXOFFICE_WORKERS": strconv.Itoa(o.processes),
			"BOXOFFICE_HOLD_SECONDS": "3600", "QUEUE_THRESHOLD": "1000000", "QUEUE_ADMISSION_INTERVAL_MS": "100",
		}, "serve")
		if err != nil {
			return err
		}
		o.urls = append(o.urls, "http://"+addr)
		if i == 0 { // it makes the tables, and the topics
			if err := p.ready(ctx, o.urls[0]+"/readyz"); err != nil {
				return err
			}
		}
	}
	for i, p := range o.running[1:] { // the first is the gateway
		if err := p.ready(ctx, o.urls[i]+"/readyz"); err != nil {
			return err
		}
	}
	return fn(&o)
}

// startGateway starts the simulated payment gateway and returns its URL, which is
// the first line that it prints.
func (o *office) startGateway(ctx context.Context, cfg Config) (string, error) {
	p, err := o.start(cfg, "gateway", nil, "gateway", "--addr", "127.0.0.1:0", "--ledger", filepath.Join(o.dir, "ledger.db"))
	if err != nil {
		return "", err
	}
	var url string
	err = p.until(ctx, "its URL", func() bool {
		b, err := os.ReadFile(p.log)
		line, _, ok := bytes.Cut(b, []byte("\n"))
		url = strings.TrimSpace(string(line))
		return err == nil && ok && strings.HasPrefix(url, "http://")
	})
	return url, err
}

// start starts a process, whose output goes to a file.
func (o *office) start(cfg Config, name string, env map[string]string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(o.dir, strings.ReplaceAll(name, " ", "-")+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has its own descriptor
	p.cmd = exec.Command(cfg.Program, args...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = log, log, o.dir
	// A group of its own: Ctrl-C is for the benchmark, which stops the processes.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "BOXOFFICE_") && !strings.HasPrefix(pair, "QUEUE_") {
			p.cmd.Env = append(p.cmd.Env, pair)
		}
	}
	for k, v := range env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in its state
	}()
	o.running = append(o.running, p)
	return p, nil
}

// ready waits until the process answers 200.
func (p *process) ready(ctx context.Context, url string) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return p.until(ctx, "being ready", func() bool {
		answer, err := client.Get(url)
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// until repeats a check, while the process runs.
func (p *process) until(ctx context.Context, what string, yes func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("the %s ended (%s): %s", p.name, p.cmd.ProcessState, p.words())
		case <-ctx.Done():
			return fmt.Errorf("the %s: %s: %w: %s", p.name, what, ctx.Err(), p.words())
		}
	}
	return nil
}

// words are the last lines of the process's output.
func (p *process) words() string {
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close() //nolint:errcheck // it was only read
	var last []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if last = append(last, lines.Text()); len(last) > 10 {
			last = last[1:]
		}
	}
	return strings.Join(last, "\n")
}

// stop asks all processes to end, the gateway last, and kills those that do not.
func (o *office) stop() error {
	offices := o.running[min(1, len(o.running)):]
	return errors.Join(stopAll(offices), stopAll(o.running[:min(1, len(o.running))]))
}

func stopAll(all []*process) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() {
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			late := time.NewTimer(patience)
			defer late.Stop()
			select {
			case <-p.done:
			case <-late.C:
				_ = p.cmd.Process.Kill()
				<-p.done
				errs[i] = fmt.Errorf("the %s did not end within %s and was killed", p.name, patience)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// freeAddr finds a free port of the loopback interface.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
