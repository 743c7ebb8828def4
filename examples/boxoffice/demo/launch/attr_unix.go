//go:build unix && !linux

package launch

import (
	"syscall"
)

// attributes give the child a process group of its own, so that Ctrl-C on a
// terminal reaches only the parent, which then decides.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
