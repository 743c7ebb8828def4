// Package ratelimittest is the conformance suite of driver.Store. Run it on your own
// backend:
//
//	func TestConformance(t *testing.T) {
//		ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
//			clock := … // stands still but for Move
//			return ratelimittest.Harness{Store: New(clock), Move: clock.Move, Lose: …}
//		})
//	}
//
// Each case returns an error that describes the broken guarantee, so the suite can be run on a
// broken backend too. This package's own tests do that and show that every case can fail:
//
//	broken backend                                  caught by
//	missing state is full                           missing-is-empty, bound-over-random-histories
//	has no low cap, or its burst is too high        low-leaves-the-reserve, burst-is-the-most
//	charges calls that the low cap refuses          refused-low-costs-nothing, strict-low
//	fills to a whole second, or refills more        burst-is-the-most, refill, bound-over-random-histories
//	fills without end during a pause                clock-forward, clock-steps-are-covered
//	has a budget for each limits                    limits-that-change, strict-limits-that-change
//	misjudges a clock that was set back             clock-a-little-back, clock-far-back
//	does not notice another server                  another-server
//	rounds RetryAfter                               retry-after-is-exact
//	two budgets, or a race for one                  two-stores-one-count
//	forgets the day's reserve, or when it begins    day-and-its-reserve
//	loses a day, or gives one twice                 day-survives-a-loss, day-and-a-clock-set-back
//	decides runs in another order, or as a whole    runs-are-calls
//	overstates the remaining calls                  remaining-is-exact
//	never yields, without end, or to any call       yield, yield-only-for-who-waits
//	takes nothing back, too much, too late          return-gives-back, return-fills-no-higher, return-too-late
//	takes back grants of lost state                 return-of-lost-state
//	gives back calls that were refilled meanwhile   bound-with-returns
//	mixes up the days of returned permits           return-to-the-day
//	forgets a window, or has a longer one           strict-missing-blocks, strict-is-used-fully
//	has a shorter window, or fixed ones             strict-window-is-exact
//	takes out the entries of others                 strict-return
//	has no share for low, or a larger one           low-share
//	holds the share for longer, or not at all       low-share-ends
//	fails for good after an answer was lost         waits-outlive-lost-answers
//	accepts any ask, or an ended context            bad-asks, cancelled-context
//
// If the backend lacks a requirement of a case, the case prints n/a and the reason.
package ratelimittest
