// Package dynamogate keeps the counters of front gates in Amazon DynamoDB, for
// those who want the gate to stand where Redis does not.
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
//	each position in somebody's hands is in the audit,
//	once, in an item for each range                       TestAudit
//	a position that is not in the audit is nobody's       TestAuditRefused
//	tables are made once, and those of others refused     TestCreateTables
//	processes whose clocks are apart make one round       TestClocksApart
//	the time is DynamoDB's                                TestServerTime
//	a wrong URL is refused with the part that is wrong,
//	and no secret of it                                   TestParseURL
//	a store by URL                                        TestOpenURL
//	away, throttled, 5xx and set-up are infrastructure    TestAway, TestClassify
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
// call gives one range of positions out, up to 1,000 for as many callers, and
// positions has an item for each range and none for each person: who has a position
// holds a sealed ticket for it, so an item would only be the record that it was
// given out, and the range is that record at a thousandth of the price. expiresAt is
// the attribute of DynamoDB's expiry in both.
//
// # Costs and bounds
//
// Assign is two writes, Advance a consistent read and a write when a round is due,
// State a consistent read, Events a scan of counters. DynamoDB takes about 1,000
// writes per second to an item: a process has one call of Assign under way for an
// event at a time, so that is some tens of processes.
//
// # The clock
//
// DynamoDB has no function for the time, so it is the Date of its last answer that
// counts, which is in whole seconds, and never this process' own. Two processes may
// be a second or so apart, and two rounds therefore a second or so closer than they
// should; a round within 5 s of the future counts as just made. That rounds are not
// made twice is a matter of the condition, not of the clock.
//
// # Failure modes
//
// Unreachable, slow, throttled, 5xx, a missing table or right: calls fail with
// [fault.Infrastructure], after what the client retries by itself. What a lost answer
// or a failed audit gave out is nobody's, and the serving counter goes past it; an
// operator's round whose answer was lost may be made twice. Lost data shows by the
// epoch, as everywhere.
package dynamogate
