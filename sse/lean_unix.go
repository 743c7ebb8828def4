//go:build unix

package sse

import (
	"errors"
	"syscall"
)

const leanWorks = true

// writeNow writes as much as the socket takes at once.
func (c *leanConn) writeNow(b []byte) (n int, err error) {
	failed := c.raw.Write(func(fd uintptr) bool {
		for {
			if n, err = syscall.Write(int(fd), b); !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	if failed != nil {
		return 0, failed
	}
	if errors.Is(err, syscall.EAGAIN) {
		return 0, nil
	}
	return max(n, 0), err
}

// alive looks whether the client has closed its side. Clients have nothing to send:
// it reads and drops such data, up to a bound.
func (c *leanConn) alive() bool {
	var b [512]byte
	alive := false
	failed := c.raw.Read(func(fd uintptr) bool {
		for {
			n, err := syscall.Read(int(fd), b[:])
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			alive = n > 0 || errors.Is(err, syscall.EAGAIN)
			return true
		}
	})
	return failed == nil && alive
}
