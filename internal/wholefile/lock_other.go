//go:build !unix || solaris || aix

package wholefile

import (
	"errors"
	"os"
)

func lock(*os.File, bool) error { return errors.ErrUnsupported }
