// Package migrating is what docs/migrating.md tells: a team that has an outbox
// of its own, or Watermill's forwarder, moves to package outbox and back again,
// while its writers go on and without a message lost or out of order.
//
//	property                                                    proven by
//	what is committed before, during and after each switch is
//	published, per key in the order of the commits              TestHandWritten, TestForwarder
//	consumers see the same messages on either side              TestHandWritten, TestForwarder
//	a relay that starts before the other side is empty breaks
//	the order                                                   TestRelayTooEarlyBreaksTheOrder
//	a side that is read outside of the transaction loses events TestSideReadTooEarlyLosesEvents
//	a switch waits for the transactions that go to the old side TestTurnWaits
//	a group of Watermill alone moves to package bus by way of
//	?mode=watermill, one process at a time                      TestFleet
//
// Take what you need of it: [Switch] is for the days of the move, and [Wire] keeps
// the messages as they were.
//
// Failure modes: a writer that does not ask the switch writes to a side whose
// relay has ended, where the event waits until the way back. A relay that is
// killed repeats some messages, on either side, as ever.
package migrating
