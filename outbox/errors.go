package outbox

import "errors"

var (
	errNoTopic = errors.New("outbox: no topic: set Config.Topic or Config.Route, or call AppendTo")
	errRunning = errors.New("outbox: this relay is already running")

	errNoAnswer = errors.New("outbox: the store does not answer")

	// errHung is the cause with which the messages of a Publish call are cancelled when the
	// call has not returned within RelayConfig.PublishTimeout. Relay.Run returns errHung if
	// such a call has still not returned at its end: the messages that the call publishes later
	// may arrive twice.
	errHung = errors.New("outbox: the publisher does not return from Publish")
)
