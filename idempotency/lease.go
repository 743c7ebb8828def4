package idempotency

import (
	"errors"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
)

// Claim is the right to an effect: [Leases] gives it to the function that has the effect, for
// its fencing token.
type Claim = driver.Claim

// ErrLeaseLost is returned for a claim that does not hold its key any more: the deadline passed and
// another worker took over. The receiver of the effect decides whether work with a stale token
// counts.
var ErrLeaseLost = driver.ErrLeaseLost

// ErrMismatch is returned for a key that belongs to another request: the fingerprint differs.
// It is permanent.
var ErrMismatch = fault.MarkPermanent(errors.New("idempotency: the key stands for another request; use a new key for a new request"))
