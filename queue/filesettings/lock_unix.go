//go:build unix && !solaris && !aix

package filesettings

import (
	"os"
	"syscall"
)

// lockFile waits for the lock, which ends with the file's handle.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
