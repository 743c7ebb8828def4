// Package txbus is ?mode=tx of the transports postgres:// and mysql://: a driver.Driver over
// Watermill SQL v3's own publisher and subscriber, in which the offset of a message is part of
// the transaction in which its handler works.
//
// It stands on package watermillbus, as every ?mode=watermill does. A transport's package adds a
// [Dialect]: Watermill SQL's adapters for its database, and the queries for operators.
//
//	Publish ─ Watermill's publisher, on the pool or in the transaction of the context
//
//	Subscribe ─ Watermill's subscriber: BEGIN, lock the group's row, read one message
//	  └ delivery       the message, with its transaction in the context
//	    └ WrapHandler  SAVEPOINT; the handler; RELEASE, or ROLLBACK TO after a failure
//	  acknowledged     Watermill moves the offset and commits
//	  handed back      the subscriber is ended by its context, which rolls back, and
//	                   started again
//
// Watermill's subscriber alone hands a nacked message out again in the same transaction, with
// the writes of its handler. It commits these writes when it is closed, or when its deadline for
// acknowledgements passes, and it does not report whether a commit succeeded. This package
// prevents that: one message per transaction, a rollback for every message that is not
// acknowledged, no deadline, and Watermill's log shows how each transaction ended.
//
//	property                                                      proven by
//	the conformance suites                                        pgbus, mysqlbus: TestConformanceTx
//	an effect exactly once, in spite of failures                  txbustest: ExactlyOnce, CloseRollsBack, Poison
//	a conflict is handled again in a new transaction              txbustest: Conflict
//	sqltx finds the transaction, hooks run after it               txbustest: Handlers
//	a group is serial over its instances                          txbustest: SerialGroups
//	an instance can start while handlers work                     txbustest: SecondInstance
//	the end of a message's context ends its Publish               pgbus: TestTxPublishEndsWithItsContext
//	concurrent writers lose nothing                               txbustest: ConcurrentWriters
//	Watermill SQL reads and writes the same tables                txbustest: Watermill
//	an acknowledgement counts if the commit succeeded             TestRounds
//	tables have names of their own                                TestTables
//
// # Failure modes
//
// If a transaction is lost while a handler works, its message is redelivered in a new one; the
// lost run is not counted as an attempt. If the commit of an acknowledgement is still under way
// 5 s after Close began, Close does not wait for it any more.
package txbus
