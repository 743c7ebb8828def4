// Package migrating is the code of docs/migrating.md: a team moves from its own
// outbox, or from Watermill's forwarder, to package outbox and back. Its writers
// keep writing, and no message is lost or out of order.
//
//	property                                                    proven by
//	events committed before, during and after each switch are
//	published, per key in the order of the commits              TestHandWritten, TestForwarder
//	consumers see the same messages on either side              TestHandWritten, TestForwarder
//	a relay that starts before the other side is empty breaks
//	the order                                                   TestRelayTooEarlyBreaksTheOrder
//	a side that is read outside of the transaction loses events TestSideReadTooEarlyLosesEvents
//	a switch waits for the transactions that go to the old side TestTurnWaits
//	a group of Watermill alone moves to package bus by way of
//	?mode=watermill, one process at a time                      TestFleet
//
// Copy the parts that you need: [Switch] is for the time of the move, and [Wire]
// keeps the format of the messages.
//
// Failure modes: a writer that does not ask the switch writes to a side whose
// relay has ended. The event waits there until the way back. A killed relay
// repeats some messages, on either side, as always.
package migrating
