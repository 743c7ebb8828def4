package redistest

import (
	"errors"
	"testing"
	"time"
)

// patience bounds the wait for a condition; tests assert nothing about its time.
const patience = 30 * time.Second

var errNotYet = errors.New("not yet")

// Eventually polls until try succeeds, for an action of a server that has no notification.
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

// Until is Eventually for a condition.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	Eventually(t, what, func() error {
		if !is() {
			return errNotYet
		}
		return nil
	})
}
