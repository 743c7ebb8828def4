//go:build unix

package limitproof

import "syscall"

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
