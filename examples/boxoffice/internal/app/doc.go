// Package app puts the box office together: it opens what the configuration
// names, gives each part what it needs, runs the parts of this process's roles
// and ends them in order.
//
//	role       runs
//	api        the site and the JSON API, with the reads of artists
//	relay      the outbox's relay
//	worker     the consumers, the payment executor, the singleton that ends unpaid holds,
//	           and the simulated payment gateway unless another one is configured; the artists'
//	           refreshes, their prefetch and archive, and the simulated API of the artists
//	           unless another one is configured
//	admitter   nothing yet to admit from: the waiting room lets everybody in at once
//
// Every process answers /healthz, /readyz and /metrics.
//
// Artists need what the API and the workers share: Redis, or memory while they are
// one process. Redis is not asked at the start, and no read waits for it. Workers
// keep together to the limit of the artists' API, so each has to know how many they
// are (BOXOFFICE_WORKERS); each without BOXOFFICE_UPSTREAM_URL has a simulated API,
// and a limit, of its own. The archive is in the data folder: a process that does
// not find an artist there has it fetched again.
//
// When its context ends, the process first stops taking requests and lets those
// under way finish, then the calls to the gateway, the handlers and the relay,
// each of which commits what it did. What is left in the database is taken up
// by the next start, or by another process.
//
//	property                                                       proven by
//	book, pay, confirmed; decline; time out; cancel; refund; late  TestJourneys
//	a crash between any two steps loses and doubles nothing        TestCrashes
//	a duplicate of every message changes nothing                   TestDuplicates
//	a malformed message becomes a dead letter, others go on        TestMalformedMessage
//	an artist turns from UPDATING to FRESH by itself               TestArtistTurnsFresh, TestArtistOfSplitProcesses
//	without Redis artists are read from the database               TestArtistsWhileRedisDown
//	without artists everything else works                          TestArtistsOff
//	what no artist can be called is a clear error                  TestArtistBadInput
//	an artist that does not exist is one dead letter               TestArtistThatIsMissing
//	every series of the mirror is there from the start             TestArtistMetrics
//	the limit holds with as many workers as can be configured      TestLimits
//	the meter counts the calls that go out                         TestCountedCalls
//	artists leave the books alone                                  TestArtistsAndTheBooks
//	the process ends in order and leaves no goroutine              TestShutdown, TestArtistsShutdown, TestMain
//	a port in use, a folder in use: clear errors                   TestStartErrors
package app
