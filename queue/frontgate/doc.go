// Package frontgate takes the crowd before the waiting room: it gives each who
// comes a position, raises a serving counter, and lets pass who is served. It keeps
// two counters for an event and nothing for each who waits.
//
//	gate, err := frontgate.New(store, ring, frontgate.Config{Line: room})
//	…
//	go gate.Run(ctx)                          // raises the serving counters
//	state, err := gate.Activate(ctx, "show-1") // off is the default
//	place, err := gate.Assign(ctx, "show-1")   // a position, and a request id for it
//	turn, err := gate.Check(ctx, "show-1", place.RequestID)
//	if turn.Admitted {
//		… // turn.Token opens the way, and carries the position
//	}
//
// A store (package redisgate, dynamogate, or memgate in one process) gives positions
// out by one counter and raises the other by 500 every 10 s, never past the last
// position. A request id is a sealed ticket (package token) of position, event and
// counter. So a poll is a signature and a comparison with counters that a process
// reads once a second for an event, whatever the crowd does.
//
//	property                                                 proven by
//	positions are unique and dense over 8 instances          TestPositionsUniqueAndDense, TestProperties
//	callers who come at once share a call of the store       TestAssignsAreShared
//	a burst of polls costs one refresh, and a poll nothing   TestPollsCostOneRefresh
//	admitted if and only if position <= serving counter      TestProperties
//	the serving counter never passes the positions           TestProperties, never-past-assigned
//	eight advancers make one round each period               TestManyAdvancersOneRound, rounds-over-callers
//	the order holds over switching on and off                TestHandOverKeepsOrder, TestRoom
//	a crash between store and line is repaired               TestCrashBetweenStoreAndLine, TestSwitchedMeanwhile
//	a position of lost counters admits nobody                TestLostCounters, TestProperties, lost-counters
//	without a store nobody goes on, 3 s later at most        TestStoreAway, TestHTTPAway
//	forged, altered and swapped ids and tokens are refused   TestForgedRequestIDs, TestForgedTokens
//	visitors are sent to this site only                      TestGuard, TestConfig
//	memory behind the gate: 0 B for each who waits           TestMemory of package redisgate
//	the process' own memory is bounded                       TestEventsAreBounded
//
// Names in lower case are cases of package frontgatetest, which every store passes.
//
// # On and off
//
// A gate is off until [Gate.Activate]. The store is switched first and the line
// second, with the positions given out until then: the line puts all later positions
// behind those who wait in it already, and takes nobody without one. Deactivating
// goes the same way: the store gives nothing out any more, and the line takes
// everybody again, behind the last position. Who holds a position is admitted then,
// so that they go on into the line by their position, as their tokens carry it.
// [Gate.Run] compares line and gate in each round: it makes good what a crash between
// the two steps left, in Config.Every at most. Until then the line may refuse those
// whom the gate lets pass, or the other way round, and nobody loses a position.
//
// # Lost counters
//
// A store that lost its data has other counters, with another epoch, or none. Request
// ids and tokens of the old ones are worth nothing: [Gate.Check] answers [ErrLost], and
// who waits has to ask for a new position, which is all that can be known: nobody is
// admitted by a number that the store does not remember. Until the next round the gate
// is off, as it is by default; Run, when it saw the gate on within the last minute (or
// three rounds), switches it on again and has the line begin behind all positions that
// it knew of.
//
// # What bounds the crowd
//
// Anybody may ask for positions, also a program for many of them. Each delays who
// comes after it by 1/500 of a round, and admits one visit to the line, which has its
// own limits and signs visitors in. Bound the requests of an address where they come
// in: at the edge, or with package ratelimit before [Handlers.Assign]. A request id
// that is handed around admits several, and the line counts its position once.
//
// # Failure modes
//
// The store away: what is known of an event is used for 3 s, and then every call
// fails with [ErrUnavailable], 503 with Retry-After on HTTP; the gate of an event
// cannot be told from one that is off, so its guard is closed as well. Positions are
// kept, and polls go on with the store. Processes find out that a gate was switched by
// another within a second. An Assign whose answer was lost has given positions to
// nobody, and the counter goes past them. A store whose clock is set back makes one
// round at once.
package frontgate
