// Package memcoalesce keeps the locks and versions of package coalesce in memory, for tests and
// for applications of one process.
//
//	locks := memcoalesce.New()
//	coalescer, err := coalesce.New(locks, coalesce.Config{})
//
//	property                                                  proven by
//	the table of package coalesce, atomically                 TestConformance, TestLinearizable
//	versions grow over all keys, forgotten ones too           TestConformance
//	expired keys take no memory                               TestForgetsWhatExpired
//
// Failure modes: all state is lost when the process ends. Versions then continue from the
// machine's clock, and regress only if the clock was set back by more than the time since the
// last version.
package memcoalesce
