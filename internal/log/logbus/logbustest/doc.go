// Package logbustest checks what the transports over a SQL log owe beyond the
// suite of package bustest: what they do with an application's transactions, and
// what processes that share a group owe each other when they are killed.
//
//	property                                                          test
//	Publish inside a transaction belongs to it; a handler may write
//	the same database                                                 Transactions
//	transactions on another database are left alone                   OtherDatabase
//	16 writers with open transactions: nothing lost or repeated,
//	the order of a key's commits kept                                 ConcurrentWriters
//	killed consumers lose nothing and skip nothing                    KilledConsumers
//	a killed process with a name goes on at once, one without after
//	the lease                                                         Holder
//	two live processes of one name lose nothing                       SharedHolder
//	another process's messages arrive soon                            OtherProcessWakes
//	what a group has not acknowledged is shown                        Pending
//
// The tests kill real processes: the test binary itself, which [Main] turns into
// a consumer.
package logbustest
