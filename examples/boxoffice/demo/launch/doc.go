// Package launch runs programs as child processes, and the box office and its gateway
// among them: starts them, waits until they are ready, asks them to stop, suspends and
// kills them, reads what they use, and makes sure that none outlives its parent where
// the system can promise that (Linux).
//
//	office := &launch.Office{Program: program, Dir: dir}
//	gateway, err := office.StartGateway(ctx)
//	p, err := launch.Start(launch.Spec{Name: "nginx", Path: path, Env: os.Environ()})
//	err = p.Listens(ctx, "127.0.0.1:8080")
//	err = p.Stop(30 * time.Second)
//
//	property                                                        proven by
//	a child that ends before it is ready is an error with its words TestStartReportsAnEarlyEnd
//	Kill ends a child at once, without its cooperation              TestKill
//	Suspend and Resume stop and continue a child                    TestSuspend
//	a child's processor time and memory are those of the system     TestUsage
//	Stop asks first and kills after the deadline                    TestStopAsks, TestStopKillsTheDeaf
//	a terminal's Ctrl-C reaches the parent only                     TestChildHasItsOwnGroup
//	a child does not outlive its parent (Linux)                     TestChildDiesWithItsParent
//	the output of a child is kept, bounded                          TestTailIsBounded
//
// Only processes that this package started are ever ended, by their handle.
package launch
