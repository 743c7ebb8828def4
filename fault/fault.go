package fault

import (
	"errors"
	"time"
)

// Class says how a failure behaves.
type Class uint8

const (
	// Unclassified is the class of an error nobody has judged. [Of] never
	// returns it: it reads such an error as Transient.
	Unclassified Class = iota
	// Transient failures may go away by themselves: a third party's timeout
	// or 5xx, a lock timeout, a panic.
	Transient
	// Permanent failures come back every time: a decode error, a validation
	// error, a violated constraint.
	Permanent
	// Infrastructure failures are ours: the database, Redis or the broker is
	// unreachable, slower than its timeout, or behind an open circuit.
	Infrastructure
	// Busy is no failure: another worker has what this one needs, and the work may be
	// done without it. [Wait] says for how long at most.
	Busy
)

// String returns the class in lower case: "transient", "permanent",
// "infrastructure", "busy" or "unclassified".
func (c Class) String() string {
	switch c {
	case Transient:
		return "transient"
	case Permanent:
		return "permanent"
	case Infrastructure:
		return "infrastructure"
	case Busy:
		return "busy"
	default:
		return "unclassified"
	}
}

// Classifier judges errors that carry no class, usually a driver's. It returns
// Unclassified for what it does not know. It must look through wrapping.
type Classifier func(error) Class

// MarkTransient wraps err as [Transient]; nil stays nil.
func MarkTransient(err error) error { return mark(err, Transient, 0) }

// MarkPermanent wraps err as [Permanent]; nil stays nil.
func MarkPermanent(err error) error { return mark(err, Permanent, 0) }

// MarkInfrastructure wraps err as [Infrastructure]; nil stays nil.
func MarkInfrastructure(err error) error { return mark(err, Infrastructure, 0) }

// MarkBusy wraps err as [Busy]; nil stays nil. The other worker is done, or has lost its
// right, after wait at the latest, unless it prolongs it; 0 where nobody knows.
func MarkBusy(err error, wait time.Duration) error { return mark(err, Busy, wait) }

// Wait returns how long whoever was [Busy] has what err's maker needs; 0 where it is not known.
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
	if errors.As(err, &m) {
		return m.class
	}
	for _, classify := range classifiers {
		if c := classify(err); c != Unclassified {
			return c
		}
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
