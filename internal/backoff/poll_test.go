package backoff_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/backoff"
)

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := backoff.Poll{Quick: 2 * time.Millisecond, Idle: 100 * time.Millisecond}
		p.Met()
		assert.Equal(t, 2*time.Millisecond, p.Wait(), "after something came it waits")
		looks := 0
		for start := time.Now(); time.Since(start) < 10*time.Second; looks++ {
			passed := time.Since(start)
			wait := p.Wait()
			if wait > 2*time.Millisecond && wait > passed/10 || wait > 100*time.Millisecond {
				t.Fatalf("%s after something came it waits %s", passed, wait)
			}
			time.Sleep(wait)
		}
		if looks > 150 { // 10 a second for 9 s, and some 50 in the first
			t.Errorf("%d looks in 10 s without anything, want at most 150", looks)
		}
		p.Met()
		assert.Equal(t, 2*time.Millisecond, p.Wait(), "after something came again it waits")
		if slow := (&backoff.Poll{Quick: 20 * time.Millisecond, Idle: 5 * time.Millisecond}); slow.Wait() != 5*time.Millisecond {
			t.Errorf("it waits %s, want no more than Idle", slow.Wait())
		}
	})
}
