// Package queuetest is the conformance suite of [driver.Store]. Run it on a backend
// of your own:
//
//	func TestConformance(t *testing.T) {
//		queuetest.Run(t, func(t *testing.T) queuetest.Harness {
//			clock := … // moves by Advance, and may go on by itself
//			return queuetest.Harness{Store: New(clock), Advance: clock.Advance, Lose: …}
//		})
//	}
//
// [CheckSettings] checks a [queue.Settings].
//
// [Walk] compares random histories with a model that is a plain slice; the suite
// has some of them, and a property test can choose more.
//
// Each case returns an error that names the broken promise and how it was broken.
// The suite can therefore be run on a broken backend too: this package's own tests
// do that and show that every case can fail:
//
//	broken backend                                  caught by
//	lines up by id, or by the time in ms            order-of-arrival, order-within-a-call
//	counts orders from 1                            first-order-is-the-time
//	counts those ahead roughly                      ahead-is-exact, lost-line-forms-again
//	gives several places, or is new at each check   one-place-each
//	admits past the line, or one user too many      nobody-passes-the-line, enters-at-once, threshold-changes
//	lines up on any visit, or keeps a leaving user  nobody-is-nobody, leave-and-done
//	verifies any entry                              verify-by-entry
//	has times that do not end, or too late          active-time-is-fixed, expired-take-no-place, silent-inside-are-out
//	reserves places, or forgets who is a taker      silent-turns-hold-up-nobody, turn-takes-a-place
//	ends no turn, too soon, or starts the time      no-show-ends-the-turn, first-poll-starts-the-time
//	forgets a missed turn, or never does            missed-turn-comes-back
//	keeps no place, or any one, or for ever         kept-place-after-silence, no-place-is-kept
//	spends a kept place twice                       kept-place-is-used-once
//	lets returners before the line, or starves them returners-take-every-fourth-turn
//	counts returners or lanes as ahead              returners-raise-no-position, lanes-raise-no-position
//	starves a lane, or the line                     lanes-take-their-share
//	ignores the shares that operators set           shares-of-operators-hold
//	takes members of a lane out of the line         lane-members-stand-in-line
//	counts no stays, the wrong ones, or for ever    stays-are-counted, stays-begin-anew
//	admits by id, loses one, admits while paused    order-of-arrival, admission-in-chunks, pause-and-resume
//	has no tick, or one for ever                    tick-guard
//	counts direct entries for the rate              rate-of-admissions
//	sweeps too soon, no one, or loses a beat        sweep-removes-the-silent
//	takes beats of others                           beats-that-do-nothing
//	sweeps without bounds, or only the first chunk  sweep-in-chunks
//	sweeps as often as asked, or once               sweep-guard
//	forgets a change, or shows it too late          look-is-exact, look-in-pages
//	never says Full or More, or starts again        look-from-elsewhere, look-in-pages, look-after-a-long-time
//	has an epoch that changes                       look-at-nothing
//	leaves users or valid tickets when cleared      clear-takes-everybody-out, cleared-tickets-are-worth-nothing
//	has a gate that leaks, or mixes up positions    gate-lets-positions-in, gate-switched-twice
//	takes a position twice, or an order under it    position-counts-once, gate-switched-off
//	gives a second user the order of a position     a-shared-position-moves-nobody
//	opens a room whose settings it does not know    closed-until-the-settings-are-known, a-loss-closes-the-room
//	takes older settings, or none for no pause      older-settings-change-nothing, nothing-set-keeps-a-pause
//	has no challenge, an older one, or keeps it     challenge-of-operators-holds
//	admits more users than the stock is for         stock-bounds-the-places, an-empty-house-admits-nobody,
//	                                                stock-in-random-order
//	gives returned seats to newcomers               returned-seats-are-for-the-line
//	returns the stock of users that have gone       leaving-returns-no-stock,
//	                                                leaving-while-the-stock-is-asked
//	admits users before the stock is told           closed-until-the-stock-is-told, a-loss-forgets-the-stock
//	keeps its epoch, or counts on, after a loss     loss-begins-an-epoch
//	reads no tickets, or the same one twice         lost-line-forms-again, lost-ticket-counts-once
//	never settles, or takes late tickets            room-settles-after-a-loss, ticket-to-a-settled-room
//	settles with the first ticket                   newcomer-before-the-first-ticket
//	takes tickets however old, or none after an     ticket-from-before-the-loss, ticket-from-before-an-outage,
//	outage                                          ticket-of-a-lapsed-room
//	gives orders out again, or no place back that   goes-on-above-what-is-known,
//	was lost with the last writes                   tickets-of-lost-writes
//	mixes up events, lists none, or for ever        events-are-apart, events-are-listed, events-are-forgotten
//	takes any call, user, or ended context          bad-calls, odd-users, cancelled-context
//	looks first, and then acts                      arrivals-race-for-places, admissions-race
//	does something twice when two ask at once       concurrent-instances
//	most of these                                   random-walks
//
// The suite compares the store's clock with the store's own answers, so that a case
// does not depend on how fast it runs. Where only bounds are promised only those
// are checked: a sweep may be 3 minutes late, and the order of a Check that goes to
// the end of the line may be any above the others.
//
// A case whose needs the backend does not meet prints n/a and the reason.
package queuetest
