package outbox

import (
	"errors"

	"github.com/millrace-go/millrace/outbox/driver"
)

var (
	// ErrNoTransaction is returned by Append if its tx is not a transaction ([sqltx.CheckTx]):
	// a pool, a connection or a wrapper of one would commit the events even if the caller's
	// work is rolled back. The error names the type of tx.
	ErrNoTransaction = driver.ErrNoTransaction

	// ErrNoTopic is returned by Append for an event without a topic.
	ErrNoTopic = errors.New("outbox: no topic: set Config.Topic or Config.Route, or call AppendTo")

	// ErrHung is the cause with which the messages of a Publish call are cancelled when the
	// call has not returned within RelayConfig.PublishTimeout. Relay.Run returns ErrHung if
	// such a call has still not returned at its end: the messages that the call publishes later
	// may arrive twice.
	ErrHung = errors.New("outbox: the publisher does not return from Publish")

	// ErrForeignDatabase is returned by Relay.Run when the store's cursors were written on
	// another database system, for example after a dump was restored elsewhere. Adopt or Rebase
	// the store, then run again.
	ErrForeignDatabase = driver.ErrForeignDatabase

	// ErrShards is returned by Append and Relay.Run when the configured number of shards differs
	// from the number with which the tables were first used. Events would go to shards without a
	// reader, or lose their order.
	ErrShards = driver.ErrShards

	// ErrRunning is returned by Run and Drain while the relay already runs.
	ErrRunning = errors.New("outbox: this relay is already running")
)
