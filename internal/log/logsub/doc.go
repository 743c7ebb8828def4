// Package logsub makes a message bus of an append-only log: a [Driver] for package bus over any
// log.Log, on any server. The transports of logs are this package with a log and a [Directory] of
// their own.
//
// A topic is a range of lanes of one log, its partitions. The key of a message (event.Key)
// determines the partition, and messages without a key go to the first. A group has a cursor on
// each partition. Members of a group share its partitions: each member holds the leases of its
// part, reads ahead of the cursors, hands messages over, and moves a cursor over the longest
// acknowledged prefix. While a handler works, no transaction and no connection is held.
//
//	property                                                        proven by
//	Publish returns after the commit; all of a call or nothing      TestPublishKeepsOrderAndLane
//	concurrent calls share a commit, a lone one is never delayed    TestConcurrentPublishesShareACommit
//	the end of a message's context ends the call, and messages
//	that may still be published are reported as unknown             TestPublishHeedsContexts
//	a write that panics fails its own calls                         TestPublishSurvivesAPanic
//	a driver's errors have its name, a class and a sentinel         TestTranslate
//	a refused message fails alone                                   TestPublishErrorsReachTheRightCaller
//	without transactions, calls to a lane that fails fail alone     TestLanesFailApart
//	and calls for other topics wait for none that hangs, if asked   TestTopicsHangApart
//	order per key, also while members join and leave                TestHandOverKeepsOrder
//	no repeats without a crash                                      TestHandOverKeepsOrder
//	at most a window of messages is unacknowledged                  TestWindowBoundsWhatIsOut, TestWindow
//	a partition with a stuck message leaves room for others         TestAStuckPartitionLeavesRoom
//	a nacked message is redelivered before its successors           TestNackIsRedeliveredBeforeItsSuccessors
//	only the acknowledged prefix without a gap is committed         TestOnlyThePrefixIsConfirmed, TestTracker
//	an acknowledgement made before Close counts                     TestAckJustBeforeClose
//	Close returns unacknowledged messages, and ends no context      TestCloseGivesUpWhatIsOpen
//	partitions are shared fairly, and all are held                  TestPartitionsAreSharedFairly, TestShare
//	Close hands over at once, a crash after LeaseTTL                TestCloseHandsOverAtOnce, TestTakeoverAfterCrash
//	a member that leaves while the database stalls has left         TestAMemberLeavesDuringAHeartbeat
//	a process with a name has its partitions back at once           TestHolderComesBack, TestMembersOfOneHolder
//	other processes are told of commits and group changes           TestChangesAreAnnounced
//	of a burst of changes the first is sent at once, the rest once
//	a tick, also at the end                                         TestBell
//	a holder that slept past its lease moves no cursor and hands
//	out no message                                                  TestStalledHolder
//	an idle or slow holder keeps its lease, also while the database
//	is slow to move the cursors of others                           TestIdleHolderKeepsItsLease, TestSlowCursorsLoseNoLease
//	cursors are written at once, at most every CommitInterval, and
//	all of a process in one transaction                             TestCursorWritesCoalesce, TestCursorWritesOfLanesShareATransaction
//	where a part of the server can hang alone, its partitions hold
//	up no others                                                    TestLanesHangApart
//	a partition whose lease cannot be taken keeps no others from
//	being taken                                                     TestALeaseFailsAlone
//	partitions are released in one transaction, and taken in one
//	where writers are serialized                                    TestClosingPartitionsShareATransaction, TestPartitionsAreTakenTogether
//	database errors lose no message                                 TestDatabaseTrouble, TestCloseWithoutDatabase
//	Close waits for a database that stalls                          TestCloseWaitsForAStalledDatabase
//	the messages that a crash repeats are bounded                   TestSpan
//	without transactions, writes are collected and made together    TestWrites
//	starts without progress are counted over crashes, and the
//	message handled alone is recorded; orderly stops and idle
//	processes do not count                                          TestStartsWithoutProgress, TestOrderlyStopsAreNoCrashes,
//	                                                                TestIdleStartsDoNotCount
//	an orderly stop repeats no message that was done, also behind
//	one that was not                                                TestAnOrderlyStopRepeatsNothing
//	a new group starts at the earliest retained message             TestGroupsAreIndependent
//	old messages are removed when every group has passed them,
//	also behind a partition where that fails                        TestDeclareAndPrune,
//	                                                                TestPruningGoesOnBehindAPartitionThatFails
//	a group is moved under all of its leases: a member that starts
//	then waits; a member that is live or has just crashed
//	prevents the move                                               TestAMemberThatStartsDuringAResetWaitsForIt,
//	                                                                TestMembersAndLeasesAreLive,
//	                                                                TestACrashedMembersGroupIsLive
//	in SQL all partitions move or none; an interrupted move
//	can be repeated at once                                         TestAResetCutAnywhereCanBeMadeAgain
//	a move deletes the records of crashes and gaps                  TestAResetForgetsCrashes
//	a move waits at most LeaseTTL for the release of its leases     TestAResetEndsWithoutAnAnswer
//
// # Parts
//
//	Publisher      encode, find the lane, combine with other calls, append, wake the lane's readers
//	Source         a member of a group: reads the members, takes and releases lanes
//	lane           reads one leased lane ahead; kit.Tracker tracks the acknowledged prefix
//	delivery       one message that is handed over
//	starts         the state that crashes and orderly stops leave for the next holder
//	committer      writes all cursors of the process, or one, and extends their leases
//	heartbeat      reports the process's members as alive; pruning
//	groups         lists, moves and deletes groups; places finds positions
//	Driver         a driver.Driver of all of these, which a transport returns or embeds; browse shows messages
//
// # Failure modes
//
// After a crash, and when a lease is lost, messages that were handed over and not committed are
// redelivered, and so are those committed behind them: at most Span of a partition, usually the
// window and the acknowledgements of the last CommitInterval. The context of a handler ends when
// its lease is lost. The handler cannot be stopped, so for a moment two instances can be at work
// on one key.
//
// A partition that a member releases because another has joined stays with it until every
// message handed over from it is acknowledged. Rebalancing never redelivers a message, and a
// handler that never answers keeps its partition.
//
// While the database is absent, reading and moving cursors are retried with growing pauses up to
// 2 s; no message is handed out once the lease may have expired. Close stops trying after a few
// seconds and returns an error with the positions it could not write.
package logsub
