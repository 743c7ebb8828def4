// Package app puts the box office together: it opens the resources that the configuration
// names, gives each part its dependencies, runs the parts of this process's roles and ends
// them in order.
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
//	admitter   lets people in from the lines, and takes out those whose clients are silent;
//	           publishes admissions on the transport BOXOFFICE_NOTICE_URL, topic queue.admitted
//
// Every process answers /healthz, /readyz and /metrics.
//
// The waiting room is in Redis, where any number of processes serve it and let people in.
// With BOXOFFICE_REDIS_URL=embedded:// it is in the memory of the one process that has the
// roles api, worker and admitter, with off in that of the one that has api and admitter:
// it ends with the process. People in line then line up again by their tickets, in their
// old order, for which the room waits 5 s. Redis is not asked at the start. During an
// outage of Redis nobody enters, and the guarded routes neither hold nor return seats:
// clients get 503 with Retry-After. People inside still see the seats, and payments go on.
// During an outage of the transport of the notices, notices are dropped and counted. Every
// process that lets people in publishes notices; a worker reads them and writes a row for
// each, by which GET /api/admin/admissions and the operator's page show the newest.
//
// BOXOFFICE_GATE_URL=dynamodb://region/prefix keeps the counters of the front gates in
// DynamoDB. During an outage of DynamoDB gates answer 503, and all else goes on. An edge
// that has BOXOFFICE_EDGE_SECRET may send reading requests past the room: it signs each,
// as package token describes for passes, in the header X-Queue-Pass. Writing requests need
// the entry token.
//
// With a Redis, processes share their reads of the shows: see package catalog.
//
// Each request has an id, X-Request-Id, which its events carry as their correlation id, as
// do the events that follow from them: see package events. If many readers request an
// artist by one event, the event has the id of the first.
//
// Held seats are copied to Redis for other programs, hold_seats:{scheduleId}. The box
// office decides nothing by the copy: see package heldseats.
//
// Artists need state that the API and the workers share: Redis, or memory while they are
// one process. Redis is not asked at the start, and no read waits for it. Workers share
// the limit of the artists' API, so each has to know their number (BOXOFFICE_WORKERS);
// each without BOXOFFICE_UPSTREAM_URL has a simulated API, and a limit, of its own. The
// archive is in the data folder: a process that does not find an artist there has it
// fetched again.
//
// Live streams are served by the role api; every process with the role worker sends to
// them. They meet in Redis. With embedded:// and with off they are in the memory of the
// process that serves them: a separate worker, which off allows, reaches no stream, and
// streams show the stored notices when they open. During an outage of Redis, at the start
// too, there are no streams: pages are sent to the inbox, and reconnect by themselves.
//
// # The parts
//
// [App.Run] opens the base, makes the parts on it, starts them and ends them. The file
// office.go puts them together: newOffice makes them in the order in which they need each
// other, and start lists each part that runs, in order. A part is made from the base,
// keeps only the fields that it needs, and has a blocking Run where it works in the
// background.
//
//	part       file          owns                                            runs
//	base       base.go       settings, the process's name, traces, the       nothing
//	                         database with its outbox, the transport
//	simulated  simulated.go  the payment gateway and the artists' API,       the servers of both
//	                         unless others are configured
//	sales      sales.go      shows and seats, reservations, payments,        copy of the shows and of the held
//	                         tickets                                         seats, end of holds, payments
//	social     social.go     likes, comments, votes                          end of votes, comment counts
//	artists    artists.go    the mirror, its locks and its call budget       meter, mirror, prefetch, archive
//	admitted   notices.go    rows of admissions, the transport of notices    the transport, deletion of old rows
//	waiting    waiting.go    waiting room, front gates, entry tokens         notices, gates, admission
//	news       news.go       inbox, chat, live streams                       each of them
//	streams    live.go       the open streams                                Run, and Drain at the end
//	consumers  consumers.go  the groups, their guards and keys               the runner, deletion of old keys
//	operator   office.go     the operator's reports of all parts             the figures for Prometheus
//	relay      relay.go      the outbox's relay and the topic of each event  the relay
//	server     serve.go      probes, metrics; with web.go the API and the    HTTP
//	                         site
//
// Each part ends before the parts that it needs, in the reverse order of their start:
// admission from the lines, the live streams, spread over ten seconds, and HTTP, which
// finishes the requests in flight; then the calls to the gateway, the handlers and the
// relay, each of which commits its work. The next start, or another process, takes up
// the remaining rows of the database.
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
//	without Redis nobody enters, and the site works                TestRoomWhileRedisDown
//	a notice and a row for each admission; an outage of their
//	transport stops no admission; off by default                   TestNotices, TestNoticesAway, TestNoticesOff
//	a gate in DynamoDB, and without it                             TestGateByURL, TestGateByURLAway
//	an edge passes the reads that it signs; its header alone
//	does nothing                                                   TestTrustedEdge, TestNoEdgeIsTrusted
//	a show that sells out is sold out in all processes             TestSoldOutEverywhere, TestCopiesOfShowsAway
//	the id of a request is that of its events, to the last one     TestCorrelation, TestCorrelationIsMadeAtTheDoor
//	held seats are in Redis, and are restored after a loss         TestHeldSeatsInRedis
//	a payment accepted in time confirms after the hold's end       TestHoldEndsBeforeThePayment
//	every series of the waiting room is there from the start       TestRoomMetrics
//	a live stream, its figures for an operator, and its end        TestStreams
//	the figures of the chat, for an operator and as metrics        TestChatFigures
//	one trace from a request to the frame of a stream, over
//	processes and transports                                       TestOneTrace, TestOneTraceOfSplitProcesses
//	spans are sent, the last of them at the end; a collector that
//	does not answer breaks nothing                                 TestTracesURL, TestTracesAway
//	no secret, token or payload in any line that is logged         TestNothingSecretIsLogged
//	other sites, addresses without end and odd targets stop
//	at the edge, which finds the client behind a proxy             TestDoor
//	two processes serve streams, a third sends, the cap is one     TestStreamsOfSplitProcesses
//	without Redis pages are sent to the inbox, and reconnect       TestStreamsWhileRedisDown
//	handlers flush, set deadlines and take connections over        TestObserveLetsThrough
//	the life of a stream or a socket is not how long its request took
//	                                                               TestObserveWhatGoesOn
//	a notice that is replayed and live at once comes once, however much is said in the rooms
//	                                                               TestReplayedAndLive
//	an artist turns from UPDATING to FRESH by itself               TestArtistTurnsFresh, TestArtistOfSplitProcesses
//	without Redis artists are read from the database               TestArtistsWhileRedisDown
//	without artists everything else works                          TestArtistsOff
//	an id that no artist can have is a clear error                 TestArtistBadInput
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
//	… each event once, even if it is delivered again               TestFiguresOnce
//	… and a malformed event of a batch fails alone                 TestMalformedView
//	… each group's dead letters, and on RabbitMQ its plain queue    TestDeadLetterNames, TestRoutes, TestPlainQueues
//	the process ends in order and leaves no goroutine              TestShutdown, TestArtistsShutdown, TestMain
//	no part has more methods than a reader keeps in mind           TestPartsAreSmall
//	a port in use, a folder in use: clear errors                   TestStartErrors
package app
