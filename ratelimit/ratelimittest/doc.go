// Package ratelimittest is the conformance suite of [ratelimit.Store]. Run it on a
// backend of your own:
//
//	func TestConformance(t *testing.T) {
//		ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
//			clock := … // stands still but for Move
//			return ratelimittest.Harness{Store: New(clock), Move: clock.Move, Lose: …}
//		})
//	}
//
// Each case returns an error that says which promise was broken and how, so the
// suite can be run on a broken backend too; this package's own tests do that and
// show that every case can fail:
//
//	broken backend                                  caught by
//	missing state is full                           missing-is-empty, bound-over-random-histories
//	has no low cap, or its burst is too high        low-leaves-the-reserve, burst-is-the-most
//	charges what the low cap refuses                refused-low-costs-nothing, strict-low
//	fills to a whole second, or refills more        burst-is-the-most, refill, bound-over-random-histories
//	fills without end while nobody asks             clock-forward, clock-steps-are-covered
//	has a budget for each limits                    limits-that-change, strict-limits-that-change
//	misjudges a clock that was set back             clock-a-little-back, clock-far-back
//	does not notice another server                  another-server
//	rounds RetryAfter                               retry-after-is-exact
//	two budgets, or a race for one                  two-stores-one-count
//	forgets the day's reserve, or when it begins    day-and-its-reserve
//	loses a day, or gives one twice                 day-survives-a-loss, day-and-a-clock-set-back
//	decides runs in another order, or as a whole    runs-are-calls
//	overstates what remains                         remaining-is-exact
//	never yields, without end, or to anybody        yield, yield-only-for-who-waits
//	takes nothing back, too much, too late          return-gives-back, return-fills-no-higher, return-too-late
//	takes back what lost state granted              return-of-lost-state
//	gives back what was refilled meanwhile          bound-with-returns
//	mixes up the days of what comes back            return-to-the-day
//	forgets a window, or has a longer one           strict-missing-blocks, strict-is-used-fully
//	has a shorter window, or fixed ones             strict-window-is-exact
//	takes out the entries of others                 strict-return
//	has no share for low, or a larger one           low-share
//	holds the share for longer, or not at all       low-share-ends
//	fails for good after an answer was lost         waits-outlive-lost-answers
//	accepts any ask, or an ended context            bad-asks, cancelled-context
//
// A case that needs what the backend does not have prints n/a and why.
package ratelimittest
