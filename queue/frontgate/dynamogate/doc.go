// Package dynamogate keeps the counters of front gates in Amazon DynamoDB, for a
// gate that does not share the fate of Redis.
//
//	store, err := dynamogate.New(client, dynamogate.Config{})
//	…
//	err = store.CreateTables(ctx) // once, where no other tool makes them
//
// or by a URL, see [ParseURL]:
//
//	at, err := dynamogate.ParseURL("dynamodb://eu-central-1/shop-")
//	…
//	store, err := at.Open(ctx)
//
//	property                                              proven by
//	all that a store promises                             TestConformance
//	each position held by a visitor is in the audit,
//	once, in an item for each range                       TestAudit
//	a position missing in the audit was not given out     TestAuditRefused
//	tables are made once, and those of others refused     TestCreateTables
//	processes whose clocks are apart make one round       TestClocksApart
//	the time is DynamoDB's                                TestServerTime
//	a wrong URL is refused with the part that is wrong,
//	and no secret of it                                   TestParseURL
//	a store by URL                                        TestOpenURL
//	unreachable, throttled, 5xx, set-up: infrastructure   TestAway, TestClassify
//
// # Tables
//
//	counters    eventId (key)          nextPosition: the last position given out
//	                                   servingCounter, active, epoch, opened, lastAdvance
//	                                   expiresAt: only while the gate is off
//	positions   eventId, rangeId       epoch, firstPosition, lastPosition, assignedAt, expiresAt
//	            (key)
//
// The counters are raised by ADD under a condition, and each event has one item. A
// call gives one range of positions out, up to 1,000 for as many callers. Table
// positions has an item for each range and none for each visitor: a visitor with a
// position holds a sealed ticket for it, so an item would only be the record that it
// was given out, and the range is that record at a thousandth of the price. A member who
// is signed in has an item besides, with the position that another device asks for.
// expiresAt is the attribute of DynamoDB's expiry in both.
//
// # Costs and bounds
//
// Assign is two writes, and a read and a write for each member in it, Advance a consistent read and a write when a round is due,
// State a consistent read, Events a scan of counters. DynamoDB takes about 1,000
// writes per second to an item: a process has one call of Assign in flight for an
// event at a time, so one event serves some tens of processes.
//
// # The clock
//
// DynamoDB has no function for the time. The time is therefore the Date of its last
// answer, in whole seconds, and never the clock of this process. Two processes may
// be a second or so apart, and two rounds therefore a second or so closer than they
// should be; a round within 5 s of the future counts as just made. The condition of
// the write, not the clock, ensures that a round is not made twice.
//
// # Failure modes
//
// Unreachable, slow, throttled, 5xx, a missing table or right: calls fail with
// [fault.Infrastructure], after the client's own retries. Positions of a lost answer
// or a failed audit are lost, and the serving counter goes past them. An operator's
// round whose answer was lost may be made twice. Lost data shows by the epoch, as in
// every store.
package dynamogate
