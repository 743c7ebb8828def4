//go:build !unix

package store

import "os"

// lockFile relies on the port: two processes with the same settings can't both
// listen on it.
func lockFile(*os.File) error { return nil }
