// Package idempotencytest is the conformance suite of driver.Store, of
// driver.BatchStore if the store is one, and of driver.LeaseStore. Run it on your
// own backend:
//
//	func TestConformance(t *testing.T) {
//		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
//			db := … // a fresh database
//			return idempotencytest.Harness{Store: New(db), DB: db}
//		})
//	}
//
// and [RunLeases] in the same way.
//
// Each case returns an error that describes the broken guarantee, so the suite can be run on a
// broken backend too. This package's own tests do that and show that every guarantee is
// checked:
//
//	broken backend                                     caught by
//	marks in a transaction before the handler's        error-leaves-no-key, panic-leaves-no-key, storm
//	swallows the handler's error and commits           error-leaves-no-key, error-is-kept
//	commits and then reports the handler's error       error-leaves-no-key
//	marks after the handler                            concurrent-one-effect
//	calls a key handled that is still being handled    concurrent-takeover
//	gives the handler no transaction                   transaction-in-context
//	begins its own transaction inside an outer one     outer-commit, outer-rollback, same-key-inside
//	recovers the handler's panic                       panic-leaves-no-key
//	accepts an empty key                               empty-key
//	cuts long keys                                     long-keys
//	ignores case, or spaces at the end of keys         odd-keys
//	does not obey its context                          cancelled-context, cancelled-in-handler
//	forgets the key of a running call                  forget-while-it-runs
//	shows the keys of running calls as recorded        concurrent-takeover
//	prunes everything, or nothing                      prune-keeps-newer, prune-in-chunks
//	ignores the limit of Prune                         prune-in-chunks, prune-bad-limit
//	takes repeated keys in a batch for new             batch-picks-the-new
//	returns new keys in the database's order           batch-picks-the-new, batch-large
//	marks a batch before its handler                   batch-all-or-nothing, batch-takeover, batch-storm
//	escapes keys in a batch in another way             batch-odd-keys
//	takes the first thousand keys only                 batch-large
//	begins a transaction for Fresh by itself           fresh-needs-a-transaction, fresh-in-a-transaction, fresh-in-a-handler
//
//	broken lease store                                 caught by
//	does not compare tokens                            takeover-after-deadline, release-frees, ends-once
//	says done while another worker holds the key       claim-complete, extend, one-winner
//	never lets go of a lease, or too soon              deadline-by-the-clock, takeover-after-deadline
//	ignores Extend, or keeps a released key            extend, release-frees
//	refuses a late call, or a repeated end             late-is-not-lost, repeated-end
//	ignores fingerprints                               other-request
//	counts tokens from one again                       tokens-grow, release-frees
//	cuts results, or keeps them as text                results
//	looks and then takes                               one-winner, http-herd
//	compares keys without regard to case               lease-keys
//	takes any argument                                 lease-arguments
//	does not obey its context                          lease-cancelled-context
//	prunes nothing, too much, or running leases        lease-prune, lease-prune-bad-limit
//	claims inside a transaction                        lease-transactions
//
// If the backend lacks a requirement of a case (transactions, batches, a way to backdate a
// key), the case prints n/a and the reason.
package idempotencytest
