package outbox

import "errors"

var (
	// ErrNoTransaction is returned by Append when it is given no transaction: a
	// *sql.DB would write the events on their own, committed or not with the rest.
	ErrNoTransaction = errors.New("outbox: append needs a transaction: pass the *sql.Tx that writes your data, or use sqltx.Do")

	// ErrNoTopic is returned by Append when nothing says where an event goes.
	ErrNoTopic = errors.New("outbox: no topic: set Config.Topic or Config.Route, or call AppendTo")

	// ErrLeaseHeld is returned by Store.Lease while another holder's lease is valid.
	ErrLeaseHeld = errors.New("outbox: the shard's lease is held by another relay")

	// ErrLeaseLost is returned by Store.Settle when the lease has gone to another
	// holder. Nothing of the settlement was kept.
	ErrLeaseLost = errors.New("outbox: the shard's lease was lost to another relay")

	// ErrForeignDatabase is returned by Relay.Run when the store's cursors were
	// written on another database system, as after a dump was restored elsewhere.
	// Rebase the store, then run again.
	ErrForeignDatabase = errors.New("outbox: the cursors belong to another database system: run the store's Rebase, which says from when events are published again")

	// ErrShards is returned when the configured number of shards is not the one
	// that the tables were first used with. Events would land in shards that
	// nobody reads, or lose their order.
	ErrShards = errors.New("outbox: the number of shards differs from the stored one")

	// ErrRunning is returned by Run and Drain while the relay already runs.
	ErrRunning = errors.New("outbox: this relay is already running")

	// ErrUnsupported is returned when the store lacks an optional ability.
	ErrUnsupported = errors.New("outbox: the store does not support this")
)
