package kafkabus

import (
	"errors"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lateness remembers why produce requests fail. The client repeats them on its own, and
// gives the reason only in its log.
type lateness struct {
	late atomic.Int64 // calls that have waited for long

	mu  sync.Mutex
	err error
	at  time.Time
}

var _ kgo.Logger = (*lateness)(nil)

// Level implements kgo.Logger. Logging the brokers' answers costs the client some
// microseconds a request, so the level includes them only while calls are late.
func (t *lateness) Level() kgo.LogLevel {
	if t.late.Load() > 0 {
		return kgo.LogLevelDebug
	}
	return kgo.LogLevelWarn
}

// Log implements kgo.Logger.
func (t *lateness) Log(_ kgo.LogLevel, message string, keyvals ...any) {
	for _, v := range keyvals {
		if err, ok := v.(error); ok {
			t.note(err)
		}
		if answers, ok := v.(string); ok && message == "produced" {
			if found := retrying.FindStringSubmatch(answers); found != nil {
				t.note(errors.New(found[1]))
			}
		}
	}
}

// retrying finds the reason in answers such as "topic[0{retrying@-1,5(REQUEST_TIMED_OUT: The request timed out.)}]".
var retrying = regexp.MustCompile(`\{retrying@[^(]*\(([^)]*)\)`)

// expect notes that a call begins to wait; the caller calls end when the wait is over.
func (t *lateness) expect(within time.Duration) (end func()) {
	timer := time.AfterFunc(within, func() { t.late.Add(1) })
	return func() {
		if !timer.Stop() {
			t.late.Add(-1)
		}
	}
}

func (t *lateness) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err, t.at = err, time.Now()
}

// since returns the error noted after then, or else err.
func (t *lateness) since(then time.Time, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil && t.at.After(then) {
		return t.err
	}
	return err
}
