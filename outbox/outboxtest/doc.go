// Package outboxtest tests outbox stores, and code that uses an outbox.
//
// [Run] is the conformance suite of outbox.Store with the relay on it; each
// [Case] returns what is wrong. [Memory] is a store without a database, and
// [Publisher] records what is published. [Stress] is the out-of-order stress on
// a real database, beside the naive reader that loses events.
//
//	property                                        proven by
//	the suite notices each promise being broken     TestSuiteNotices
//	Memory keeps what a store promises, but for
//	durability                                      TestMemory
package outboxtest
