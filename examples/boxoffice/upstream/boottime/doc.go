// Package boottime reads the monotonic clock that all processes of one machine share,
// so that a time taken in one process can be compared with a time taken in another.
// [time.Now] can't: its monotonic part is relative to the process, and the rest steps
// with the wall clock.
//
// It is CLOCK_MONOTONIC where there is one. It goes on while a process is
// stopped and stands still while the machine sleeps. Elsewhere it is the wall
// clock, whose steps show in it.
//
//	property                            proven by
//	it never goes back                  TestNowGrows
//	processes read the same clock       TestProcessesShareIt
package boottime
