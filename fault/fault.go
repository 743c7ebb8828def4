package fault

import (
	"errors"
	"time"
)

// Class is the class of a failure.
type Class uint8

const (
	// Unclassified is the class of an error without a mark. [Of] never returns it for an error:
	// it treats such an error as Transient.
	Unclassified Class = iota
	// Transient failures may go away by themselves: a third party's timeout or 5xx, a lock
	// timeout, a panic.
	Transient
	// Permanent failures happen every time: a decode error, a validation error, a violated
	// constraint.
	Permanent
	// Infrastructure failures are ours: the database, Redis or the broker is
	// unreachable, slower than its timeout, or behind an open circuit.
	Infrastructure
	// Busy is not a failure: another worker holds a resource that this one needs, and may do
	// the work itself. [Wait] returns how long at most.
	Busy
)

// String returns the class in lower case: "transient", "permanent",
// "infrastructure", "busy" or "unclassified".
func (c Class) String() string {
	names := [...]string{"unclassified", "transient", "permanent", "infrastructure", "busy"}
	if int(c) < len(names) {
		return names[c]
	}
	return names[Unclassified]
}

// Classifier classifies errors without a mark, usually a driver's. It returns Unclassified for
// errors that it does not know. It must look through wrapping.
type Classifier func(error) Class

// Mark wraps err with the class that [Of] finds for it. An error with a mark, an error that no
// classifier knows and nil stay as they are.
func Mark(err error, classifiers ...Classifier) error {
	var m *marked
	if err == nil || errors.As(err, &m) {
		return err
	}
	for _, classify := range classifiers {
		if c := classify(err); c != Unclassified {
			return mark(err, c, 0)
		}
	}
	return err
}

// MarkTransient wraps err as [Transient]; nil stays nil.
func MarkTransient(err error) error { return mark(err, Transient, 0) }

// MarkPermanent wraps err as [Permanent]; nil stays nil.
func MarkPermanent(err error) error { return mark(err, Permanent, 0) }

// MarkInfrastructure wraps err as [Infrastructure]; nil stays nil.
func MarkInfrastructure(err error) error { return mark(err, Infrastructure, 0) }

// MarkBusy wraps err as [Busy]; nil stays nil. After wait at the latest, the other worker is
// done or has lost its lease, unless it extends the lease. Pass 0 when the time is not known.
func MarkBusy(err error, wait time.Duration) error { return mark(err, Busy, wait) }

// Wait returns the wait of a [Busy] error: the longest time until the resource is free; 0 if
// unknown.
func Wait(err error) time.Duration {
	var m *marked
	if errors.As(err, &m) {
		return m.wait
	}
	return 0
}

// Of returns the class of err: the outermost mark, else the first answer of
// the classifiers, else Transient. Of(nil) is Unclassified.
func Of(err error, classifiers ...Classifier) Class {
	if err == nil {
		return Unclassified
	}
	var m *marked
	if errors.As(Mark(err, classifiers...), &m) {
		return m.class
	}
	return Transient
}

type marked struct {
	err   error
	class Class
	wait  time.Duration
}

func mark(err error, c Class, wait time.Duration) error {
	if err == nil {
		return nil
	}
	return &marked{err, c, wait}
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }
