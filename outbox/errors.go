package outbox

import "errors"

var (
	// ErrNoTopic is returned by Append for an event without a topic.
	ErrNoTopic = errors.New("outbox: no topic: set Config.Topic or Config.Route, or call AppendTo")

	// ErrHung is the cause with which the messages of a Publish call are cancelled when the
	// call has not returned within RelayConfig.PublishTimeout. Relay.Run returns ErrHung if
	// such a call has still not returned at its end: the messages that the call publishes later
	// may arrive twice.
	ErrHung = errors.New("outbox: the publisher does not return from Publish")

	// ErrRunning is returned by Run and Drain while the relay already runs.
	ErrRunning = errors.New("outbox: this relay is already running")
)
