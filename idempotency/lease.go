package idempotency

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
)

// Record is the stored data of a handled event.
type Record = driver.Record

// Claim is the right to an effect: [Leases] gives it to the function that has the effect, for
// its fencing token.
type Claim = driver.Claim

// ErrLeaseLost is returned for a claim that no longer holds its key: the deadline passed and
// another worker took over. The receiver of the effect decides whether work with a stale token
// counts.
var ErrLeaseLost = driver.ErrLeaseLost

// ErrMismatch is returned for a key that belongs to another request: the fingerprint differs.
// It is permanent.
var ErrMismatch = fault.MarkPermanent(errors.New("idempotency: the key stands for another request; use a new key for a new request"))

// TakenError is returned for a key that another worker holds. It is [fault.Busy]: a consumer
// lets the event wait until the key is done or free, however long that takes.
type TakenError struct {
	Key string
	// Wait is the rest of the holder's lease, unless the lease is extended.
	Wait time.Duration
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("idempotency: another worker holds the key %q for %v more; try again later", e.Key, e.Wait.Round(time.Millisecond))
}
