// Package crowd simulates ticket buyers. Each fan is a member that signs in, passes the
// waiting room, looks at seats, holds some, and then follows its plan: pays, is
// declined, pays with a card that times out, pays in the last moment, cancels, lets the
// hold expire, refunds, transfers, grasps at more seats than a member may have, or buys
// a membership. Fans speak HTTP only and know only the answers they got;
// [Crowd.Records] keeps those, so that an audit can compare the box office with them.
//
// A fan survives an outage of the box office: it repeats a request until it is
// answered or its patience ends, repeats a payment with the same payment key, and
// looks into its tickets when it does not know whether a hold was made.
//
// Beside its plan each fan does a share of the actions around a show: it looks at one,
// likes it and may take that back, comments and may delete that, follows an earlier
// fan, writes in the chat room, and keeps a live stream open while it is there. At the
// end it reads its inbox. These routes take no idempotency key: harmless requests are
// repeated. A comment or message whose answer was lost is not repeated, since each
// request makes another one. The fan then does not know the outcome, and records how
// often it sent each text. A broken stream reconnects with the last id it saw.
//
//	property                                                         proven by
//	a crowd of one seed has the same plans and payment keys          TestPlansAreDeterministic
//	every plan occurs in a crowd of 100                              TestEveryPlanOccurs
//	the same holds for the fans' shares                              TestSharesAreDeterministic, TestEveryShareOccurs
//	the actions of the shares and their answers are kept             TestCommunity
//	a comment is sent once, and again only when the office did not
//	take it; the fan records how often it was sent                   TestLostComments, TestWhatIsNotTakenIsSentAgain
//	a broken stream reconnects where it was                          TestStreamComesBack
//	a malformed stream is counted                                    TestStreamNonsense
//	a fan waits for its turn, and gives its place back               TestWaitingRoom
//	a line that does not move is a fault                             TestLineStands
//	the answers of waiting rooms are kept                            TestWaitingRoom
//	a lost answer is asked for again, not booked twice               TestFansSurviveLostAnswers
//	a payment key that gives two payments is noticed                 TestFanNoticesASecondPayment
//	a fan that grasps records its seats, and returns them            TestGrasp
//	an unexpected answer is counted, not ignored                     TestUnexpectedAnswersAreCounted
//	at most Concurrency fans act at a time; all end with the context TestCrowdIsBounded, TestCrowdStops
package crowd
