// Package outboxtest tests outbox stores, and code that uses an outbox.
//
// [Run] is the conformance suite of driver.Store with the relay on it; each [Case] returns an
// error. [Memory] is a store without a database, and [Publisher] records published events.
// [Stress] is the out-of-order stress on a real database, beside the naive reader that loses
// events.
//
//	property                                        proven by
//	the suite detects each broken guarantee         TestSuiteNotices
//	Memory keeps the guarantees of a store, but for
//	durability                                      TestMemory
package outboxtest
