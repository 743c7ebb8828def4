package boxtest

import (
	"strings"
	"testing"
	"time"
)

// patience is how long [WaitFor] waits: the condition is expected in a moment, but a
// loaded machine has long moments. WaitFor asks at once, and then less and less often,
// because asking loads some parts.
const (
	patience = time.Minute
	soonest  = 5 * time.Millisecond
	latest   = 200 * time.Millisecond
)

// WaitFor polls until the answer is yes, and fails the test if it stays no. The
// argument what names the condition, and seen, when given, returns the last state.
func WaitFor(t testing.TB, what string, until func() bool, seen ...func() string) {
	t.Helper()
	pause := soonest
	for deadline := time.Now().Add(patience); !until(); time.Sleep(pause) {
		if pause = min(pause*3/2, latest); !time.Now().After(deadline) {
			continue
		}
		var instead []string
		for _, s := range seen {
			instead = append(instead, s())
		}
		t.Fatalf("waited %v in vain for %s: %s", patience, what, strings.Join(instead, "; "))
	}
}
