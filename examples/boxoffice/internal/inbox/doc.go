// Package inbox keeps the members' notifications, and sends them to their live streams.
//
//	event               notification  recipients
//	MemberFollowed      FOLLOW        the member followed
//	PostLiked           POST_LIKE     the followers of the actor
//	CommentCreated      COMMENT       the followers of the actor
//	VoteClosed          VOTE_CLOSED   all voters of the show
//	ReservationNotice   RESERVATION   the member
//	TransferNotice      TRANSFER      the member
//
// A notification is stored as its type and parameters, and package notices makes a
// sentence of them in the language of the reader. The message is stored beside them, in
// English, for programs and versions that do not know the parameters.
//
// Storing and sending are separate. The consumer of notification_queue stores a row for
// each recipient in the transaction of its event; nothing waits for a stream. After the
// commit one process sends to the streams, once, without a retry: a stream reads missed
// notifications from the table when it opens.
//
//	              ┌─ one page, in the event's transaction ─▶ notifications ──▶ inbox, unread, read
//	event ────────┤                                               │
//	              └─ the rest, page by page ─────────────────────▶┤ in the order of commits
//	                                                              ▼
//	                                          streams: replay, then live
//
// # Many recipients
//
// A member may have a million followers. The event's transaction stores for the first
// [Config.Page] of them and leaves a row that says where it stopped; each further page
// is a transaction of its own that also moves that row. A crash in between leaves the
// row where it was. Pages of the next event wait for those of this one, in each
// process. A member that begins to follow after the current page is notified too.
//
// # Order, and why nothing is missed
//
// Each page takes a place in the order of commits, under a lock that it holds until its
// commit. So a reader that sees a notification sees all before it, the inbox is in that
// order with any clocks, and the last id of a stream is a place after which no later
// commit can be missing. Live sends go out in the same order, from one process at a
// time.
//
// The mark of sent notifications moves before the sending. If a process dies, its batch
// is left to the inbox and to replays; the next process sends the committed
// notifications that were not taken up, for a minute after the commit. Later ones are
// outdated. A replay ends at the mark: notifications after it are sent live, and once.
//
//	property                                                       proven by
//	every kind of event reaches its recipients only                TestRecipients
//	an event that comes twice is stored once                       TestAnEventThatComesTwiceIsStoredOnce
//	… and sent once, with its key or without                       TestAnEventThatComesTwiceIsStoredOnce
//	an event that cannot be right is a permanent error             TestEventsThatCannotBeRight
//	parameters are on every page of recipients, and in every
//	place where a notification is read                             TestParams
//	this version and the one before read each other's rows         TestTheVersionBefore
//	many recipients: pages, each member once, no matter where it
//	stops, also while people follow and unfollow                   TestManyRecipientsComeInPages, TestFollowersThatComeAndGo
//	of several processes, each page is stored by one               TestSeveralProcessesFanOut
//	a failed transaction leaves neither rows nor a gap             TestARollbackLeavesNothing
//	newest first, pages without gap, also at equal times           TestPagesAtEqualTimes
//	read once, only the member's own                               TestRead
//	all read at once, except those after the last one seen         TestReadUpTo
//	live sends: after the commit, in its order, once               TestLiveSendsInTheOrderOfCommits
//	… in bounded batches of whole pages                            TestManyToSend
//	… from one process at a time                                   TestOneProcessSends
//	a crash between commit and send                                TestCrashBetweenCommitAndSend
//	a crash between taking up and sending: replayed, not sent      TestCrashWhileSending
//	a killed sender costs live notifications 3 s at most           TestAKilledSenderCostsThreeSeconds
//	an outage of the streams: counted, and storing goes on         TestStreamsAway
//	a stream that hangs delays a batch by the timeout at most      TestASlowStreamIsBounded
//	an outdated notification is not sent                           TestLateIsNoNews
//	muted members: stored, not sent                                TestMuted
//	a live send belongs to the trace of its event                  TestLiveSendsBelongToTheTraceOfTheirEvent
//	a real stream: replay and live, no gap and nothing twice,
//	cut at random                                                  TestStreamWithoutGapOrDuplicate
//	replay: the newest 10 unread, oldest first; after the cursor   TestReplay
//	… and how many unread ones it leaves out                       TestReplay, TestReplayer
//	deleted after 30 days in bounded steps, read or not            TestRetentionInSteps
//	… by itself, and the lease is given back                       TestRetentionRuns
//	… by the holder of the lease; a late one is fenced off         TestRetentionIsFenced
//
// # Failure modes
//
// A client that is cut and reconnects between the moment that takes up a notification
// and the one that sends it may get it twice; its id is the same.
//
// If no process has a Sender, no process sends: nothing is taken up, and replays stay
// empty. The inbox has all notifications.
//
// During an outage of the database consumers pause, and the rest is tried again every
// second. During an outage of the streams, live sends are counted as failed; reading,
// read marks and storing go on. When the sending process is killed, nothing is sent
// until its lease is over (Config.SendLease) and another process looks, within 3 s,
// unless it comes back under its name; notifications committed meanwhile are sent then.
// A member whose clients all read slowly is cut by the streams, not here.
//
// Pages are stored one commit after the other, over all processes: some hundreds of
// events a second on a database server, each with up to a page of recipients.
package inbox
