//go:build !unix || solaris || aix

package gateway

import (
	"errors"
	"os"
)

// lockFile refuses: without a lock two gates could overwrite each other's rooms.
func lockFile(*os.File) error { return errors.ErrUnsupported }
