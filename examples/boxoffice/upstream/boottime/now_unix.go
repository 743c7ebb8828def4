//go:build linux || darwin || freebsd || openbsd || dragonfly

package boottime

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since some start that all processes share.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("boottime: read CLOCK_MONOTONIC: %v", err)) // POSIX has no reason for it to fail
	}
	return time.Duration(ts.Nano())
}
