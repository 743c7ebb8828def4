package counter

import "github.com/millrace-go/millrace/counter/driver"

// Change is one change row: a row that was created (1) or soft-deleted (-1).
type Change = driver.Change

// Delta is a change to the count of a key.
type Delta = driver.Delta

// ErrLeaseHeld is returned by [Flusher.Flush] while another flusher is at work.
var ErrLeaseHeld = driver.ErrLeaseHeld
