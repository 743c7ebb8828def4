// Package memcoalesce keeps the locks and versions of package coalesce in
// memory, for tests and for applications that are one process.
//
//	property                                                  proven by
//	the table of package coalesce, atomically                 TestConformance, TestLinearizable
//	versions grow over all keys, forgotten ones too           TestConformance
//	what has expired takes no memory                          TestForgetsWhatExpired
//
// Failure modes: everything is gone when the process ends. Versions then go on
// from the machine's clock, and regress only if that was set back by more than
// the time since the last one.
package memcoalesce
