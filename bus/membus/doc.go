// Package membus is a transport inside one process: keyed logs with consumer
// groups in memory, opened by mem:// URLs. It is for tests and for trying things
// out. It is not durable and says so in its capabilities: when the last bus on a
// store is closed, or the process ends, all messages are gone.
//
//	o := bus.NewOpener(membus.Scheme())
//	b, err := o.Open(ctx, "mem://")                      // a store of its own
//	b, err := o.Open(ctx, "mem://orders?retention=1000") // shared by that name
//
// Unlike Watermill's GoChannel it keeps what nobody has subscribed to yet, and
// order.
//
//	property                                               proven by
//	it passes the conformance suite                        TestConformance
//	a topic keeps the newest messages, 100,000 by default  TestRetentionDropsWhatEveryGroupHasRead
//	nothing is dropped that a group still has to read      TestRetentionRefusesToDropWhatAGroupHasNotRead
//	a publish is kept whole or not at all                  TestAPublishLargerThanTheRetentionIsRefused
//	what a group has not acknowledged can be shown         TestPendingShowsWhatAGroupHasNotAcknowledged
//	what is out is bounded by the window                   TestTheWindowBoundsWhatIsUnacknowledged
//	buses of one name share, until the last one closes     TestNamesShareAStoreWhileOneIsOpen
//
// A topic is one log. A group is a cursor on it, which stands at the earliest
// retained message when it is made, by Declare or by its first subscriber, and
// which acknowledgements move over the longest confirmed prefix; what is confirmed
// behind it is remembered. Of several
// sources of a group one reads and the others stand by; when it is closed
// the next takes over where it stopped. So order per key holds, and a second
// instance adds safety and no speed.
//
// Failure modes: Publish never waits. When a topic is full and a group has not
// acknowledged the oldest message, Publish fails with ErrFull, and goes on
// failing until that group reads: a group that nobody consumes with any more
// fills its topic in the end, and so do dead letters that nobody redrives or
// drops. Retention by time, partitions and replication in a
// declaration are accepted and mean nothing here.
package membus
