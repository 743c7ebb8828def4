// Package outboxtest tests outbox stores, and code that uses an outbox.
//
//	func TestConformance(t *testing.T) {
//		outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
//			store, inTx := … // a new store with that number of shards
//			return outboxtest.Harness{Store: store, InTx: inTx}
//		})
//	}
//
// [Run] is the conformance suite of driver.Store with the relay on it; each [Case] returns an
// error. [Memory] is a store without a database, and [Publisher] records published events.
// [Stress] appends with late commits on a real database, beside a naive reader that loses
// events.
//
//	property                                        proven by
//	the suite detects each broken guarantee         TestSuiteNotices
//	a store that never answers fails                TestAStoreThatHangsFails
//	a case about an ability that the store lacks
//	is n/a                                          TestNotApplicable
//	Memory keeps the guarantees of a store, but for
//	durability                                      TestMemory
package outboxtest
