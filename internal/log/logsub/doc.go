// Package logsub makes a message bus of an append-only log: a publisher and
// sources for package bus over any log.Log, whichever database it is. The
// transports sqlite://, postgres://, mysql:// and redis:// are this package with a log
// and a [Directory] of their own.
//
// A topic is a range of lanes of one log, its partitions; the key of a message
// (event.Key) chooses the partition, and messages without a key go to the first.
// A group has a cursor on each partition. Members of a group share its
// partitions: each holds the leases of its part, reads ahead of the cursors,
// hands messages over, and moves a cursor over the longest prefix that is
// acknowledged. While a handler works, no transaction and no connection is held.
//
//	property                                                        proven by
//	Publish returns after the commit; all of a call or nothing      TestPublishKeepsOrderAndLane
//	concurrent calls share a commit, a lone one is never delayed    TestConcurrentPublishesShareACommit
//	the end of a message's context ends the call, and what may
//	be published nevertheless is said to be unknown                 TestPublishHeedsContexts
//	a write that panics fails its own calls                         TestPublishSurvivesAPanic
//	a refused message fails alone                                   TestPublishErrorsReachTheRightCaller
//	order per key, also while members come and go                   TestHandOverKeepsOrder
//	no repeats without a crash                                      TestHandOverKeepsOrder
//	at most a window of messages is unacknowledged                  TestWindowBoundsWhatIsOut, TestWindow
//	a partition with a stuck message leaves room for the others     TestAStuckPartitionLeavesRoom
//	a nacked message comes again before its successors              TestNackIsRedeliveredBeforeItsSuccessors
//	only what is acknowledged without a gap is confirmed            TestOnlyThePrefixIsConfirmed, TestTracker
//	an acknowledgement given before Close counts                    TestAckJustBeforeClose
//	Close gives up what is not acknowledged, and ends no context    TestCloseGivesUpWhatIsOpen
//	partitions are shared fairly, and all are held                  TestPartitionsAreSharedFairly, TestShare
//	Close hands over at once, a crash after LeaseTTL                TestCloseHandsOverAtOnce, TestTakeoverAfterCrash
//	a process with a name has its partitions back at once           TestHolderComesBack, TestMembersOfOneHolder
//	other processes are told of what was committed and who reads    TestChangesAreAnnounced
//	of a burst of changes the first is told at once, the rest once
//	a tick, also at the end                                         TestBell
//	a holder that slept through its lease moves nothing and hands
//	out nothing more                                                TestStalledHolder
//	an idle or slow holder keeps its lease, also while the database
//	is slow to move the cursors of others                           TestIdleHolderKeepsItsLease, TestSlowCursorsLoseNoLease
//	cursors are written at once, at most every CommitInterval, and
//	all of a process in one transaction                             TestCursorWritesCoalesce, TestCursorWritesOfLanesShareATransaction
//	partitions are given back in one transaction, and taken in one
//	where writers take turns                                        TestClosingPartitionsShareATransaction, TestPartitionsAreTakenTogether
//	trouble with the database loses nothing                         TestDatabaseTrouble, TestCloseWithoutDatabase
//	Close waits for a database that stalls                          TestCloseWaitsForAStalledDatabase
//	what a crash repeats is bounded                                 TestSpan
//	starts without progress are counted over crashes, and which
//	message was handled alone; orderly stops and idle processes
//	do not count                                                    TestStartsWithoutProgress, TestOrderlyStopsAreNoCrashes,
//	                                                                TestIdleStartsDoNotCount
//	an orderly stop repeats nothing that was done, also behind
//	a message that was not                                          TestAnOrderlyStopRepeatsNothing
//	a new group starts at the earliest retained message             TestGroupsAreIndependent
//	old messages go when every group has passed them                TestDeclareAndPrune
//	a group is moved under all of its leases: a member that starts
//	meanwhile waits, and one that is there or has crashed just now
//	refuses the move                                                TestAMemberThatStartsDuringAResetWaitsForIt,
//	                                                                TestMembersAndLeasesAreLive,
//	                                                                TestACrashedMembersGroupIsLive
//	in SQL all partitions move or none; a move that was cut short
//	can be made again at once                                       TestAResetCutAnywhereCanBeMadeAgain
//	what was known of crashes and gaps is forgotten with it         TestAResetForgetsCrashes
//
// # Parts
//
//	Publisher      encode, find the lane, combine with other calls, append, wake the lane's readers
//	Source         a member of a group: looks who else is there, takes and gives up lanes
//	lane           reads one leased lane ahead; package prefix knows how far it is done
//	delivery       one message that is handed over
//	starts         what crashes and orderly stops leave for the next holder
//	committer      writes all cursors of the process and extends their leases
//	heartbeat      says that the process's members live; pruning
//	groups         lists, moves and deletes groups; places finds where to
//
// # Failure modes
//
// After a crash, and when a lease is lost, messages that were handed over and
// not confirmed come again, and those confirmed behind them: at most Span of a partition, usually the window and
// what was acknowledged in the last CommitInterval. A handler that is at work
// when its lease is lost sees its context end; it cannot be stopped,
// so for a moment two instances can be at work on one key.
//
// A partition that a member gives up because another has joined stays with it
// until everything handed over from it is acknowledged: nothing is handed out
// twice for the sake of balance, and a handler that never answers keeps its
// partition.
//
// While the database is away, reading and moving cursors are tried again with
// growing pauses up to 2 s; nothing is handed out once the lease may have run
// out. Close gives up after a few seconds and says what it could not write.
package logsub
