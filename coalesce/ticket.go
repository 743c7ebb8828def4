package coalesce

import "github.com/millrace-go/millrace/coalesce/driver"

// Priority is the priority of a refresh. Its values are those of event.Priority, so one
// converts into the other.
type Priority = driver.Priority

// The priorities.
const (
	High = driver.High
	Low  = driver.Low
)

// Ticket identifies one run of a key's refresh, the holder of the lock. It travels in the event
// that requests the work, as its key, priority and sequence.
type Ticket = driver.Ticket

// The outcomes of a request.
const (
	// Published: the lock was free. The caller holds it and publishes.
	Published = driver.Published
	// Upgraded: a run of low priority was in progress and is obsolete now. The caller holds the
	// lock and publishes.
	Upgraded = driver.Upgraded
	// AlreadyProcessing: the key is being refreshed. The caller does not publish.
	AlreadyProcessing = driver.AlreadyProcessing
)

// Decision is the answer to a request. Its method Mine reports whether the caller has to publish
// the run.
type Decision = driver.Decision
