package driver

import (
	"errors"
	"fmt"
)

var (
	// ErrNoTransaction is returned by Store.Append and Outbox.Append if their tx is not a
	// transaction ([sqltx.CheckTx]): a pool, a connection or a wrapper of one would commit the
	// events even if the caller's work is rolled back. The error names the type of tx.
	ErrNoTransaction = errors.New("outbox: append needs the transaction that writes your data")

	// ErrLeaseHeld is returned by Store.Lease while another holder's lease is valid.
	ErrLeaseHeld = errors.New("outbox: the shard's lease is held by another relay")

	// ErrLeaseLost is returned by Store.Settle when the lease has gone to another holder, or
	// when the store now answers from another server than the one that granted the lease; the
	// settlement was not stored. In the latter case Store.Read returns it as well.
	ErrLeaseLost = errors.New("outbox: the shard's lease was lost to another relay")

	// ErrForeignDatabase is returned by Store.Lease and Relay.Run when the store's cursors were
	// written on another database system, for example after a dump was restored elsewhere. Only
	// [Adopter] and [Rebaser] can help; then run again.
	ErrForeignDatabase = errors.New("outbox: the cursors belong to another database system: after pg_upgrade run `millrace outbox adopt` (the store's Adopt), which keeps them; " +
		"after a dump was restored elsewhere, where adopt refuses, run `millrace outbox rebase` (the store's Rebase), which says from when events are published again")

	// ErrShards is returned by Store.Append, Store.Shards and Relay.Run when the configured number
	// of shards differs from the number with which the tables were first used. Events would go to
	// shards without a reader, or lose their order.
	ErrShards = errors.New("outbox: the number of shards differs from the stored one")

	// ErrSlow is returned by Store.Read when reading so many events took too long, for example
	// because of the database's statement timeout. The relay then asks for fewer events.
	ErrSlow = errors.New("outbox: reading took too long")

	// ErrOneConnection is the ErrUnsupported of a store whose pool has one connection:
	// listening would hold this connection and block all other work.
	ErrOneConnection = fmt.Errorf("outbox: listening keeps a connection of the pool, which has one only; allow two or more, or rely on RelayConfig.Interval: %w", ErrUnsupported)

	// ErrPooler is the ErrUnsupported of a store behind a pooler of connections, such as
	// PgBouncer, where a wake-up would be lost.
	ErrPooler = fmt.Errorf("outbox: listening does not work through a pooler; give the relay a URL that leads to the server itself, or rely on RelayConfig.Interval; "+
		"in transaction mode the pooler's URL needs default_query_exec_mode=exec: %w", ErrUnsupported)

	// ErrUnsupported is returned when the store lacks an optional ability.
	ErrUnsupported = errors.New("outbox: the store does not support this")
)
