// Package logbustest checks the guarantees of transports over a SQL log that package bustest
// does not cover: transactions of an application, and killed processes that share a group.
//
//	property                                                          test
//	Publish inside a transaction belongs to it; a handler may write
//	the same database                                                 Transactions
//	transactions on another database are not joined                   OtherDatabase
//	16 writers with open transactions: nothing lost or repeated,
//	the order of a key's commits kept                                 ConcurrentWriters
//	killed consumers lose nothing and skip nothing                    KilledConsumers
//	a killed process with a name resumes at once, one without after
//	the lease                                                         Holder
//	two live processes of one name lose nothing                       SharedHolder
//	another process's messages arrive soon                            OtherProcessWakes
//	unacknowledged messages of a group are shown                      Pending
//
// The tests kill real processes: the test binary itself, which [Main] turns into a consumer.
package logbustest
