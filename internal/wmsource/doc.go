// Package wmsource makes a [driver.Source] of a topic of a Watermill subscriber.
// Package watermillbus uses it.
//
//	property                                                     proven by
//	no message is acknowledged before its delivery is done       TestNothingIsAcknowledgedEarly
//	Fetch takes ready messages and waits only for the first      TestFetchTakesWhatIsInHand
//	a Beginner takes no message before the first Fetch           TestBeginner
//	Close waits for acknowledgements that the adapter has not
//	carried out yet, for a bounded time                          TestCloseWaitsForAcknowledgements,
//	                                                             TestCloseWaitsForAMoment
//	Close ends the subscription before the subscriber            TestCloseEndsTheSubscriptionFirst
//	the end of a message's context takes the message back, and
//	Close does not                                               TestRevocation
package wmsource
