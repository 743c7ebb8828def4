// Package txbus is ?mode=tx of the transports postgres:// and mysql://: a
// bus.Driver over Watermill SQL v3's own publisher and subscriber, in which the
// offset of a message is part of the transaction that its handler works in.
//
// A transport's package adds a [Dialect]: Watermill SQL's adapters for its
// database, and what an operator wants to see.
//
//	Publish ─ Watermill's publisher, on the pool or in the transaction of the context
//
//	Subscribe ─ Watermill's subscriber: BEGIN, lock the group's row, read one message
//	  └ delivery       the message, with its transaction in the context
//	    └ WrapHandler  SAVEPOINT; the handler; RELEASE, or ROLLBACK TO after a failure
//	  acknowledged     Watermill moves the offset and commits
//	  given back       the subscriber is ended by its context, which rolls back, and
//	                   started anew
//
// Watermill's subscriber by itself hands a refused message out again in the same
// transaction, with whatever its handler has written; it commits that when it is
// closed, or when its deadline for acknowledgements passes; and it does not tell
// whether a commit went well. None of this shows here: one message to a
// transaction, a rollback for everything that is not acknowledged, no deadline,
// and the end of each transaction is known by what Watermill logs.
//
//	property                                                      proven by
//	the conformance suites                                        pgbus, mysqlbus: TestConformanceTx
//	an effect exactly once, whatever fails                        txbustest: ExactlyOnce, CloseRollsBack, Poison
//	sqltx finds the transaction, hooks run after it               txbustest: Handlers
//	a group is serial over its instances                          txbustest: SerialGroups
//	concurrent writers lose nothing                               txbustest: ConcurrentWriters
//	Watermill SQL reads and writes the same tables                txbustest: Watermill
//	an acknowledgement counts when the commit went well           TestRounds
//	tables have names of their own                                TestTables
//
// # Failure modes
//
// A transaction that is lost while a handler works has its message delivered
// again in a new one; that run is not counted as an attempt. An acknowledgement
// whose commit is still under way 5 s after Close began is given up.
package txbus
