// Package memqueue keeps waiting rooms in the memory of one process, with the
// contract of redisqueue.
//
//	store, err := memqueue.New(memqueue.Config{})
//
// The waiting users stand in blocks of 1,024 arrival numbers, with a bit and a name
// for each. To count the users ahead, the store adds up the counts of the blocks: a
// million users are a thousand blocks. Each change of a block gets a version and an entry in a
// log, which Look reads. Active users are in a heap by the end of their time. Each
// event has a lock of its own.
//
//	property                                        proven by
//	all that a store promises                       TestConformance, TestConformanceWhileTimePasses,
//	                                                TestNothingIsMissing
//	answers are those of a plain slice              TestWalks
//	setting the wall clock does not matter          TestClockIsMonotonic
//	rules and changes that make no sense fail       TestBadRules
//	orders stay within 2^53                         TestOrdersStayInRange
//	an event without users leaves nothing behind    TestNobodyLeavesNothing
//	a user costs an id, and not the request that
//	brought it                                      TestUsersKeepNoHeaders
//	rooms that are saved and restored go on as they
//	were                                            TestWalksOverRestarts
//	the time without a process takes no user's
//	place, and neither does a step of the clock     TestTimeWithoutAProcessDoesNotPass
//	arrivals that were not saved keep their places
//	by their tickets                                TestArrivalsThatWereNotSaved
//	figures by minute outlive a restart             TestFiguresAreSaved
//	a room saved a day ago keeps its settings only  TestARoomSavedLongAgoKeepsItsSettings
//	kept places, returners and lanes go on          TestKeptPlacesOutliveARestart,
//	                                                TestLanesOutliveARestartDuringADraw
//	a file of the release before is read            TestRoomsOfTheReleaseBefore
//	a file that is not whole is refused             TestRestoreRefuses, FuzzRestore
//	a slow disk holds up no visitor                 TestASlowDiskHoldsUpNoVisitor
//
// # A restart
//
// Save writes all rooms, and Restore reads them in the next process:
//
//	err := store.Save(file)
//	…
//	err = store.Restore(file) // before the first use
//
// The rooms keep their epochs, so tickets and entry tokens stay valid. A million
// users with names of 14 bytes are a file of 19 MB (BenchmarkSave,
// BenchmarkRestore). Their room waits while Save copies 24 MB.
//
// What happened after the last Save is lost, as the last writes of a server are
// ([queue.State].Servers). Users that arrived then keep their places by their
// tickets. Users that entered then wait again at the head of the line, and
// their entry tokens stay valid, so more than the threshold may be inside for a while.
// Users that left then are back until they count as silent. The orders go on 2^20
// higher, about a second of the clock.
//
// What operators have set outside ([queue.Config].Settings) is asked for again after a
// restart. A draw is not saved: a restart before the leaves are published draws again.
// After one behind that, users have the places that were saved, and the leaves are gone.
//
// Failure modes: without Restore the store starts empty with the process, in another
// epoch. A user that comes back within Rules.Settle, with a ticket that is still
// valid after the restart, has the old position, and no user enters until that time
// is over: so a restart may take a minute, and see [driver.Visit]. After more restarts
// than seconds since the first of them, the orders are ahead of the clock. If the file
// is lost then as well, newcomers may stand before users with old tickets. A second
// process has rooms of its own; where several processes serve one event, use
// redisqueue.
//
// Memory: about 100 bytes for each waiting user. An event that was joined takes a
// few kB and a bit for each arrival for as long as the process lives, so do not let
// users choose the names of events. The call that comes after many places have
// expired takes all of them out, as many as the threshold at most. No other cost
// depends on the number of users, except that of a position: 1.7 µs at a million.
package memqueue
