package gatebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startTimeout bounds how long a program takes until it listens.
const startTimeout = 30 * time.Second

// process is a program that runs until it is closed.
type process struct {
	cmd   *exec.Cmd
	said  bytes.Buffer
	ended chan struct{}
}

// start runs a program, and returns when it listens at the address.
func start(ctx context.Context, folder, at string, words ...string) (*process, error) {
	p := &process{cmd: exec.Command(words[0], words[1:]...), ended: make(chan struct{})}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MILLRACE_") { // they would set flags of the gate
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // close says what it said
	}()
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
		if err == nil {
			return p, conn.Close()
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return nil, fmt.Errorf("%s has ended: %s", words[0], &p.said)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.close())
		case <-late.C:
			return nil, errors.Join(fmt.Errorf("%s does not listen within %s", words[0], startTimeout), p.close())
		}
	}
}

func (p *process) close() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
		return nil
	case <-time.After(startTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end when it was asked to: %s", p.cmd.Path, &p.said)
	}
}

// cpu is the processor time of the process and its children so far.
func (p *process) cpu() (time.Duration, error) { return cpuOf(p.cmd.Process.Pid) }

func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	const user, system, perSecond = 11, 12, 100
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %q", pid, text)
	}
	var total time.Duration
	for _, field := range []string{fields[user], fields[system]} {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		total += time.Duration(ticks) * time.Second / perSecond
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for _, child := range strings.Fields(string(children)) {
		id, err := strconv.Atoi(child)
		if err != nil {
			return 0, err
		}
		used, err := cpuOf(id)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// resident is the memory of the process, in bytes.
func (p *process) resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, errors.New("the process has no VmRSS in /proc")
	}
	kB, err := strconv.ParseFloat(fields[0], 64)
	return kB * 1024, err
}
