package bus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Lanes that waited for the end of a pause go before lanes that became ready during the pause,
// and each key is in one state at a time.
func TestLanesRelease(t *testing.T) {
	l := newLanes()
	for _, key := range []string{"a", "b", "c", "d"} {
		l.add(key, &delivery{})
	}
	take := func(want string) *delivery {
		t.Helper()
		d := l.next()
		if d == nil || d.lane.key != want {
			t.Fatalf("next is %v, want %s", d, want)
		}
		l.take(d)
		return d
	}
	a, b := take("a"), take("b")
	l.wait(b)
	l.wait(a)
	if d := l.nextProbe(false); d != b {
		t.Error("the probe is not the message that has waited longest")
	}
	c := take("c")
	l.park(c, time.Unix(100, 0))
	l.add("a", &delivery{})
	l.release()
	take("b")
	take("a")
	take("d")
	if d := l.next(); d != nil {
		t.Errorf("next is %s: a busy key is handed out", d.lane.key)
	}
	if due, ok := l.nextDue(); !ok || !due.Equal(time.Unix(100, 0)) {
		t.Errorf("due at %v %t", due, ok)
	}
	l.wake(time.Unix(99, 0))
	if d := l.next(); d != nil {
		t.Errorf("%s was woken before its time", d.lane.key)
	}
	l.wake(time.Unix(100, 0))
	take("c")
	l.finish(a)
	take("a")
	assert.Equal(t, 4, l.held, "held")
}
