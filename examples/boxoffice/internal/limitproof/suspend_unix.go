//go:build unix

package limitproof

import (
	"fmt"
	"syscall"
)

// suspend stops a process at any point of its work.
func suspend(pid int) error { return send(pid, syscall.SIGSTOP) }

// resume continues the process.
func resume(pid int) error { return send(pid, syscall.SIGCONT) }

func send(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil {
		return fmt.Errorf("limitproof: send %v to a worker: %w", s, err)
	}
	return nil
}
