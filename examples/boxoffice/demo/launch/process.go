package launch

import (
	"errors"
	"fmt"
	"io"
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

	Stdin  io.Reader  // nothing when nil
	Stdout io.Writer  // instead of Log and the tail
	Files  []*os.File // more open files, from descriptor 3 on
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = spec.Stdin, out, out, spec.Files
	if spec.Stdout != nil {
		cmd.Stdout = spec.Stdout
	}
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
	return p.Wait()
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
