// Package idempotencytest is the conformance suite of [idempotency.Store].
// Run it on a backend of your own:
//
//	func TestConformance(t *testing.T) {
//		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
//			db := … // a fresh database
//			return idempotencytest.Harness{Store: New(db), DB: db}
//		})
//	}
//
// Each case returns an error that says which promise was broken and how, so the
// suite can be run on a broken backend too; this package's own tests do that
// and show that every promise is watched:
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
//	does not heed its context                          cancelled-context, cancelled-in-handler
//	prunes everything, or nothing                      prune-keeps-newer, prune-in-chunks
//	ignores the limit of Prune                         prune-in-chunks, prune-bad-limit
//
// A case that needs what the backend does not have (transactions, a way to
// backdate a key) prints n/a and why.
package idempotencytest
