// Package sse sends live events to browsers as server-sent events: to a member, to
// a room, or to all, over any number of processes, with a limit on the streams of a
// member.
//
//	hub, err := sse.New(store, broker, sse.Config{Inbox: "/api/notifications"})
//	…
//	go hub.Run(ctx)
//	…
//	err := hub.Serve(w, r, sse.Stream{Member: member, Token: tab, Replay: inbox})
//	…
//	err = hub.ToMember(ctx, member, sse.Event{Name: "notification", ID: id, Data: body})
//
// A live event is sent at most once. Store events first that must not be missed: a
// stream reads them from there when it opens, by its [Replayer]. Package memsse has
// a cap and a broker for one process, redissse for many; package metrics exports the counts.
//
// # Guarantees
//
//	property                                              proven by
//	a frame has the event's fields, and nothing else      FuzzEncode, TestEncode, TestEncodeRefusesFieldsThatWouldInject
//	browsers, the npm package eventsource and curl
//	dispatch each event as it was sent                    TestProgramsReadWhatHubsSend, TestProgramsReadStreamsAlike
//	never more streams registered than allowed, over
//	all processes, and the oldest goes                    TestTheCapHoldsOverFourHubs, openings-race, redissse's TestFleet
//	a live stream is never evicted for one whose client
//	has left, in whichever process                        TestALiveStreamIsNeverEvictedForADeadOne, the-gone-take-no-place, redissse's TestLiveBeforeDead
//	… nor for one of a process that was killed            TestStreamsOfAKilledProcessGoFirst, the-silent-go-first
//	… and the cap holds when processes cannot be asked    TestWithoutAnswersTheCapHolds, TestWhoCannotHearTakesNobodyForDead
//	a tab can ask for a free place and evict no one       TestATabTakesAFreePlaceAndNobodysOther, without-victims-nobody-goes
//	a victim's socket is closed, within a ping where the
//	message was lost                                      TestVictimsSocketsAreClosed, TestLostEvictionsAreFoundByThePing, redissse's TestFleet
//	an evicted tab stays away                             TestOneTooManyEndsTheOldest, TestProgramsStayAwayWhenEvicted
//	a tab that comes back takes no other tab's place      TestATabThatComesBackTakesItsOwnPlace
//	every way out removes the entry                       TestTheCapHoldsOverFourHubs, TestAClientThatLeavesIsForgotten
//	places of a dead process are free after its lease     of-a-dead-instance-is-a-ghost, redissse's TestFleet
//	… and a process that is cut off is done by then       TestAnInstanceThatIsCutOffEndsItsStreamsWithinItsLease
//	ghosts of members that do not come back are swept     TestGhostsOfMembersWhoDoNotComeBackAreSwept
//	a slow client is cut, and the others do not wait      TestAStalledReaderAmongAThousand, TestAStalledReaderIsCutAndTheOthersDoNotNotice
//	… within its deadline                                 TestAStalledReaderAmongAThousandIsCutWithinItsDeadline, TestAWriteHasADeadline
//	the backlog of a client is bounded                    TestTheBacklogIsBounded, TestTooMuchWhileAStreamOpensEndsIt, TestStalledReadersCostBoundedMemory
//	… and so is the queue of replays, while a broker flaps TestAFlappingBrokerQueuesEachStreamOnce
//	a burst shares a write, and is not cut for waiting    TestWhatIsPendingSharesAWrite, TestHalfABacklogDoesNotWait
//	after a cut nothing is missing and nothing twice      TestAfterACutNothingIsMissingAndNothingTwice, TestClientsThatComeAndGoSeeEachEventOnce
//	… nor when it is published only after its replay      TestAnEventPublishedAfterItsReplayDoesNotComeTwice
//	… for browsers, the npm package and curl too          TestProgramsResumeAfterCuts
//	… nor while a stream opens                            TestEventsWhileAStreamOpensComeAfterTheReplay
//	… nor after an outage of the broker                   TestWhatTheBrokerLostIsReadFromTheTable, TestAReplayDoesNotSetTheCursorBack,
//	                                                      TestAReplayLeavesOutWhatCameLive, TestWhatIsLostWhileAStreamOpensIsReadLater,
//	                                                      TestAFlapWhileAStreamOpensRepeatsNothing
//	left-out events of a replay are counted               TestWhatAReplayLeavesOutIsSaid, what-is-left-out-is-counted
//	the delay of events is measured                       TestHowLateEventsAreIsTold
//	ids of one event name leave the others' alone         TestOneEventNameLeavesTheOthersCursor, TestBothCursorsResume
//	muted members still get chat                          TestMuteStopsNotificationsOnly
//	without its cap there is no new stream, browsers come
//	back by themselves, after the time they were told     TestWithoutTheCapThereIsNoNewStream, TestALeaseThatCannotBeRenewedEndsTheStreams, TestProgramsComeBackAfterAnOutage
//	streams of a process, and of an address, are limited  TestCrowded
//	an end sends the clients away with a spread           TestDrainSendsAllAwayWithASpread
//	a writer that cannot flush is found before the first
//	byte                                                  TestAWriterThatCannotFlushIsFoundBeforeTheFirstByte
//	a HEAD opens no stream, and evicts none               TestAHeadOpensNoStream
//	a lean stream is not said to be compressed            TestALeanStreamIsNotSaidToBeCompressed
//	the server's timeouts do not end streams              TestStreamsOutliveTheServersTimeouts, TestOverHTTP2
//	a delivery is a span of the sender's trace, one for
//	each process that has streams for it                  TestADeliveryIsTracedOverProcesses
//	… which ends when it is written, and counts dropped
//	streams                                               TestADeliveryEndsWhenItIsWritten, TestADeliveryThatIsDroppedSaysSo, TestADeliveryThatStallsIsNotWritten
//	… and old and new processes may be mixed              TestOldAndNewInstancesUnderstandEachOther
//	… and without a provider costs nothing                TestWithoutAProviderTracesCostNothing
//	a stream keeps no text of its request                 TestAStreamKeepsNoTextOfItsRequest
//	no goroutine is left behind                           every test of the package
//
// Names in lower case are cases of package ssetest. The tests of streams here run
// in the portable and in the lean mode.
//
// # The stream of a client
//
// A stream begins with `retry`, and has a `ping` event without data every 20 s, so
// that a page can tell a dead connection from a quiet one. If a [Replayer] leaves
// events out ([Missed].Left), the events that it does return follow
//
//	event: gap         {"event":…,"count":…}: so many events of a name are left out; read the inbox
//
// A stream is ended by the server with
//
//	event: evicted     the member opened more than are allowed: do not come back
//	event: fallback    no streams at present: read {"inbox":…}; come back after retry
//	retry              after a lifetime, or when the process ends: come back after it
//
// A page closes its EventSource at `evicted`. If it comes back with the same token
// instead, it is answered 204, which ends it; so is a stream with
// [Stream.OnlyIfFree] where no place is free. The token is the page's own: for
// EventSource, which cannot send custom headers, put it into a cookie on the
// stream's path, or into the ticket in its address. A user who opens the page
// again gets a new token, and a stream.
//
// The id of an event of the first name in Config.Cursors is the event's own. Once
// the client has seen others too, an id is "<notification>;chat=<chat>": each event
// moves its own part and repeats the others, so that after any event a client comes
// back with all cursors. A plain id is one of the first name. An id in another form
// is ignored. A page that has stored its last id may give it as the query parameter
// lastEventId.
//
// # Portable and lean
//
// By default the handler's goroutine writes, over HTTP/1.1 and HTTP/2 and through any
// middleware whose ResponseWriter can flush: it has a method Flush or FlushError, or
// Unwrap leads to one that has. http.TimeoutHandler has neither, nor has a
// hand-written recorder of the status that lacks Unwrap. Serve then answers 500 before
// anything is registered, logs the type of the writer and returns a permanent error.
// With Config.Lean a stream over plain HTTP/1.1 is taken over from net/http: no
// goroutine waits for it, and as many goroutines as there are CPUs write its frames
// without blocking. All other streams are served in the portable way. In both modes
// events within Config.Coalesce share a write.
//
// An idle stream takes 28 to 29 kB in the portable way, of which all but 2 are
// net/http's: the stacks of two goroutines (10 kB), three buffers (10 kB), and the
// connection and the request. A lean one takes 2.3 kB. Lean changes more:
//
//   - Serve returns when the stream is open, and a middleware sees the request end
//     with it. Headers set before Serve are sent, except Content-Encoding: the hub writes
//     past a middleware that compresses.
//   - A client that left is noticed by the next write or ping, or when the member
//     opens a stream more than are allowed.
//   - http.Server.Shutdown does not wait for the stream; Run does.
//
// # Evictions
//
// Where a stream would exceed the member's limit, the member's other streams are
// checked first: a lean stream asks its socket whether the client has closed it, a
// portable one asks net/http. Streams of other processes are asked through the broker
// (Ask and Answer), which costs a message of each process that has one. Streams
// without a client are removed and make room. If there is still no room, the oldest
// stream for which no process has answered within half of Config.Timeout is evicted,
// and else the oldest. A client that vanished without closing its connection, such as
// a phone without network, counts as alive until a write to it fails.
//
// # Traces
//
// ToMember, ToRoom and ToAll pass the trace context of their context's span on with
// the event, through the broker. With Config.TracerProvider each process whose
// streams get the event makes a span "deliver {name}", the child of that context,
// from when the first stream has it until the last one's write. Events of a
// Replayer have no span.
//
// # The delay of events
//
// An [Event] with a time At carries it to every process, beside the trace context. For
// each stream that it is written to, Config.Delivered gets the delay since At, by the
// clock of the process with the stream: clocks that differ add to it or take from it,
// down to 0. Events of a Replayer are not measured. The time travels in a part of the
// message that processes of earlier releases pass over.
//
// # Failure modes
//
// The cap is unreachable: new streams are refused. An EventSource gets a 200 stream
// of one `fallback` event, since it stops for good at a 503. Open streams go on
// until the lease cannot be renewed in time. They are then ended with `fallback`,
// before another process may count them as ghosts. All clients come back within
// Config.Spread of Config.Retry.
//
// The cap has lost its data: each stream is ended at its next ping and comes back.
// Until then a member may have more streams than are allowed. The evicted tabs are
// forgotten, and may come back once.
//
// The broker is unreachable: live events are dropped and counted, and ToMember and
// the others return an error. When it is back every stream with a Replayer reads the
// events that it has missed since the loss was noticed. A single lost event, such as
// one whose ToMember returned an error, is skipped by a client that has seen a later
// one of its name before that: its cursor is behind the lost event. A lost Join,
// Leave or Mute takes effect when a stream opens again. A lost eviction is found by
// the next ping.
//
// A process is killed: its clients come back after Config.Retry to another one. Its
// entries take places until its lease ends. A tab that comes back with its token takes
// its own place. If another of the member's tabs opens before that and finds no place,
// it waits half of Config.Timeout for the process to answer, and one of its entries is
// evicted. A process of a release without Ask does not answer either, so that while
// both run its streams are evicted before older ones of the new release.
//
// A client does not read: it is cut when more than Config.MaxFrames or MaxBytes are
// pending for it, or a write takes longer than Config.WriteTimeout. It gets the rest
// by its cursors when it comes back. With HTTP/1.1 a process holds the pending
// frames in memory, and as much again in the write in flight.
//
// The Replayer fails: the stream is ended with `fallback`, since a gap in the stream
// would not be noticed.
//
// An event that is stored late, after one with a higher id was seen, is missed by a
// client that was disconnected meanwhile if the Replayer goes by id alone: ids should
// grow in the order of commits. An event that comes live more than 64 events after it
// was replayed comes twice, and so does one that is replayed more than 64 events after it
// came live.
//
// Clocks: ages are by the cap's clock, and a process measures durations by its
// monotonic clock. A suspended process ends its streams when it wakes if its lease
// is over; until then its sockets are open while its places belong to others.
package sse
