// Package cheats runs a waiting room in which half of the people cheat, and judges it by what
// the people were answered:
//
//	err := cheats.Run(ctx, cheats.Config{}, os.Stdout)
//
// 5,000 people come to four processes of a room, over HTTP; one of the processes is killed
// every 15 s. Redis has a replica, which takes over every minute without the last second of
// the writes. Of the cheats some are never heard of again, some never give their place
// back, some poll at all processes at once, some bring the ticket of another person, some
// line up again under another name, and some leave and bring their ticket again later.
//
//	judged by the answers that people got                    when it is broken
//	no more than the threshold know that they are inside,    overshoot
//	apart from those whose admission was in a lost second
//	no honest person is inside later than a person that came  behind the arrival
//	after it, apart from the time between two polls
//	no position is higher than the number of people that     behind the arrival
//	had come, nor than one that a later person was told
//	before
//	no honest person is told to be in no line, or out of     lost
//	the room before the time
//	no honest person is let in twice, unless the first time  twice
//	was in a lost second
//
//	property                                                 proven by
//	the judge finds each of these, and nothing else          TestJudge, TestNothingProven
//	a short run holds, and one with another threshold does
//	not                                                      TestRun, TestBroken
//
// Failure modes: an honest person that polls more than a second late, because the machine is
// busy or no instance answers, is silent in the sense of package queue, and is not judged by
// the order of entrance. The report counts them, and more than one in ten is [judge.ErrNoProof].
// So is a room that was never full.
package cheats
