//go:build !unix || solaris || aix

package filesettings

import "os"

// lockFile does nothing: there is one process for each file, as the package says.
func lockFile(*os.File) error { return nil }
