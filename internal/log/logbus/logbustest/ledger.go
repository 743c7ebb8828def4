package logbustest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ledger is a file in which consumer processes record the messages they handle, one "key#n" per
// line, so that the order over processes is known.
type ledger struct{ path string }

func newLedger(t testing.TB) *ledger {
	t.Helper()
	l := &ledger{filepath.Join(t.TempDir(), "ledger")}
	if err := os.WriteFile(l.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// account is the summary of a ledger.
type account struct {
	seen    map[string]int // the last number of each key
	total   int
	repeats int
	skipped []string
}

func (l *ledger) read(t testing.TB) account {
	t.Helper()
	text, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a line may be half written
	a := account{seen: map[string]int{}}
	for _, line := range strings.Fields(string(text)) {
		key, num, _ := strings.Cut(line, "#")
		var n int
		fmt.Sscan(num, &n) //nolint:errcheck // 0 shows as a repeat
		a.total++
		switch {
		case n == a.seen[key]+1:
			a.seen[key] = n
		case n <= a.seen[key]:
			a.repeats++
		default:
			a.skipped = append(a.skipped, fmt.Sprintf("%s after %d", line, a.seen[key]))
		}
	}
	return a
}

// wait returns when the given number of keys has reached n. No number may be skipped.
func (l *ledger) wait(t testing.TB, keys, n int, within time.Duration) account {
	t.Helper()
	for deadline := time.Now().Add(within); ; {
		a := l.read(t)
		if len(a.skipped) > 0 {
			t.Fatalf("messages were handled too early: %v", a.skipped)
		}
		done := len(a.seen) == keys
		for _, at := range a.seen {
			done = done && at >= n
		}
		if done {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatalf("not everything was handled within %v: %v, want %d of each of %d keys", within, a.seen, n, keys)
		}
		<-time.After(5 * time.Millisecond)
	}
}
