// Package chaos is the program of make chaos: it kills the box office again and
// again while a load generator uses it, and then compares the box office's state with
// all its answers.
//
// The first act kills the whole process (kill -9) at random moments of its life,
// some of them while it still starts, and starts it again on the same data
// folder. The payment gateway is a process of its own that lives on, as a real
// provider would, so its ledger is an independent witness.
//
// The second act runs the relay as a process of its own and lets it die, also by
// SIGKILL, after the transport confirmed a publish and before the cursor moves.
// That moment is too short to be hit from outside, so the process kills itself
// there: see package relayfault. Everything published but not yet behind the
// cursor is published again; consumers must recognise it and do nothing.
//
// Both acts end alike: the box office runs undisturbed, the crowd finishes, the
// books come to rest, and every check of package audit must hold, the gateway's
// ledger row by row.
//
//	property                                                    proven by
//	the moments of the kills depend on the seed alone           TestMomentsAreDeterministic
//	the box office survives being killed                        TestChaos, TestRelayChaos
//	a box office that loses confirmed data is found             TestChaosFindsLostData
//	a box office that ends by itself is found                   TestChaosFindsACrash
//
// Only processes that this command started are killed, by their handle, and
// everything listens on 127.0.0.1.
package chaos
