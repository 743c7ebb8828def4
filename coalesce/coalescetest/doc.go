// Package coalescetest is the conformance suite of driver.Store. Run it on your own
// backend:
//
//	func TestConformance(t *testing.T) {
//		coalescetest.Run(t, func(t *testing.T) coalescetest.Harness {
//			return coalescetest.Harness{Store: …, Peer: …, Backdate: …, Lose: …}
//		})
//	}
//
// Each case returns an error that describes the broken guarantee, so the suite can be run on a
// broken backend too. This package's own tests do that (TestBrokenStoresAreCaught), show that
// every guarantee is checked, and that the same harness without a defect passes
// (TestCorrectStorePasses):
//
//	broken store                                       caught by
//	calls a held key free                              free-is-published, held-is-processing
//	lets low take over from low                        held-is-processing, concurrent-upgrades
//	never upgrades, or without a new version           high-upgrades-low, upgrade-has-its-own-ttl
//	lets go of a lock never, or too soon               lock-expires, upgrade-has-its-own-ttl, extend
//	keeps a version too long, or too short             version-expires
//	counts versions from one again                     versions-grow, lost-state
//	releases for any ticket, or for similar ones       release-compares, done-compares, extend-compares
//	keeps a lock that was released or has ended        release-frees, done-frees
//	forgets the version with the lock                  current, done-frees
//	ignores extensions, or half of them                extend, again-lives-with-the-lock
//	ignores requests for one more run                  again-once, again-priority
//	runs more than once more                           again-once
//	marks the asker's own lock                         again-is-asked-of-the-holder
//	loses marks, or keeps them beyond their lock       again-moves-with-an-upgrade, again-ends-with-the-lock
//	takes two keys for one                             keys
//	takes any argument, does not obey its context      arguments, cancelled-context
//	looks and then acts                                concurrent-requests, -upgrades, -release, -done
package coalescetest
