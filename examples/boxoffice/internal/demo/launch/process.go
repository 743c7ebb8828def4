package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec describes the process to start.
type Spec struct {
	Name string   // for messages
	Path string   // the program
	Args []string // without the program
	Env  []string // the whole environment
	Dir  string   // working folder
	Log  io.Writer
}

// Process is a running child. Its methods may be called concurrently.
type Process struct {
	name string
	cmd  *exec.Cmd
	out  *tail
	done chan struct{}
	err  error // of Wait; valid once done is closed
}

// Start starts a child. Its output goes to spec.Log, when set, and the last part is
// kept for error messages.
func Start(spec Spec) (*Process, error) {
	out := &tail{next: spec.Log, first: make(chan struct{})}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes()
	// A grandchild that keeps the pipe open must not block Wait.
	cmd.WaitDelay = 2 * time.Second
	p := &Process{name: spec.Name, cmd: cmd, out: out, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux ends the child together with the thread that started it, so
		// this goroutine keeps its thread for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("launch: start %s: %w", spec.Name, err)
	}
	return p, nil
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// End is how the child ended, once Done is closed: "exit status 1", "signal: killed".
func (p *Process) End() string {
	select {
	case <-p.done:
		return p.cmd.ProcessState.String()
	default:
		return "running"
	}
}

// Tail returns the last part of the child's output.
func (p *Process) Tail() string { return p.out.String() }

// Kill ends the child at once, as kill -9 does, and waits until it is gone. It
// reports false when the child had ended before.
func (p *Process) Kill() bool {
	err := p.cmd.Process.Kill()
	<-p.done
	return err == nil
}

// Stop asks the child to end, waits up to patience, and kills it then. An end
// other than exit status 0 is an error.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.Kill() // the system knows no polite way
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("launch: %s did not stop within %v and was killed", p.name, patience)
	}
	if p.err != nil {
		return fmt.Errorf("launch: %s ended with %w\n%s", p.name, p.err, p.Tail())
	}
	return nil
}

// FirstLine waits for the first line that the child prints.
func (p *Process) FirstLine(ctx context.Context) (string, error) {
	select {
	case <-p.out.first:
		return p.out.text, nil // written before first was closed, and never again
	case <-p.done:
	case <-ctx.Done():
		return "", fmt.Errorf("launch: %s printed nothing: %w", p.name, ctx.Err())
	}
	select {
	case <-p.out.first: // its last one as well
		return p.out.text, nil
	default:
		return "", p.ended()
	}
}

// Ready waits until url answers 200. If the child ends instead, the error has its
// last output.
func (p *Process) Ready(ctx context.Context, url string) error {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	last := errors.New("not asked yet")
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("launch: %w", err)
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("it answers %s", res.Status)
		}
		if ctx.Err() == nil {
			last = err
		}
		timer := time.NewTimer(5 * time.Millisecond)
		select {
		case <-p.done:
			timer.Stop()
			return p.ended()
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("launch: %s is not ready: %w\n%s", p.name, last, p.Tail())
		case <-timer.C:
		}
	}
}

func (p *Process) ended() error {
	return fmt.Errorf("launch: %s ended early (%s):\n%s", p.name, p.End(), p.Tail())
}

// keep is how much of a child's output is kept in memory.
const keep = 16 << 10

// tail keeps the end of the written text, and passes all of it on.
type tail struct {
	mu    sync.Mutex
	next  io.Writer
	buf   []byte
	first chan struct{} // closed when a whole line was written
	line  bool
	text  string // the first line
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if !t.line {
		if t.text, _, t.line = strings.Cut(string(t.buf), "\n"); t.line {
			close(t.first)
		}
	}
	if over := len(t.buf) - keep; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	if t.next != nil {
		_, _ = t.next.Write(b) // a full disk must not stop the child
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
