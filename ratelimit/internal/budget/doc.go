// Package budget is the arithmetic of a rate limit, as plain Go on a state and a time.
// memratelimit is built on it, and the scripts of redisratelimit do exactly the same, answer
// for answer and number for number.
//
//	property                                             proven by
//	at most Burst + Rate*W are used within any W,
//	also when permits are given back                     memratelimit's TestConformance: bound-over-random-histories, bound-with-returns
//	exactly Rate within any Window, at full use of them  strict-window-is-exact, strict-is-used-fully
//	a step of the clock forward mints a burst at most,
//	other limits no more than the highest of each        clock-steps-are-covered, limits-that-change
//	runs are decided as if each call came alone          runs-are-calls
//	RetryAfter is exact                                  retry-after-is-exact
//	low gets its share, no more, and not for ever        low-share, low-share-ends
//	a day is not given back by lost state or clocks      day-survives-a-loss, day-and-a-clock-set-back
//	the scripts do the same                              redisratelimit's TestTwins
//
// # Buckets
//
// Tokens are counted in millionths, and a refill of Rate per second is Rate millionths per µs,
// so no number is ever rounded. Every number stays below 2^53, the exact range of Lua's
// numbers. Missing state means empty buckets; so does state of another server or from more than
// a second in the future. Time does not go back: if the clock was set back a little, time
// stands still until the clock has caught up.
//
// # Permits given back
//
// A permit that is given back may be worth less than it took, otherwise the bound breaks: while
// the permit is out, its place in the bucket fills up again. Take Burst 10, Rate 1 per ms, and
// a full bucket: all ten are taken; 9.9 ms later the refill is used, and then the ten are given
// back and used as well: 19 at once. Hence a permit gives back its size minus the refill since
// its grant; this never subtracts more than the permit would have overflowed by.
//
// To see that this keeps the bound, compare with the bucket b* of the same limits that only
// ever saw the used permits. At all times
//
//	b* >= b + the sum, over permits that are still to be given back, of
//	      max(0, size - Rate * time since its grant)
//
// A used permit lowers both sides by its size. A permit that will be given back moves its size
// from b into the sum; when it is given back, its term moves from the sum into b, or less when
// b is full. Time adds Rate to b and to b*, and takes at least Rate from the sum unless the sum
// is 0; b* can miss its part only when it is full, and then the right side did not grow, or is
// b alone, which is full at the same height. So b* is never below b, never below 0, and the
// used permits fit a bucket: at most Burst + Rate*W within W.
//
// # The share of low
//
// The share is a bucket beside the others, with a refill of LowShare hundredths of LowRate;
// every call of low priority takes from it. It grants nothing by itself: a call needs
// everything else, too. Its content lets low pass when low would otherwise yield, and high
// leaves it free for a time after low was refused. So no bound depends on it.
//
// # Windows
//
// The strict mode keeps the time of each of the last Rate grants in a ring. Lost state may have
// had a full window, so missing state blocks for one Window. A permit that is given back
// removes its own entries, and the next grant finds the same ring as if the permit had never
// existed.
package budget
