package boxtest

import (
	"strings"
	"testing"
	"time"
)

// patience is how long [WaitFor] waits: what is waited for comes in a moment,
// but a loaded machine has long moments. It asks at once, and then less and less often,
// since asking is what loads some.
const (
	patience = time.Minute
	soonest  = 5 * time.Millisecond
	latest   = 200 * time.Millisecond
)

// WaitFor asks until the answer is yes, and fails the test when it stays no. what
// says what is waited for, and seen, when given, what there was instead.
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
