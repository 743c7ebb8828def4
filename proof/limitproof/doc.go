// Package limitproof is the program of make limit-proof: it measures, at the
// simulated upstream, that the rate limiter of package ratelimit never breaks the
// upstream's limit, and prints a table.
//
// The upstream, Redis and the workers that share the budget are processes of
// their own, started by the command. Each act has the workers make calls, lets
// something go wrong meanwhile, and then reads the upstream's log of every call:
//
//	steady    high priority at a third of the rate, low wants all it can have
//	low       low priority alone
//	reserve   5,000 low calls a second are asked for; high begins in the middle
//	gc        the workers' collectors are busy, and their worlds are stopped
//	restart   Redis is killed (kill -9) and started on an older state, twice
//	flush     FLUSHALL, again and again
//	stop      workers are stopped (SIGSTOP) at random moments
//	clock     Redis' clock steps forward and back
//	broken    a burst of one second, which the arithmetic refuses; it must be seen
//
// # How it is judged
//
// Every window of a second is looked at, by when calls arrived and by when they
// were sent. Callers say the latter in X-Sent-At, which the connection fills in
// under the limiter's lock, right before the write. A window over the limit by
// sending is a violation, and the proof has failed. One that is over it by arrival
// only is not the caller's fault: the simulator did not get to run, or the
// network delayed calls; the act is played again, up to three times, and every
// try is in the table.
//
// Low priority is compared with its own arithmetic in windows of 1 s and 10 s:
// LowBurst + LowRate·(t + Delay) + Processes. During an outage of Redis no process
// has a permit that is younger than Delay, so at most one call of each process is
// sent.
//
// Goals that a busy machine can miss without any limit being broken are tried up
// to three times too: 99 % of the rate used while there is demand, and high's
// reserve within 100 ms. The reserve is judged as follows: x is the least time
// for which, at any moment t after the first ask of high, at least
// (rate − low rate)·(t − x) calls of high have arrived.
//
// # The clock
//
// A real step of Redis' clock needs the machine's clock, or a library in front of the
// C library, which deadlocks in a redis-server that is linked with jemalloc. So the
// stored times are moved the other way. To a script that decides on calls this is the
// same: it reads nothing but the difference. One difference is a permit that is
// returned across a step: a real step makes it worthless, here it counts.
//
//	property                                                  proven by
//	each call is stamped and counted at its connection        TestStamp
//	the log becomes the right figures                         TestMeasure, TestBehind
//	each rule of the judge finds its violation, and no other  TestJudge
//	the upstream's own counts and its log must agree          TestComplete
//	a try that was violated is never tried again              TestDecided
//	the table and the exit code follow the verdicts           TestTable, TestFailures
//	a moved state is to the scripts a step of the clock       TestStepIsAStep
//	wrong usage is an error that names the right one          TestFlags
//	two workers keep to a small limit through all acts, and
//	the arithmetic broken on purpose is noticed               TestAllActs
//	ratelimit refuses that arithmetic, and the proof says so  TestBrokenIsRefused
//	the total demand does not depend on the number of workers TestDemand
//	the arithmetic is printed                                 TestPreface
//	a worker that dies is no proof                            TestDeadWorker
//	Ctrl-C ends everything, also while workers are stopped    TestInterrupt
//
// Failure modes: the proof is as good as the clocks of its machine; it is one
// machine, whose processes share one. It shows one history: the tests of ratelimit
// check the bound over all histories.
package limitproof
