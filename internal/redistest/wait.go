package redistest

import (
	"errors"
	"testing"
	"time"
)

// patience is for what has to come; nothing is asserted about when it does.
const patience = 30 * time.Second

var errNotYet = errors.New("not yet")

// Eventually waits for what a server is about to do, and can only be asked about:
// until try succeeds.
func Eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// Until is Eventually for what is so or is not.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	Eventually(t, what, func() error {
		if !is() {
			return errNotYet
		}
		return nil
	})
}
