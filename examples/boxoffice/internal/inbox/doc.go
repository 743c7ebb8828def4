// Package inbox keeps what members are notified of, and sends it to their live
// streams.
//
//	event               notification  who is told
//	MemberFollowed      FOLLOW        the member followed
//	PostLiked           POST_LIKE     the followers of who liked
//	CommentCreated      COMMENT       the followers of who commented
//	VoteClosed          VOTE_CLOSED   all who voted on the show
//	ReservationNotice   RESERVATION   the member
//	TransferNotice      TRANSFER      the member
//
// A notification is stored as its type and parameters, and package notices makes a
// sentence of them in the language of the reader. The message is stored beside them, in
// English: it is what programs and versions that do not know the parameters show.
//
// Storing and sending are apart. The consumer of notification_queue stores a row for
// each recipient in the transaction of its event; nothing waits for a stream. After
// the commit one process sends to the streams, once, whatever comes of it: what a
// stream has missed it reads from the table when it opens.
//
//	              ┌─ one page, in the event's transaction ─▶ notifications ──▶ inbox, unread, read
//	event ─▶ who? ┤                                               │
//	              └─ the rest, page by page ─────────────────────▶┤ in the order of commits
//	                                                              ▼
//	                                          streams: replay, then live
//
// # Many recipients
//
// A member may have a million followers. The event's transaction stores for the first
// [Config.Page] of them and leaves a row that says where it stopped; each further
// page is a transaction of its own that also moves that row. A crash in between
// leaves the row where it was. Pages of the next event wait for those of this one, in
// each process. Who begins to follow behind the page under way is told too.
//
// # Order, and why nothing is missed
//
// Each page takes a place in the order of commits, under a lock that it holds until
// its commit. So whoever sees a notification sees all before it, the inbox is in that
// order whatever the clock says, and the id that a stream saw last is a place from
// which nothing that is committed later can be missing. Live sends go out in the same
// order, from one process at a time.
//
// The mark of what was sent moves before the sending: a process that dies leaves its
// batch to the inbox and to replays, and what was committed but not taken up is sent
// by the next one, for a minute after the commit. Later it is no news. A replay ends at
// the mark: what is behind it comes live, and comes once.
//
//	property                                                       proven by
//	every kind of event reaches its recipients, and nobody else    TestRecipients
//	an event that comes twice is stored once                       TestAnEventThatComesTwiceIsStoredOnce
//	… and sent once, with its key or without                       TestAnEventThatComesTwiceIsStoredOnce
//	an event that cannot be right is a permanent error             TestEventsThatCannotBeRight
//	parameters are on every page of recipients, and in every
//	place where a notification is read                             TestParams
//	the version before and this one read what the other stores     TestTheVersionBefore
//	many recipients: pages, each member once, no matter where it
//	stops, also while people follow and unfollow                   TestManyRecipientsComeInPages, TestFollowersThatComeAndGo
//	of several processes, each page is stored by one               TestSeveralProcessesFanOut
//	a failed transaction leaves neither rows nor a gap             TestARollbackLeavesNothing
//	newest first, pages without gap, also at equal times           TestPagesAtEqualTimes
//	read once, one's own only                                      TestRead
//	all read at once, but what came behind the last one seen       TestReadUpTo
//	live sends: after the commit, in its order, once               TestLiveSendsInTheOrderOfCommits
//	… in bounded batches of whole pages                            TestManyToSend
//	… from one process at a time                                   TestOneProcessSends
//	a crash between commit and send                                TestCrashBetweenCommitAndSend
//	a crash between taking up and sending: replayed, not sent      TestCrashWhileSending
//	a killed sender costs live notifications 3 s at most           TestAKilledSenderCostsThreeSeconds
//	streams away: counted and dropped, storing goes on             TestStreamsAway
//	a stream that hangs is waited for so long, and no longer       TestASlowStreamIsBounded
//	what is no news any more is not sent                           TestLateIsNoNews
//	muted members: stored, not sent                                TestMuted
//	what is sent belongs to the trace of its event                 TestLiveSendsBelongToTheTraceOfTheirEvent
//	a real stream: replay and live, no gap and nothing twice,
//	cut at random                                                  TestStreamWithoutGapOrDuplicate
//	replay: the newest 10 unread, oldest first; after the cursor   TestReplay
//	… and how many unread ones it leaves out                       TestReplay, TestReplayer
//	deleted after 30 days in bounded steps, read or not            TestRetentionInSteps
//	… by itself, and the lease is given back                       TestRetentionRuns
//	… by who has the lease, and a late one is fenced off           TestRetentionIsFenced
//
// # Failure modes
//
// A client that is cut and back within the moment between taking up a notification and
// sending it may get it twice; its id is the same.
//
// No process sends, because none was given a Sender: nothing is taken up, and replays
// stay empty. The inbox has it all.
//
// The database is away: consumers pause, and the rest is tried again every second.
// The streams are away: live sends are counted as failed; reading, read marks and
// storing do not notice. The process that sends is killed: nothing is sent until its
// lease is over (Config.SendLease) and another process looks, within 3 s, unless it
// comes back under its name; what was committed meanwhile is sent then. A member whose clients all read slowly is cut by
// the streams, not here.
//
// Storing is one commit after the other, over all processes: some hundreds of events
// a second on a database server, each with up to a page of recipients.
package inbox
