// Package app puts the box office together: it opens what the configuration
// names, gives each part what it needs, runs the parts of this process's roles
// and ends them in order.
//
//	role       runs
//	api        the site and the JSON API, with the waiting room, the live streams, the chat's
//	           sockets and the reads of artists
//	relay      the outbox's relay
//	worker     the consumers, the payment executor, the singletons that end unpaid holds and
//	           votes, repair the copy of the held seats in Redis, count comments, send
//	           notifications and forget old ones, and the simulated payment gateway unless
//	           another one is configured; the artists'
//	           refreshes, their prefetch and archive, and the simulated API of the artists
//	           unless another one is configured; the rounds of the front gates
//	admitter   lets people in from the lines, and takes out those who are not heard of any more;
//	           tells others of it on the transport BOXOFFICE_NOTICE_URL, topic queue.admitted
//
// Every process answers /healthz, /readyz and /metrics.
//
// The waiting room is in Redis, where any number of processes serve it and let people
// in. With BOXOFFICE_REDIS_URL=embedded:// it is in the memory of the one process that
// has the roles api, worker and admitter, with off in that of the one that has api and
// admitter: it ends with the process, and those who were in line line up again by
// their tickets, in their old order, for which the room waits 5 s. Redis is not asked at
// the start. While it is away nobody enters, and seats can neither be held nor given
// back through the guarded routes, for which clients are told 503 with Retry-After;
// seats are shown to those who are inside, and payments go on. The transport of the
// notices may be away as well: notices are dropped and counted. Every process that lets
// people in publishes notices; a worker reads them and writes a row for each, by which
// GET /api/admin/admissions and the operator's page show the newest.
//
// BOXOFFICE_GATE_URL=dynamodb://region/prefix keeps the counters of the front gates in
// DynamoDB. While it is away gates answer 503, and all else goes on. BOXOFFICE_EDGE_SECRET
// lets an edge that has it take reading requests past the room: it signs each, as package
// token says of passes, in the header X-Queue-Pass. Writing requests need the entry token.
//
// Where there is a Redis, processes share what they read of the shows: see package catalog.
//
// Each request has an id, X-Request-Id, which its events have as their correlation id,
// also those that come of it later: see package events. Where many readers ask for an
// artist by one event, it has the id of the first.
//
// What is held is copied to Redis for others to read, hold_seats:{scheduleId}, and decides
// nothing here: see package heldseats.
//
// Artists need what the API and the workers share: Redis, or memory while they are
// one process. Redis is not asked at the start, and no read waits for it. Workers
// keep together to the limit of the artists' API, so each has to know how many they
// are (BOXOFFICE_WORKERS); each without BOXOFFICE_UPSTREAM_URL has a simulated API,
// and a limit, of its own. The archive is in the data folder: a process that does
// not find an artist there has it fetched again.
//
// Live streams are served by the role api; every process with the role worker sends to
// them. They meet in Redis. With embedded:// and with off they are in the memory of the
// process that serves them: a worker apart from it, which off allows, reaches nobody, and
// streams then show what is stored when they open. While Redis is away, at the start too,
// there are no streams: pages are sent to the inbox, and come back by themselves.
//
// When its context ends, the process first lets nobody in any more from the lines, then
// sends the live streams away, spread over ten seconds, then stops taking requests and
// lets those under way finish, then the calls to the gateway, the handlers and the relay,
// each of which commits what it did. What is left in the database is taken up
// by the next start, or by another process.
//
//	property                                                       proven by
//	book, pay, confirmed; decline; time out; cancel; refund; late  TestJourneys
//	a crash between any two steps loses and doubles nothing        TestCrashes
//	a duplicate of every message changes nothing                   TestDuplicates
//	a malformed message becomes a dead letter, others go on        TestMalformedMessage
//	one place, three fans: in their order, and no token after leaving
//	                                                               TestWaitingRoom
//	a line in memory forms again after a restart, in its order     TestRoomInMemoryRestarts
//	several processes serve a line, another one lets in            TestRoomOfSplitProcesses
//	a gate is served by a worker, and leads into the line          TestGateOfSplitProcesses
//	without Redis nobody enters, and the site is there             TestRoomWhileRedisDown
//	a notice and a row for each admission; a transport that is
//	away keeps nobody out; off by default                          TestNotices, TestNoticesAway, TestNoticesOff
//	a gate in DynamoDB, and without it                             TestGateByURL, TestGateByURLAway
//	an edge passes what it signs, for reading; its header alone
//	does nothing                                                   TestTrustedEdge, TestNoEdgeIsTrusted
//	a show that sells out is sold out in all processes             TestSoldOutEverywhere, TestCopiesOfShowsAway
//	the id of a request is that of its events, to the last one     TestCorrelation, TestCorrelationIsMadeAtTheDoor
//	what is held is in Redis, and comes back when it is lost       TestHeldSeatsInRedis
//	a payment accepted in time confirms after the hold's end       TestHoldEndsBeforeThePayment
//	every series of the waiting room is there from the start       TestRoomMetrics
//	a live stream, what an operator sees of it, and its end        TestStreams
//	what an operator and the metrics are told of the chat          TestChatFigures
//	one trace from a request to the frame of a stream, over
//	processes and transports                                       TestOneTrace, TestOneTraceOfSplitProcesses
//	spans are sent, the last of them at the end; a collector that
//	is away is nobody's failure                                    TestTracesURL, TestTracesAway
//	no secret, token or payload in any line that is logged         TestNothingSecretIsLogged
//	other sites, addresses without end and odd targets stop
//	at the door, which knows who is behind a proxy                 TestDoor
//	two processes serve streams, a third sends, the cap is one     TestStreamsOfSplitProcesses
//	without Redis pages are sent to the inbox, and come back       TestStreamsWhileRedisDown
//	handlers flush, set deadlines and take connections over        TestObserveLetsThrough
//	the life of a stream or a socket is not how long its request took
//	                                                               TestObserveWhatGoesOn
//	a notice that is replayed and live at once comes once, however much is said in the rooms
//	                                                               TestReplayedAndLive
//	an artist turns from UPDATING to FRESH by itself               TestArtistTurnsFresh, TestArtistOfSplitProcesses
//	without Redis artists are read from the database               TestArtistsWhileRedisDown
//	without artists everything else works                          TestArtistsOff
//	what no artist can be called is a clear error                  TestArtistBadInput
//	an artist that does not exist is one dead letter               TestArtistThatIsMissing
//	every series of the mirror is there from the start             TestArtistMetrics
//	the limit holds with as many workers as can be configured      TestLimits
//	the meter counts the calls that go out                         TestCountedCalls
//	artists leave the books alone                                  TestArtistsAndTheBooks
//	every metric of the specification is there from the start, at
//	0, and named is a test that causes it to move                  TestEverySpecMetricFromTheStart, TestEverySpecMetricIsMoved
//	one handler serves all series, and those are the listed ones   TestOneHandlerForAllFigures, TestSeries
//	refreshes, bookings, Redis and a transport that refuses move
//	them                                                           TestFiguresOfRefreshes, TestFiguresOfABooking, TestFiguresOfRedis,
//	                                                               TestFiguresWithoutRedis, TestFiguresOfATransportThatRefuses
//	likes, comments, views and sales move a show's figures         TestFigures
//	… each event once, whatever comes again                        TestFiguresOnce
//	… and what is malformed in a batch goes alone                  TestMalformedView
//	… each group's dead letters, and on RabbitMQ its plain queue    TestDeadLetterNames, TestRoutes, TestPlainQueues
//	the process ends in order and leaves no goroutine              TestShutdown, TestArtistsShutdown, TestMain
//	a port in use, a folder in use: clear errors                   TestStartErrors
package app
