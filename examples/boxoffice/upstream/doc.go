// Package upstream simulates the artist API that the box office mirrors: a service
// with a hard limit, which bans a client for one call too many within a second. It
// measures its callers exactly, so it is the witness of a limiter's promise.
//
//	route                    answer
//	GET  /artists/{id}       {id, name, level, updatedAt, attributes: {…}, history: […]}, ids 1 to 10000; 404; 429 with Retry-After
//	GET  /_/stats            [Stats]: calls, violations, worst windows, times; ?last=5m looks back in the log that far
//	GET  /_/log              the newest calls for [ReadLog], one a line; ?last=5m
//	GET  /_/faults           the [Fault] rules in force
//	POST /_/faults           adds one: {"kind": "status", "status": 503, "artists": ["7"], "rate": 0.5, "calls": 10}
//	DELETE /_/faults         clears them
//	POST /_/reset            forgets counts, log, a ban and faults
//	POST /_/revise/{id}      changes an artist
//
// Every request outside /_/ is a call, also one answered with 404, 429 or 400.
//
// # Limit and ban
//
// A window holds the calls in (t−1 s, t]. When the window that ends at a call holds
// more than Limit calls, the call is a violation, and every call is refused from
// there on for BanFor. Refused calls count; a violation among them restarts the ban's
// time. The calls of a day (UTC) beyond DailyBudget are refused until midnight,
// without a ban.
//
// # When a call arrives
//
// [Upstream.Serve] takes a call's time in the Read of its connection that brings its
// first bytes, under the one lock that also counts it: a late handler does not change
// the time of a call. The limits of this:
//
//   - The kernel has the bytes before Read returns. When the process does not run
//     (a stop, a loaded machine, a collector's pause), calls wait there and
//     arrive bunched together. The caller's own send time tells such a window
//     from one that the callers made: callers put it into the X-Sent-At header,
//     and the stats have both series, and the time between them.
//   - Bytes that can't be told from a control request yet ("GET /" alone) arrive
//     with the next Read. Clients send a request's head in one piece.
//   - A pipelined request arrives in its handler, and may count twice. Go's
//     client does not pipeline.
//
// # Artists
//
// An artist is a function of its id and revision, to the byte, in every process with
// the same BodyBytes: an unchanged artist has an equal hash. A revision changes
// level, updatedAt and attributes. Histories are shared by artists and never change.
// The parts before the history are 17/300 of the body, at least 1,000 bytes. There is
// no ETag.
//
//	property                                              proven by
//	violations are exact at the limit and its edge        TestLimitIsExact, TestGateAgreesWithNaiveCount
//	a ban refuses everything, counts it, and ends         TestBan, TestBanOverHTTP
//	the day's budget                                      TestDailyBudget
//	calls arrive when their first bytes are read          TestArrivalIsTheFirstRead, TestSplitRequests
//	each request counts once, control requests never      TestEveryRequestCountsOnce, TestConcurrentCalls
//	bodies: size, shape, equal while unchanged            TestBodies, TestRevisions
//	each fault has its effect and is counted              TestFaults, TestFaultRules, TestDelayAndLatency, TestDrop
//	the log keeps the newest calls and counts lost ones   TestLogIsBounded, TestLogRoundTrip, FuzzReadLog
//	worst windows per priority                            TestStatsByClass
//	send times apart from arrivals                        TestSentSeries
//	bad input is a clear error                            TestBadControlInput, TestConfigErrors, TestMainErrors
//	stopping lets a running request finish                TestMainServesAndDrains, TestEndHurriesDelays
//
// Failure modes: revisions, counts and log end with the process. Callers that lie
// about their priority are counted by the priority they state.
package upstream
