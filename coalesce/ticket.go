package coalesce

import (
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// Priority of a refresh. Its values are those of event.Priority, so one converts
// into the other.
type Priority string

// The priorities.
const (
	High Priority = "HIGH"
	Low  Priority = "LOW"
)

// Ticket names one run of a key's refresh: who holds the lock. It travels in the
// event that asks for the work, as its key, priority and sequence.
type Ticket struct {
	Key      string
	Priority Priority
	// Version is above every earlier version of the key.
	Version int64
}

// Outcome of a request.
type Outcome uint8

// The outcomes.
const (
	// Published: nobody was at it. The lock is the caller's, who publishes.
	Published Outcome = iota + 1
	// Upgraded: a run of low priority was under way and is obsolete now. The
	// lock is the caller's, who publishes.
	Upgraded
	// AlreadyProcessing: somebody is at it, and nothing is to be published.
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
	// Ticket is the run that stands: the caller's own when the outcome is
	// Published or Upgraded, otherwise somebody else's.
	Ticket Ticket
}

// Mine reports whether the run is the caller's to publish.
func (d Decision) Mine() bool { return d.Outcome == Published || d.Outcome == Upgraded }

// End is what a [Store] answers to Done.
type End struct {
	// Released says that the ticket held the lock.
	Released bool
	// Again says that somebody asked for one more run; Next holds the lock now.
	Again bool
	Next  Ticket
}

// MaxKey is the longest key, in bytes.
const MaxKey = 1024

// Check reports what is wrong with a key and a priority; for stores to begin
// with. The error is permanent.
func Check(key string, p Priority) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if p != High && p != Low {
		return fault.MarkPermanent(fmt.Errorf("coalesce: the priority %q is neither HIGH nor LOW", p))
	}
	return nil
}

// CheckKey reports what is wrong with a key. The error is permanent.
func CheckKey(key string) error {
	switch {
	case key == "":
		return ErrEmptyKey
	case len(key) > MaxKey:
		return fault.MarkPermanent(fmt.Errorf("coalesce: a key of %d bytes, %.20q…; use at most %d, or a hash of it", len(key), key, MaxKey))
	}
	return nil
}

// Check reports what is wrong with a ticket. The error is permanent.
func (t Ticket) Check() error {
	if err := Check(t.Key, t.Priority); err != nil {
		return err
	}
	if t.Version < 1 {
		return fault.MarkPermanent(fmt.Errorf("coalesce: the ticket of %q has the version %d; hand on the one that the request returned", t.Key, t.Version))
	}
	return nil
}
