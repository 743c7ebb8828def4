//go:build unix

package launch

import (
	"fmt"
	"syscall"
)

// Suspend stops the child at any point of its work (SIGSTOP).
func (p *Process) Suspend() error { return p.send(syscall.SIGSTOP) }

// Resume lets it go on.
func (p *Process) Resume() error { return p.send(syscall.SIGCONT) }

func (p *Process) send(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("launch: send %v to %s: %w", s, p.name, err)
	}
	return nil
}
