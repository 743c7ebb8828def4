//go:build !unix

package launch

import (
	"errors"
)

// Suspend is an error: this system cannot stop a process and let it go on.
func (p *Process) Suspend() error {
	return errors.New("launch: this system cannot stop a process and let it go on")
}

// Resume does nothing.
func (p *Process) Resume() error { return nil }
