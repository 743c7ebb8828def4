// Package queuenotice publishes the admissions of a waiting room to any publisher
// of Watermill: for programs that send pushes or mails, or log. There is one notice
// for each admission, of users from the line and of direct entries.
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
// With queue.Config.NotifyTurn: notices.Notify there is one more when the user's turn
// comes, for a push or a mail to a user that waits elsewhere. Its action is "turn", its
// entryToken is empty, and its id user:event:turn. The readers of the topic must know it.
//
//	property                                           proven by
//	one notice for each admission, also for direct
//	entries                                            queue's TestANotice, TestNoticesOfACrowd
//	the body, the key and the id                       TestMessage, TestTurn
//	on SQS: group = event, deduplication = user:event  TestSQS
//	order of admission                                 TestOrder
//	admission never waits for a publisher              TestNotifyNeverWaits
//	lost notices are counted, later ones are sent      TestFailuresAreCounted
//	the end publishes the notices in the buffer        TestDrain
//
// # Failure modes
//
// Notices are fire and forget: each goes to the publisher once. A notice is lost if
// the publisher refuses it, if the buffer is full, or if it is in the buffer of a
// process that is killed. The user's page learns of the admission by its next poll
// in any case. A publisher that blocks for ever fills the buffer, and keeps Run
// from returning.
//
// SQS takes a second notice for the same user and event within five minutes for the
// first: a user admitted again so soon gets none.
package queuenotice
