//go:build unix && !solaris && !aix

package gateway

import (
	"os"
	"syscall"
)

// lockFile takes the lock that the end of the process releases, also by SIGKILL.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
