package kafkabus

import (
	"testing"
	"time"

	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// The errors that tests tell apart.
var (
	ErrTopic = errTopic
)

// Waiting returns how many messages are in the publisher's memory.
func Waiting(d busdriver.Driver) (n int) {
	p := d.(*driver).publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.queues {
		n += len(q.items)
		if q.batch != nil {
			n += len(q.batch.items)
		}
	}
	return n
}

// AwaitWaiting waits until at least n messages are in the publisher's memory.
func AwaitWaiting(t testing.TB, d busdriver.Driver, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); Waiting(d) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are waiting, want %d", Waiting(d), n)
		}
	}
}
