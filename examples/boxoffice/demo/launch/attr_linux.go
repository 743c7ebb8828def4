package launch

import (
	"syscall"
)

// attributes give the child a process group of its own, so that Ctrl-C on a
// terminal reaches only the parent, which then decides; and end the child when
// the parent dies without a chance to do so.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
