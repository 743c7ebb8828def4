package driver

import (
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// Priority is the priority of a refresh. Its values are those of event.Priority, so one
// converts into the other.
type Priority string

// The priorities.
const (
	High Priority = "HIGH"
	Low  Priority = "LOW"
)

// Ticket identifies one run of a key's refresh, the holder of the lock. It travels in the event
// that requests the work, as its key, priority and sequence.
type Ticket struct {
	Key      string
	Priority Priority
	// Version is above every earlier version of the key.
	Version int64
}

// Outcome is the outcome of a request.
type Outcome uint8

// The outcomes.
const (
	// Published: the lock was free. The caller holds it and publishes.
	Published Outcome = iota + 1
	// Upgraded: a run of low priority was in progress and is obsolete now. The caller holds the
	// lock and publishes.
	Upgraded
	// AlreadyProcessing: the key is being refreshed. The caller does not publish.
	AlreadyProcessing
)

// String returns the outcome's name.
func (o Outcome) String() string {
	switch o {
	case Published:
		return "Published"
	case Upgraded:
		return "Upgraded"
	case AlreadyProcessing:
		return "AlreadyProcessing"
	}
	return "unknown"
}

// Decision is the answer to a request.
type Decision struct {
	Outcome Outcome
	// Ticket is the run that holds the lock: the caller's own if the outcome is Published or
	// Upgraded, otherwise another's.
	Ticket Ticket
}

// Mine reports whether the caller has to publish the run.
func (d Decision) Mine() bool { return d.Outcome == Published || d.Outcome == Upgraded }

// End is the answer of [Store].Done.
type End struct {
	// Released says that the ticket held the lock.
	Released bool
	// Again says that one more run was requested; Next holds the lock now.
	Again bool
	Next  Ticket
}

// MaxKey is the longest key, in bytes.
const MaxKey = 1024

// Check returns an error if a key or a priority is invalid; stores call it first. The error is
// permanent.
func Check(key string, p Priority) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if p != High && p != Low {
		return fault.MarkPermanent(fmt.Errorf("coalesce: the priority %q is neither HIGH nor LOW", p))
	}
	return nil
}

// CheckKey returns an error if a key is invalid. The error is permanent.
func CheckKey(key string) error {
	switch {
	case key == "":
		return ErrEmptyKey
	case len(key) > MaxKey:
		return fault.MarkPermanent(fmt.Errorf("coalesce: a key of %d bytes, %.20q…; use at most %d, or a hash of it", len(key), key, MaxKey))
	}
	return nil
}

// Check returns an error if a ticket is invalid. The error is permanent.
func (t Ticket) Check() error {
	if err := Check(t.Key, t.Priority); err != nil {
		return err
	}
	if t.Version < 1 {
		return fault.MarkPermanent(fmt.Errorf("coalesce: the ticket of %q has the version %d; hand on the one that the request returned", t.Key, t.Version))
	}
	return nil
}
