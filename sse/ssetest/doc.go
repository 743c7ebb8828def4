// Package ssetest is the conformance suite of driver.Cap, driver.Broker and
// [sse.Replayer]. Run it on a backend of your own:
//
//	func TestCap(t *testing.T) {
//		ssetest.RunCap(t, func(t *testing.T) ssetest.CapHarness {
//			return ssetest.CapHarness{Cap: New(…)}
//		})
//	}
//
//	func TestBroker(t *testing.T) {
//		ssetest.RunBroker(t, func(t *testing.T) ssetest.BrokerHarness {
//			return ssetest.BrokerHarness{Broker: NewBroker(…), Cut: …}
//		})
//	}
//
//	func TestReplayer(t *testing.T) {
//		ssetest.RunReplayer(t, func(t *testing.T) ssetest.ReplayerHarness {
//			return ssetest.ReplayerHarness{Replayer: …, Event: "notification", Store: …, Bound: 50}
//		})
//	}
//
// Each case returns an error that names the broken promise and how it was broken.
// The suite can therefore be run on a broken backend too: this package's own tests
// do that and show that every case can fail:
//
//	broken Cap                                     caught by
//	has no cap, or one less                        one-too-many-evicts-the-oldest, up-to-the-cap-nobody-goes
//	evicts the youngest, or by name                one-too-many-evicts-the-oldest, times-are-distinct
//	names victims in another order                 a-lower-cap-evicts-several
//	makes a stream young that opens again          opening-again-changes-nothing
//	evicts in spite of NoVictims                   without-victims-nobody-goes
//	keeps the gone, or evicts them                 the-gone-take-no-place
//	evicts the oldest while others are silent      the-silent-go-first
//	mixes members, or cuts their names             members-are-apart, odd-names
//	closes nothing, or remembers it as evicted     close-gives-the-place-back, gone-of-many
//	looks first, and then acts                     openings-race
//	forgets the evicted, too soon or never         an-evicted-tab-gets-no-stream, many-evicted-tabs-are-remembered, an-evicted-tab-is-forgotten-in-time
//	knows no tabs, or evicts those it replaces     a-tab-takes-its-own-place
//	misses none, or gives the wrong reason         gone-says-why, gone-of-many
//	has leases that do not end, or does not resign leases-end-unless-they-are-renewed, of-a-dead-instance-is-a-ghost
//	has a clock that stands                        leases-end-unless-they-are-renewed
//	keeps ghosts, or names them as victims         too-old-is-a-ghost, of-a-dead-instance-is-a-ghost
//	takes the young for ghosts                     newer-than-the-list-is-no-ghost
//	sweeps nothing, or all entries                 sweep-removes-ghosts-only
//	takes any call, or ignores its context         calls-that-cannot-be, ended-context
//
//	broken Broker                                  caught by
//	loses, doubles or mixes up messages            everybody-hears-everything
//	changes their order                            order-by-address
//	cuts frames                                    large-and-binary-frames
//	needs a listener                               nobody-listens
//	takes anything                                 messages-that-cannot-be
//	answers that its context ended                 listening-ends
//	does not report a cut, or its end              a-cut-is-told
//
//	broken Replayer                                caught by
//	counts no events that it leaves out, or counts
//	them wrongly                                   what-is-left-out-is-counted, all-after-the-cursor
//	keeps the oldest                               what-is-left-out-is-counted
//	repeats events that were seen                  nothing-missed
//	has the newest first                           all-after-the-cursor, a-new-client-sees-the-newest
//	ignores its context                            replaying-heeds-its-context
//
// Rules come with each call, so that no wait is longer than some tens of
// milliseconds, and no case depends on being fast.
package ssetest
