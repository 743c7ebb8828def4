// Package sse sends live events to browsers as server-sent events: to a member,
// to a room, or to all, over any number of processes, with a cap on how many
// streams a member has.
//
//	hub, err := sse.New(store, broker, sse.Config{Inbox: "/api/notifications"})
//	…
//	go hub.Run(ctx)
//	…
//	err := hub.Serve(w, r, sse.Stream{Member: member, Token: tab, Replay: inbox})
//	…
//	err = hub.ToMember(ctx, member, sse.Event{Name: "notification", ID: id, Data: body})
//
// A live event is sent at most once, and is never worth waiting for: what must not
// be missed is stored first, and a stream reads it from there when it opens, by
// its [Replayer]. Package memsse has a cap and a broker for one process, redissse
// for many; sseprom has the metrics.
//
// # Guarantees
//
//	property                                              proven by
//	a frame says what the event says, and nothing else    FuzzEncode, TestEncode, TestEncodeRefusesFieldsThatWouldInject
//	browsers, the npm package eventsource and curl read
//	each event as it was meant                            TestProgramsReadWhatHubsSend, TestProgramsReadStreamsAlike
//	never more streams registered than allowed, over
//	all processes, and the oldest goes                    TestTheCapHoldsOverFourHubs, openings-race, redissse's TestFleet
//	a live stream is never evicted for one whose client
//	has left, in whichever process                        TestALiveStreamIsNeverEvictedForADeadOne, the-gone-take-no-place, redissse's TestLiveBeforeDead
//	… nor for one of a process that was killed            TestStreamsOfAKilledProcessGoFirst, the-silent-go-first
//	… and the cap holds when processes cannot be asked    TestWithoutAnswersTheCapHolds, TestWhoCannotHearTakesNobodyForDead
//	a tab can ask for a free place and evict nobody       TestATabTakesAFreePlaceAndNobodysOther, without-victims-nobody-goes
//	a victim's socket is closed, within a ping where the
//	message was lost                                      TestVictimsSocketsAreClosed, TestLostEvictionsAreFoundByThePing, redissse's TestFleet
//	an evicted tab stays away                             TestOneTooManyEndsTheOldest, TestProgramsStayAwayWhenEvicted
//	a tab that comes back takes no other tab's place      TestATabThatComesBackTakesItsOwnPlace
//	every way out removes the entry                       TestTheCapHoldsOverFourHubs, TestAClientThatLeavesIsForgotten
//	places of a dead process are free after its lease     of-a-dead-instance-is-a-ghost, redissse's TestFleet
//	… and a process that is cut off is done by then       TestAnInstanceThatIsCutOffEndsItsStreamsWithinItsLease
//	ghosts of who does not come back are swept            TestGhostsOfMembersWhoDoNotComeBackAreSwept
//	a slow client is cut, and nobody waits for it         TestAStalledReaderAmongAThousand, TestAStalledReaderIsCutAndTheOthersDoNotNotice
//	… within its deadline                                 TestAStalledReaderAmongAThousandIsCutWithinItsDeadline, TestAWriteHasADeadline
//	what waits for a client is bounded                    TestTheBacklogIsBounded, TestTooMuchWhileAStreamOpensEndsIt, TestStalledReadersCostBoundedMemory
//	a burst shares a write, and is not cut for waiting    TestWhatIsPendingSharesAWrite, TestHalfABacklogDoesNotWait
//	after a cut nothing is missing and nothing twice      TestAfterACutNothingIsMissingAndNothingTwice, TestClientsThatComeAndGoSeeEachEventOnce
//	… nor when it is published only after its replay      TestAnEventPublishedAfterItsReplayDoesNotComeTwice
//	… for browsers, the npm package and curl too          TestProgramsResumeAfterCuts
//	… nor while a stream opens                            TestEventsWhileAStreamOpensComeAfterTheReplay
//	… nor after the broker was away                       TestWhatTheBrokerLostIsReadFromTheTable
//	what a replay leaves out is said                      TestWhatAReplayLeavesOutIsSaid, what-is-left-out-is-counted
//	how late events are is told                           TestHowLateEventsAreIsTold
//	ids of one event name leave the others' alone         TestOneEventNameLeavesTheOthersCursor, TestBothCursorsResume
//	muted members still get chat                          TestMuteStopsNotificationsOnly
//	without its cap there is no new stream, browsers come
//	back by themselves, when they are told to             TestWithoutTheCapThereIsNoNewStream, TestALeaseThatCannotBeRenewedEndsTheStreams, TestProgramsComeBackAfterAnOutage
//	a process, and an address, has so many streams        TestCrowded
//	an end sends the clients away with a spread           TestDrainSendsAllAwayWithASpread
//	a writer that cannot flush is found before the first
//	byte                                                  TestAWriterThatCannotFlushIsFoundBeforeTheFirstByte
//	the server's timeouts do not end streams              TestStreamsOutliveTheServersTimeouts, TestOverHTTP2
//	a delivery is a span of the trace of who sent it, one
//	for each process that has streams for it              TestADeliveryIsTracedOverProcesses
//	… which ends when it is written, and tells what is
//	dropped                                               TestADeliveryEndsWhenItIsWritten, TestADeliveryThatIsDroppedSaysSo, TestADeliveryThatStallsIsNotWritten
//	… and old and new processes may be mixed              TestOldAndNewInstancesUnderstandEachOther
//	… and without a provider costs nothing                TestWithoutAProviderTracesCostNothing
//	no goroutine is left                                  every test of the package
//
// Names in lower case are cases of package ssetest. What is proven of streams
// here is proven in the portable and in the lean mode.
//
// # What a client sees
//
// A stream begins with `retry`, and has a `ping` event without data every 20 s, so
// that a page can tell a dead connection from a quiet one. Where a [Replayer] leaves
// something out ([Missed].Left), the events that it does bring follow
//
//	event: gap         {"event":…,"count":…}: so many events of a name are left out; read the inbox
//
// A stream is ended by the server with
//
//	event: evicted     the member opened more than are allowed: do not come back
//	event: fallback    no streams at present: read {"inbox":…}; come back after retry
//	retry              after a lifetime, or when the process ends: come back after it
//
// A page closes its EventSource at `evicted`. One that does not is answered 204
// when it comes back with the same token, which ends it; so is a stream with
// [Stream.OnlyIfFree] where no place is free. The token is the page's
// own: for EventSource, which sends no header of choice, one that the server
// finds in a cookie on the stream's path, or in the ticket in its address.
// Whoever opens a page anew gets a new token, and a stream.
//
// The id of an event of the first name in Config.Cursors is the event's own. Once
// the client has seen others too, an id is "<notification>;chat=<chat>": each
// event moves its own part and repeats the others, so that whatever came last, a
// client comes back with all places. A plain id is one of the first name. What
// cannot be read so is ignored. A page that has stored where it was may give it
// as the query parameter lastEventId.
//
// # Portable and lean
//
// By default the handler's goroutine writes, over HTTP/1.1 and HTTP/2 and through
// any middleware whose ResponseWriter can flush: it has a method Flush or FlushError,
// or Unwrap leads to one that has. http.TimeoutHandler has neither, nor has a
// hand-written recorder of the status that lacks Unwrap. Serve then answers 500 before
// anything is registered, logs the type of the writer and returns [ErrUnflushable].
// With Config.Lean a stream over plain HTTP/1.1 is taken over from
// net/http: no goroutine waits for it, and its frames are written without waiting by
// as many goroutines as there are CPUs. All else is served in the portable way. In
// both what comes within Config.Coalesce shares a write.
//
// An idle stream takes 28 to 29 kB in the portable way, of which all but 2 are
// net/http's: the stacks of two goroutines (10 kB), three buffers (10 kB), and the
// connection and the request. A lean one takes 2.3 kB. What else lean changes:
//
//   - Serve returns when the stream is open, and a middleware sees the request end
//     with it. Headers set before Serve are sent.
//   - A client that left is noticed by the next write or ping, or when the member
//     opens a stream more than are allowed.
//   - http.Server.Shutdown does not wait for the stream; Run does.
//
// # Who has to go
//
// Where a stream would be the member's one too many, all that the member has are
// asked first: a lean one asks its socket whether the client has closed it, a portable
// one asks net/http. Streams of other processes are asked through the broker (Ask and
// Answer), which costs a message of each process that has one. Those without a client
// are removed and make room. If there is still none, the oldest of those for which no
// process has answered within half of Config.Timeout goes, and else the oldest. A
// client that vanished without closing its connection, such as a phone without
// network, counts as alive until a write to it fails.
//
// # Traces
//
// ToMember, ToRoom and ToAll pass the trace context of their context's span on with
// the event, through the broker. With Config.TracerProvider a process whose streams
// get it makes a span "deliver {name}", the child of that context, from when the first
// stream has it until the last one's write. What a Replayer brings has no span.
//
// # How late events are
//
// An [Event] with a time At carries it to every process, beside the trace context. For
// each stream that it is written to, Config.Delivered is told how long after At that
// was, by the clock of the process with the stream: clocks that differ add to it or take
// from it, down to 0. What a Replayer brings is not measured. The time travels in a part
// of the message that processes of earlier releases pass over.
//
// # Failure modes
//
// The cap is away: new streams are refused, an EventSource with a 200 stream of one
// `fallback` event, since it gives up for good at a 503. Streams that are open go on
// until the lease cannot be renewed in time, and are then ended with `fallback`,
// before another process may count them as ghosts. All clients come back within
// Config.Spread of Config.Retry.
//
// The cap has lost its data: each stream is ended at its next ping and comes back.
// Until then a member may have more streams than are allowed. Who was evicted is
// forgotten, and may come back once.
//
// The broker is away: live events are dropped and counted, and ToMember and the
// others return an error. When it is back every stream with a Replayer reads what it
// has missed since the loss was noticed. An event that was lost alone, such as one
// whose ToMember returned an error, is passed over by a client that has seen a later
// one of its name before that: its cursor stands behind it. Join, Leave and Mute that
// were lost take effect when a stream opens again. An eviction that was lost is found
// by the next ping.
//
// A process is killed: its clients come back after Config.Retry to another one. Its
// entries take places until its lease ends. A tab that comes back with its token takes
// its own place; if another of the member's tabs opens before that and finds no place,
// it waits half of Config.Timeout for the process to answer, and one of its entries is
// evicted. A process of a release without Ask does not answer either, so that while
// both run its streams are evicted before older ones of the new release.
//
// A client does not read: it is cut when Config.MaxFrames or MaxBytes wait for it,
// or a write takes longer than Config.WriteTimeout, and gets the rest by its cursors
// when it comes back. With HTTP/1.1 a process holds in memory what waits, and once
// as much in the write that is under way.
//
// The Replayer fails: the stream is ended with `fallback`, since a stream with a gap
// would not be noticed.
//
// An event that is stored late, after one with a higher id was seen, is missed by a
// client that was away meanwhile if the Replayer goes by id alone: ids should grow in
// the order of commits. An event that comes live more than 64 events after it was
// replayed comes twice.
//
// Clocks: ages are by the cap's clock, and what a process measures it measures by
// its monotonic clock. A process that was suspended ends its streams when it wakes
// if its lease is over; until then its sockets are open, and its places are others'.
package sse
