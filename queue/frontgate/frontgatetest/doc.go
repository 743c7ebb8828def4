// Package frontgatetest is the conformance suite of [driver.Store]. Run it on a
// backend of your own:
//
//	func TestConformance(t *testing.T) {
//		frontgatetest.Run(t, func(t *testing.T) frontgatetest.Harness {
//			clock := … // stands still but for Move
//			return frontgatetest.Harness{Store: New(clock), Move: clock.Move, Lose: …}
//		})
//	}
//
// Each case returns an error that names the broken promise and how it was broken.
// The suite can therefore be run on a broken backend too: this package's own tests
// do that and show that every case can fail:
//
//	broken backend                                  caught by
//	gates are on, or make counters, unasked         off-by-default
//	begins at another position                      positions-from-one, random-histories
//	gives positions out while off                   off-gives-none
//	reads, adds, and then writes                    dense-over-callers
//	each process counts for itself                  dense-over-callers, rounds-over-callers
//	serves positions that were not given out yet    never-past-assigned, random-histories
//	raises by another number                        never-past-assigned
//	each process makes rounds, or all do            rounds-over-callers, rounds-are-apart
//	makes rounds too early, or misstates the next   rounds-are-apart
//	does not count an empty round                   empty-rounds-count
//	an operator's is refused, or counts as a round  operators-rounds
//	rounds stop when the clock is set back          clock-set-back
//	leaves holders of positions behind when off     off-admits-holders
//	counts from 1 when on again                     on-again-goes-on
//	forgets how many there were before              on-again-goes-on
//	switching on twice changes something            switching-twice
//	switchers begin counters over those of others   many-switch-on
//	mixes up events                                 events-apart
//	does not list them, or lists absent ones        events-are-listed
//	a loss is not to be noticed                     lost-counters
//	forgets a gate that is on, or never forgets     kept-while-on, kept-after-off
//	does not show its clock                         shows-its-clock
//	accepts any ask, or an ended context            bad-asks, ended-context
//
// A case whose needs the backend does not meet prints n/a and the reason.
package frontgatetest
