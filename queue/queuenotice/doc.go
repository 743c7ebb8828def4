// Package queuenotice publishes the admissions of a waiting room to any publisher
// of Watermill: for programs beside the site that push, mail or log. There is one
// notice for each admission, of users from the line and of users who enter at once.
//
//	notices, err := queuenotice.New(publisher, queuenotice.Config{Token: issue})
//	…
//	room, err := queue.New(store, keys, queue.Config{Notify: notices.Notify})
//	…
//	go notices.Run(ctx)
//
// A notice is a message with the body
//
//	{"action":"admitted","eventId":"…","userId":"…","entryToken":"…","timestamp":1700000000000}
//
// where the timestamp is that of the admission in ms since 1970. Its key is the
// event and its id is user:event, so that on an SQS FIFO queue the message group
// is the event and the deduplication id is user:event.
//
//	property                                           proven by
//	one notice for each admission, also of users who
//	enter at once                                      queue's TestANotice, TestNoticesOfACrowd
//	the body, the key and the id                       TestMessage
//	on SQS: group = event, deduplication = user:event  TestSQS
//	order of admission                                 TestOrder
//	admission never waits for a publisher              TestNotifyNeverWaits
//	what is lost is counted, what follows is not       TestFailuresAreCounted
//	the end publishes what is in the buffer            TestDrain
//
// # Failure modes
//
// Notices are fire and forget: each goes to the publisher once, and one that is
// refused, that comes while the buffer is full, or that is in the buffer of a
// process that is killed is lost. The user's page learns of the admission by its
// next poll in any case. A publisher that blocks for ever fills the buffer, and
// holds up the end of Run.
//
// SQS takes a second notice for the same user and event within five minutes for
// the first: who is let in again so soon gets none.
package queuenotice
