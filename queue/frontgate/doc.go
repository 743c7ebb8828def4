// Package frontgate takes the crowd before the waiting room: it gives each visitor
// a position, raises a serving counter, and lets visitors pass up to it. It keeps
// two counters for an event, and nothing for each waiting visitor but the position of a
// signed-in member.
//
//	gate, err := frontgate.New(store, ring, frontgate.Config{Line: room})
//	…
//	go gate.Run(ctx)                          // raises the serving counters
//	state, err := gate.Activate(ctx, "show-1") // off is the default
//	place, err := gate.Assign(ctx, "show-1", member)   // a position, and a request id for it
//	turn, err := gate.Check(ctx, "show-1", place.RequestID, member)
//	if turn.Admitted {
//		… // turn.Token opens the way, and carries the position
//	}
//
// A store (package redisgate, dynamogate, or memgate in one process) gives positions
// out by one counter and raises the other every 10 s, so that 500 visitors arrive, never
// past the last position. A request id is a sealed ticket (package token) of position, event and
// counter. So a poll is a signature and a comparison with counters that a process
// reads once a second for an event, however large the crowd.
//
//	property                                                 proven by
//	positions are unique and dense over 8 instances          TestPositionsUniqueAndDense, TestProperties
//	concurrent callers share a call of the store             TestAssignsAreShared
//	a burst of polls costs one refresh, and a poll nothing   TestPollsCostOneRefresh
//	admitted if and only if position <= serving counter      TestProperties
//	the serving counter never passes the positions           TestProperties, never-past-assigned
//	unused positions delay visitors eight times less         TestUnusedPositionsHoldNobodyUp
//	a round lets Config.Step visitors arrive, no more        TestARoundIsOfArrivals, TestShows
//	eight advancers make one round each period               TestManyAdvancersOneRound, rounds-over-callers
//	the order holds over switching on and off                TestHandOverKeepsOrder, TestRoom
//	a room with an opening keeps the gate off                TestARoomWithAnOpening
//	a member's position is nothing to another member         TestAPositionIsItsMembers
//	a member has one position, on each device                TestAMemberHasOnePosition, members-keep-their-first
//	a browser's position is nothing to another browser       TestAPositionIsItsBrowsers
//	a position lines one visitor up; a second one with it    TestASharedPositionMovesNobody
//	gets another, behind all that were given out
//	a crash between store and line is repaired               TestCrashBetweenStoreAndLine, TestSwitchedMeanwhile
//	a position of lost counters is not admitted              TestLostCounters, TestProperties, lost-counters
//	without a store no one passes, 3 s later at most         TestStoreAway, TestHTTPAway
//	forged, altered and swapped ids and tokens are refused   TestForgedRequestIDs, TestForgedTokens
//	visitors are sent to this site only                      TestGuard, TestConfig
//	a panic of the store or a line ends neither the rounds
//	of the others nor the program                            TestALineThatPanics
//	memory behind the gate: 0 B per waiting visitor          TestMemory of package redisgate
//	the process' own memory is bounded                       TestEventsAreBounded
//
// Names in lower case are cases of package frontgatetest, which every store passes.
//
// # On and off
//
// A gate is off until [Gate.Activate]. Activate switches the store first and the line
// second, with the positions given out until then: the line puts all later positions
// behind the visitors who wait in it already, and refuses visitors without one.
// Deactivate goes the same way: the store gives out no more positions, and the line
// takes all visitors again, behind the last position. Visitors that hold a position
// are then admitted, and continue into the line by the position in their token.
// [Gate.Run] compares line and gate in each round, and repairs a crash between the
// two steps within Config.Every. Until then the line may refuse visitors whom the
// gate lets pass, or the other way round; no visitor loses a position.
//
// # Lost counters
//
// A store that lost its data has other counters, with another epoch, or none. Request
// ids and tokens of the old ones are worth nothing: [Gate.Check] answers [ErrLost], and
// the waiting visitors have to ask for new positions, since the store does not know the
// old ones any more. Until the next round the gate is off, as by default. If Run saw
// the gate on within the last minute (or three rounds), it switches the gate on again,
// and the line begins behind all positions that Run knew of.
//
// # Bounds of the crowd
//
// Anyone may ask for positions, also a program for many of them. Each position that is
// used delays later visitors by 1/500 of a round, and admits one visit to the line,
// which has its own limits and signs visitors in. Unused ones delay them by an eighth
// of that once a few rounds have shown it: 12,000 of them by a minute. Where used
// positions follow on unused ones, up to 8 times 500 visitors may arrive in a round,
// and the next is shorter. Bound the requests of an address at the edge, or
// with package ratelimit before the route that assigns. A request id is for the member that took
// it (HTTPConfig.Member), else for the browser that took it, by its cookie. If a client
// showed neither and hands its request id around, it admits several visitors, and the
// line counts its position once: it refuses the others, whom [Handlers.NewPosition] gives
// positions of their own, behind all that were given out.
//
// # Failure modes
//
// The store is unreachable: the known counters of an event answer for 3 s, and then
// every call fails with [ErrUnavailable], 503 with Retry-After on HTTP. The gate of an
// event cannot be told from one that is off, so its guard is closed as well. Positions
// are kept, and polls work again with the store. Processes learn within a second that
// another process switched a gate. An Assign whose answer was lost has taken positions
// that no visitor holds, and the counter goes past them. A store whose clock is set
// back makes one round at once.
package frontgate
