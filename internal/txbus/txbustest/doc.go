// Package txbustest checks what ?mode=tx of the SQL transports promises: the
// offset of a message is part of its handler's transaction, on every database.
//
//	property                                                          test
//	what a handler writes is there once for every message that was
//	acknowledged: under failures, panics, swallowed errors, a broken
//	connection and killed instances                                   ExactlyOnce
//	package sqltx finds the transaction; hooks run after its commit   Handlers
//	closing rolls back what is at work                                CloseRollsBack
//	a group handles one message at a time, also over instances        SerialGroups
//	a poison message becomes a dead letter and keeps the order        Poison
//	16 concurrent writers lose nothing                                ConcurrentWriters
//	Watermill SQL's own publisher writes what is read here, and its
//	own subscriber reads what is published here                       Watermill
//	names that make no table are refused                              Names
package txbustest
