package bus

import "errors"

var (
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("bus: closed")
	// errRunning is returned by Add and Run of a Runner that was started before.
	errRunning = errors.New("bus: the runner was started before; make a new one")
	// errDrainTimeout is the cause of a message's cancelled context when its
	// handler was still at work at the end of the drain timeout.
	errDrainTimeout = errors.New("bus: the drain timeout is over")
	// errSubscriptionLost is returned by Run when a transport ended a subscription that was not
	// stopped.
	errSubscriptionLost = errors.New("bus: the transport ended the subscription")
)
