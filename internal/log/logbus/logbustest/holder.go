package logbustest

import (
	"testing"
	"time"
)

// Holder kills a process and starts it again, once with a fixed name and once without.
func Holder(t *testing.T, tr Transport) {
	t.Run("named", func(t *testing.T) {
		const ttl = time.Minute // too long for a test to wait
		if took := restart(t, tr, "pod-1", ttl); took > ttl/3 {
			t.Errorf("a restarted process got its partitions after %v, with a lease of %v", took, ttl)
		}
	})
	t.Run("unnamed", func(t *testing.T) {
		const ttl = 3 * time.Second
		// At the kill, the last renewal of the lease was at most a third of the lease ago.
		if took := restart(t, tr, "", ttl); took < ttl/3 {
			t.Errorf("a process without a name got the partitions after %v, in spite of a lease of %v", took, ttl)
		}
	})
}

// restart returns the time from a kill to the first message that the next process handles.
func restart(t *testing.T, tr Transport, holder string, ttl time.Duration) time.Duration {
	t.Helper()
	url, b, l := tr.payments(t, Settings{})
	p := start(t, url, holder, ttl, l)
	if err := publishNumbers(b, 1, 5, 0); err != nil {
		t.Fatal(err)
	}
	l.wait(t, ledgerKeys, 5, 30*time.Second)
	p.kill()
	killed := time.Now()
	if err := publishNumbers(b, 6, 10, 0); err != nil {
		t.Fatal(err)
	}
	start(t, url, holder, ttl, l)
	l.wait(t, ledgerKeys, 10, 50*time.Second)
	took := time.Since(killed)
	t.Logf("the next process was done %v after the kill, with a lease of %v", took, ttl)
	return took
}

// SharedHolder gives two live processes one name, which is a misconfiguration: they take the
// partitions from each other. Still nothing is lost, because only the newest lease moves a
// cursor.
func SharedHolder(t *testing.T, tr Transport) {
	url, b, l := tr.payments(t, Settings{})
	for range 2 {
		start(t, url, "pod-1", killedTTL, l)
	}
	const each = 40
	if err := publishNumbers(b, 1, each, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	a := l.wait(t, ledgerKeys, each, 2*time.Minute)
	t.Logf("%d messages, %d handled, %d repeats", ledgerKeys*each, a.total, a.repeats)
}
