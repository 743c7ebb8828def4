//go:build !(linux || darwin || freebsd || openbsd || dragonfly)

package boottime

import "time"

// Now returns the time since some start that all processes share.
func Now() time.Duration { return time.Duration(time.Now().UnixNano()) }
