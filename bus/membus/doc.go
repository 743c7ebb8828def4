// Package membus is a transport inside one process: keyed logs with consumer groups in memory,
// opened by mem:// URLs. It is for tests and experiments. It is not durable, as its capabilities
// declare: when the last bus on a store is closed, or the process ends, all messages are gone.
//
//	b, err := bus.Open(ctx, "mem://", membus.Scheme())                      // a store of its own
//	b, err := bus.Open(ctx, "mem://orders?retention=1000", membus.Scheme()) // shared by that name
//
// Unlike Watermill's GoChannel it keeps order, and messages without a subscriber.
//
//	property                                               proven by
//	it passes the conformance suite                        TestConformance
//	a topic keeps the newest messages, 100,000 by default  TestRetentionDropsWhatEveryGroupHasRead
//	no message is dropped that a group still has to read   TestRetentionRefusesToDropWhatAGroupHasNotRead
//	a publish stores all its messages or none              TestAPublishLargerThanTheRetentionIsRefused
//	unacknowledged messages of a group can be shown        TestPendingShowsWhatAGroupHasNotAcknowledged
//	the window bounds unacknowledged messages              TestTheWindowBoundsWhatIsUnacknowledged
//	buses of one name share, until the last one closes     TestNamesShareAStoreWhileOneIsOpen
//
// A topic is one log. A group is a cursor on it. A new group, made by Declare or by its first
// subscriber, starts at the earliest retained message. Acknowledgements move the cursor over the
// longest acknowledged prefix; acknowledgements behind it are remembered. Of several sources of
// a group one reads and the others stand by; when it is closed, the next one resumes where it
// stopped. So order per key holds, and a second instance adds safety but no speed.
//
// Failure modes: Publish never waits. When a topic is full and a group has not acknowledged the
// oldest message, Publish fails until that group reads: a group without consumers
// eventually fills its topic, and so do dead letters that are not redriven or dropped. Retention
// by time, partitions and replication in a declaration are accepted and have no effect.
package membus
