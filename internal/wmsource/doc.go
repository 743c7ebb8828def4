// Package wmsource makes a [driver.Source] of a topic of a Watermill subscriber. It is
// inside of bus.NewDispatcher and of package watermillbus.
//
//	property                                                     proven by
//	nothing is acknowledged before its delivery is done          TestNothingIsAcknowledgedEarly
//	Fetch takes what is in hand and waits for the first only     TestFetchTakesWhatIsInHand
//	a Beginner takes no message before the first Fetch           TestBeginner
//	Close waits for acknowledgements that the adapter has not
//	carried out yet, for at most a moment                        TestCloseWaitsForAcknowledgements,
//	                                                             TestCloseWaitsForAMoment
//	Close ends the subscription before the subscriber            TestCloseEndsTheSubscriptionFirst
//	the end of a message's context takes the message back, and
//	Close does not                                               TestRevocation
package wmsource
