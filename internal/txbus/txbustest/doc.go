// Package txbustest checks the guarantee of ?mode=tx of the SQL transports: the offset of a
// message is part of its handler's transaction, on every database.
//
//	property                                                          test
//	a handler's write exists once for every message that was
//	acknowledged: under failures, panics, swallowed errors, a broken
//	connection and killed instances                                   ExactlyOnce
//	a conflict with another transaction costs a redelivery            Conflict
//	package sqltx finds the transaction; hooks run after its commit   Handlers
//	closing rolls back transactions in progress                       CloseRollsBack
//	a group handles one message at a time, also over instances        SerialGroups
//	an instance can start while handlers work                         SecondInstance
//	a poison message becomes a dead letter and keeps the order        Poison
//	16 concurrent writers lose nothing                                ConcurrentWriters
//	messages of Watermill SQL's own publisher are read here, and
//	its own subscriber reads messages published here                  Watermill
//	names that cannot name a table are refused                        Names
package txbustest
