//go:build !unix

package limitproof

import "errors"

func suspend(int) error {
	return errors.New("limitproof: this system cannot stop a process and have it go on; leave the act out with --acts")
}

func resume(int) error { return nil }
