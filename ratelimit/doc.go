// Package ratelimit shares an upstream's budget of calls among many processes, and never
// exceeds it: with a reserve for high priority, a daily budget, and permits that expire.
//
//	limiter, err := ratelimit.New(store, ratelimit.Config{Limits: ratelimit.Limits{
//		HardLimit: 500, // the upstream bans a client after 501 calls in a second
//		Rate:      450, // for all priorities together
//		LowRate:   350, // the part that low priority can use
//		Processes: 10,
//	}})
//	…
//	transport, err := ratelimit.NewTransport(limiter, ratelimit.TransportConfig{})
//	client := &http.Client{Transport: transport}
//
// The store keeps the state: package memratelimit for one process, redisratelimit for many.
// [NewTransport] spends a permit at the write of each call, because only the write counts. For
// other protocols, write in [Permit.Use]. [NewHTTP] limits the requests of your own server.
// Package metrics exports the counts. Package keyed bounds callers, each by a key.
//
// # The arithmetic
//
// A bucket of capacity C that is refilled with R per second grants at most C + R·W within any
// window W: a capacity of 450 at 450 per second allows 899 calls in one second. A call arrives
// at the upstream up to D after its grant, hence the calls of one second were granted within
// 1 s + D. Each of M processes may also be stopped between its last check of the clock and one
// write:
//
//	C + R·(1 s + D) + M <= HardLimit
//
// [Limits.Plan] derives C from this formula, and refuses limits that cannot hold. At 450 of 500
// with one process:
//
//	Delay                   1 ms   20 ms   50 ms   100 ms
//	Burst                   48     40      26      4
//	Burst with ClockSteps   24     20      13      2
//
// A forward step of the store's clock fills the buckets once more: ClockSteps counts C twice,
// for one step within 1 s + D. Strict mode grants at most R in any window of 1 s + D, and can
// use all of them: R + M <= HardLimit. It cannot cover a step of the clock.
//
// The bound depends on these assumptions:
//
//   - A process has one Limiter for a budget. Its lock on writes is the reason why M is one
//     call for each process.
//   - Processes is at least the number of processes that share the budget, including those that
//     are about to end.
//   - The upstream gets calls only through this limiter.
//   - A call arrives within Transit after its write; 0 means a network with a constant delay,
//     which delays all calls equally.
//   - The monotonic clock of a process continues while the process is stopped: this holds for
//     SIGSTOP, GC pauses and paging. It does not hold for a suspended machine, and may not hold
//     in a virtual machine that is paused or moved.
//   - The head of a call is written at once: it fits into the transport's WriteBufferSize, 4 KB
//     by default.
//
// # Guarantees
//
//	property                                              proven by
//	an accepted plan keeps within the hard limit          TestAcceptedPlansHold, TestArithmetic
//	limits that cannot hold are refused, with a reason    TestLimitsThatCannotHoldShowTheArithmetic
//	a store grants no more than the plan in any window,
//	and over a step of its clock                          bound-over-random-histories, bound-with-returns,
//	                                                      clock-steps-are-covered
//	low never uses the reserve of high; a refused low
//	call costs nothing                                    low-leaves-the-reserve, refused-low-costs-nothing
//	missing state is empty; the day survives its loss     missing-is-empty, day-survives-a-loss
//	strict: never more in any window, and all of it       strict-window-is-exact, strict-is-used-fully
//	callers that share a call get the same as alone       TestCombiningIsLikeComingAlone, runs-are-calls
//	high before low, in a call and among waiting callers,
//	outside LowShare                                      TestRunsHoldHighFirstAndEqualSizesTogether, TestWaitIsServedInOrder
//	first come, first served within a class               TestWaitIsServedInOrder
//	waiting high is served under a flood of low           TestHighIsServedUnderAFloodOfLow, yield
//	low gets LowShare under a flood of high, in its
//	process and in others; no more, and no call is lost   TestLowIsServedUnderAFloodOfHigh (package memratelimit),
//	                                                      low-share, low-share-ends
//	waiting callers are one caller to the store           TestWaitIsNoHerd
//	… and use the whole rate, in ten processes            TestManyProcessesUseTheWholeRate
//	a refusal costs no call until its retry time          TestDeniedFloodMakesNoCalls
//	the low cap never denies high                         TestLowCapNeverDeniesHigh
//	a caller that leaves returns its grant                TestLeavingGivesBack, TestLeavingAtAnyMoment, TestWaitHandsOver
//	… which no other caller gets when it has expired      TestAnExpiredGrantIsHandedToNoWaitingCaller
//	a panic of the store affects no other caller          TestPanicLeavesNobodyWaiting
//	fail closed, within the timeout                       TestFailsClosedWithinTheTimeout, TestNonsenseIsRefused
//	an open breaker refuses at once                       TestBreaker
//	a wait lives through a slow or absent store, until
//	its context ends or the breaker opens                 TestWaitLivesThroughStalls, waits-outlive-lost-answers,
//	                                                      TestWaitOverABadNetwork (package redisratelimit),
//	                                                      TestWaitEndsWithItsContextWhileTheStoreIsAway,
//	                                                      TestAnOpenBreakerEndsWaits
//	grants of a call without an answer are not used       TestWaitLivesThroughStalls, waits-outlive-lost-answers
//	an expired permit writes nothing                      TestPermitExpires, TestNothingIsWrittenLate
//	a stopped process is late with one call at most       TestOneWriteAtATime
//	one permit for each call that goes out                TestTransportSpendsOnePermitForEachCall, TestTransportRedirect,
//	                                                      TestSilentRetrySpendsAnotherPermit
//	the base of a transport is not changed                TestTheBaseIsLeftAlone
//	a permit that was not used is given back              TestUnusedPermitsAreGivenBack, TestReturnClearsTheDenial
//
// Names in lower case are cases of package ratelimittest, which every store passes.
//
// # The least share of low priority
//
// Without a bound, waiting calls of high priority would leave nothing to low, because they get
// every free call first. LowShare, 5 % of LowRate by default, is the minimum for low: 17.5
// calls per second of 350. The share fills like a bucket, and every call of low priority takes
// from it, so low that gets more than its share anyway takes nothing from high. After a call of
// low priority was refused, high leaves the content of the share free, two calls at most, until
// the low call's retry time. If low does not return, high takes the rest 150 ms later.
// LowShare: new(0) turns the share off. HardLimit, LowRate and the reserve of high hold in any
// case. With a Burst of 1 there is no call that high could leave free.
//
// # How callers share calls
//
// A Limiter has one call of the store in flight at a time. A caller that finds none in flight
// makes one in its own goroutine, at once. Callers that arrive meanwhile are queued. One of
// them makes the next call for all queued and all waiting callers; within a class, waiting
// callers are served first. Equal callers are one number in the call. There are no goroutines
// besides the callers'.
//
// A refusal is cached by priority and size until its retry time. One of the callers in
// [Limiter.Wait] watches the time for all; while high waits, it asks at least every 12 ms, so
// that low in other processes continues to yield.
//
// # Failure modes
//
// The store is down or slow: callers of Allow get [ErrUnavailable] within Config.Timeout of a
// call, or twice that if they queued behind one. After 5 failures in 10 calls the breaker
// opens, and all callers are refused at once, for 30 s; a consumer then pauses. Callers of Wait
// wait until the breaker opens: the call is repeated after a pause of 10 ms, which doubles up
// to 100 ms. The charge of a call without an answer is lost, and the budget recovers by itself.
//
// The store takes longer than a permit lasts: a permit of Allow has expired when it arrives,
// and Wait asks again; after ten such answers in a row it ends with ErrUnavailable. Raise
// Limits.Delay, which costs burst.
//
// An upstream that does not read: the write of a call holds the lock for
// TransportConfig.WriteTimeout at most, other permits expire meanwhile, and their calls get new
// ones. No call is late, but the rate drops.
//
// A store that ignores the end of its context blocks all callers of the process, except those
// whose own context ends.
//
// On a day with a budget, permits that are given back may stay counted for the day, since each
// process reports the highest count that it has seen.
package ratelimit
