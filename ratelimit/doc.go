// Package ratelimit hands out a budget of calls that an upstream forgives, to
// many processes, and never one more: with a reserve for high priority, a
// budget for the day, and permits that expire.
//
//	limiter, err := ratelimit.New(store, ratelimit.Config{Limits: ratelimit.Limits{
//		HardLimit: 500, // the upstream bans who makes 501 calls in a second
//		Rate:      450, // what all use
//		LowRate:   350, // what low priority uses of it
//		Processes: 10,
//	}})
//	…
//	transport, err := ratelimit.NewTransport(limiter, ratelimit.TransportConfig{})
//	client := &http.Client{Transport: transport}
//
// The store keeps the state: package memratelimit for one process,
// redisratelimit for many. [Transport] spends a permit at the write of each
// call, which is where it counts. For other protocols, write in [Permit.Use].
// [HTTP] refuses requests on a server of ours. Package ratelimitprom has the
// metrics.
//
// # The arithmetic
//
// A bucket of capacity C that is refilled with R per second grants at most
// C + R·W within any window W: a capacity of 450 at 450 per second lets 899
// through in one second. A call arrives at the upstream up to D after its grant,
// hence the calls of one second were granted within 1 s + D; and each of M
// processes may be stopped between its last look at the clock and one write:
//
//	C + R·(1 s + D) + M <= HardLimit
//
// [Limits.Plan] derives C from it, and refuses what cannot hold. At 450 of 500
// with one process:
//
//	Delay                   1 ms   20 ms   50 ms   100 ms
//	Burst                   48     40      26      4
//	Burst with ClockSteps   24     20      13      2
//
// A forward step of the store's clock fills the buckets once more: ClockSteps
// counts C twice, for one step within 1 s + D. Strict mode grants R at most in any
// window of 1 s + D, at full use of them: R + M <= HardLimit. It cannot cover a
// step of the clock.
//
// The bound stands on these assumptions:
//
//   - A process has one Limiter for a budget. Its lock on writes is what makes M
//     one call for each process.
//   - Processes is at least the number that share the budget, those that are about
//     to end included.
//   - The upstream gets its calls by this limiter only.
//   - A call arrives within Transit after its write; 0 stands for a network that
//     is always equally slow, which moves all calls alike.
//   - The monotonic clock of a process goes on while it is stopped: it does over
//     SIGSTOP, GC pauses and paging. It does not over a suspended machine, and may
//     not in a virtual machine that is paused or moved.
//   - The head of a call is written at once: it fits into the transport's
//     WriteBufferSize, 4 KB by default.
//
// # Guarantees
//
//	property                                              proven by
//	an accepted plan keeps within the hard limit          TestAcceptedPlansHold, TestArithmetic
//	what cannot hold is refused, with the arithmetic      TestLimitsThatCannotHoldShowTheArithmetic
//	a store grants no more than the plan in any window,
//	and over a step of its clock                          bound-over-random-histories, bound-with-returns,
//	                                                      clock-steps-are-covered
//	low never has what is high's; a refused low call
//	costs nothing                                         low-leaves-the-reserve, refused-low-costs-nothing
//	missing state is empty; the day survives its loss     missing-is-empty, day-survives-a-loss
//	strict: never more in any window, and all of it       strict-window-is-exact, strict-is-used-fully
//	callers who share a call get what they would alone    TestCombiningIsLikeComingAlone, runs-are-calls
//	high before low, within a call and among who wait,
//	outside LowShare                                      TestRunsHoldHighFirstAndEqualSizesTogether, TestWaitIsServedInOrder
//	first come, first served within a class               TestWaitIsServedInOrder
//	high that waits is served under a flood of low        TestHighIsServedUnderAFloodOfLow, yield
//	low gets LowShare under a flood of high, in its
//	process and in others; no more, and no call is lost   TestLowIsServedUnderAFloodOfHigh (package memratelimit),
//	                                                      low-share, low-share-ends
//	those who wait are one caller to the store            TestWaitIsNoHerd
//	… and lose nothing of the rate, in ten processes      TestManyProcessesUseTheWholeRate
//	a refusal costs no call until its retry time          TestDeniedFloodMakesNoCalls
//	the low cap never denies high                         TestLowCapNeverDeniesHigh
//	who leaves holds nothing                              TestLeavingGivesBack, TestLeavingAtAnyMoment, TestWaitHandsOver
//	fail closed, within the timeout                       TestFailsClosedWithinTheTimeout, TestNonsenseIsRefused
//	an open breaker refuses at once                       TestBreaker
//	a wait lives through a slow or absent store, until
//	its context ends or the breaker opens                 TestWaitLivesThroughStalls, waits-outlive-lost-answers,
//	                                                      TestWaitOverABadNetwork (package redisratelimit),
//	                                                      TestWaitEndsWithItsContextWhileTheStoreIsAway,
//	                                                      TestAnOpenBreakerEndsWaits
//	what a call without an answer charged nobody uses     TestWaitLivesThroughStalls, waits-outlive-lost-answers
//	an expired permit writes nothing                      TestPermitExpires, TestNothingIsWrittenLate
//	a stopped process is late with one call at most       TestOneWriteAtATime
//	one permit for each call that goes out                TestTransportSpendsOnePermitForEachCall, TestTransportRedirect,
//	                                                      TestSilentRetrySpendsAnotherPermit
//	a permit that was not used is given back              TestUnusedPermitsAreGivenBack, TestReturnClearsTheDenial
//
// Names in lower case are cases of package ratelimittest, which every store
// passes.
//
// # The least share of low priority
//
// Without a bound the waiting calls of high priority would leave nothing to low:
// what becomes free goes to them first. LowShare, 5 % of LowRate by default, is what
// low gets all the same: 17.5 calls per second of 350. It fills as a bucket does, and
// every call of low priority takes from it, so that low which gets more than its
// share takes nothing from high. When a call of low priority was refused, high leaves
// what the share has, two calls at most, until low comes back as it was told. Low
// that goes away holds nothing up: 150 ms later high takes the rest. LowShare:
// new(0) turns it off. HardLimit, LowRate and the reserve of high hold in any case.
// With a Burst of 1 there is no call that high could leave.
//
// # How callers share calls
//
// A Limiter has one call of the store under way at a time. Who comes alone makes
// it in its own goroutine, at once. Who comes meanwhile queues, and one of those
// makes the next call for all of them, and for those who wait, before whom
// nobody of their class is served. Equal callers are one number in the call.
// There is no goroutine besides the callers'.
//
// A refusal is remembered by priority and size until its retry time. One of
// those in [Limiter.Wait] watches the time for all; while high waits it asks at
// least every 12 ms, so that low in other processes goes on to yield.
//
// # Failure modes
//
// The store is away or slow: callers of Allow get [ErrUnavailable] within
// Config.Timeout of a call, or twice that when they queued behind one; after 5
// failures in 10 calls the breaker opens, and all callers are refused at once, for
// 30 s. Callers of Wait go on waiting until the breaker opens: the call is repeated
// after a pause of 10 ms, which doubles up to 100 ms. A consumer then pauses. What a
// call without an answer has charged is lost, and the budget recovers by itself.
//
// The store takes longer than a permit lasts: a permit of Allow has expired when
// it comes, and Wait asks again; after ten such answers in a row it ends with
// ErrUnavailable. Raise Limits.Delay, which costs burst.
//
// An upstream that does not read: the write of a call holds the lock for
// TransportConfig.WriteTimeout at most, other permits expire meanwhile, and
// their calls get new ones. Nothing is late, and the rate suffers.
//
// A store that ignores the end of its context holds all callers of the process,
// but not those whose own context ends.
//
// What is given back on a day with a budget may stay counted for the day, since
// each process brings the highest count it has seen.
package ratelimit
