// Package frontgatetest is the conformance suite of [frontgate.Store]. Run it on a
// backend of your own:
//
//	func TestConformance(t *testing.T) {
//		frontgatetest.Run(t, func(t *testing.T) frontgatetest.Harness {
//			clock := … // stands still but for Move
//			return frontgatetest.Harness{Store: New(clock), Move: clock.Move, Lose: …}
//		})
//	}
//
// Each case returns an error that says which promise was broken and how, so the
// suite can be run on a broken backend too; this package's own tests do that and
// show that every case can fail:
//
//	broken backend                                  caught by
//	gates are on, or make counters, unasked         off-by-default
//	begins at another position                      positions-from-one, random-histories
//	gives positions out while off                   off-gives-none
//	reads, adds, and then writes                    dense-over-callers
//	each process counts for itself                  dense-over-callers, rounds-over-callers
//	serves who has no position yet                  never-past-assigned, random-histories
//	raises by another number                        never-past-assigned
//	each process makes rounds, or all do            rounds-over-callers, rounds-are-apart
//	makes rounds too early, or misstates the next   rounds-are-apart
//	does not count an empty round                   empty-rounds-count
//	an operator's is refused, or counts as a round  operators-rounds
//	rounds stop when the clock is set back          clock-set-back
//	leaves holders of positions behind when off     off-admits-holders
//	begins anew when on again                       on-again-goes-on
//	forgets how many there were before              on-again-goes-on
//	switching on what is on is not for nothing      switching-twice
//	switchers begin counters over those of others   many-switch-on
//	mixes up events                                 events-apart
//	does not list them, or lists what is not there  events-are-listed
//	a loss is not to be noticed                     lost-counters
//	forgets a gate that is on, or never forgets     kept-while-on, kept-after-off
//	does not show its clock                         shows-its-clock
//	accepts any ask, or an ended context            bad-asks, ended-context
//
// A case that needs what the backend does not have prints n/a and why.
package frontgatetest
