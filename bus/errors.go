package bus

import (
	"errors"

	"github.com/millrace-go/millrace/bus/driver"
)

var (
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("bus: closed")
	// ErrRunning is returned by Add and Run of a Runner that was started before.
	ErrRunning = errors.New("bus: the runner was started before; make a new one")
	// ErrRevoked is the cause of a message's cancelled context when the transport took the
	// message back, because another instance holds it now.
	ErrRevoked = driver.ErrRevoked
	// ErrDrainTimeout is the cause of a message's cancelled context when its
	// handler was still at work at the end of the drain timeout.
	ErrDrainTimeout = errors.New("bus: the drain timeout is over")
	// ErrSubscriptionLost is returned by Run when a transport ended a subscription that was not
	// stopped.
	ErrSubscriptionLost = errors.New("bus: the transport ended the subscription")
)
