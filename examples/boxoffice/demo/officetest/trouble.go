package officetest

import (
	"net/http"
	"sync"
	"time"
)

// trouble is what the parts share: the fault, and the lock of all that they have.
type trouble struct {
	fault Fault
	drop  func(*http.Request) bool
	mu    sync.Mutex
	once  sync.Once // the fault happens one time
	jobs  sync.WaitGroup
}

// strikes reports true once, for the chosen fault.
func (t *trouble) strikes(f Fault) (hit bool) {
	if t.fault == f {
		t.once.Do(func() { hit = true })
	}
	return hit
}

// later runs fn under the lock after d. A test waits for it.
func (t *trouble) later(d time.Duration, fn func()) {
	t.jobs.Add(1)
	time.AfterFunc(d, func() {
		defer t.jobs.Done()
		t.mu.Lock()
		defer t.mu.Unlock()
		fn()
	})
}
