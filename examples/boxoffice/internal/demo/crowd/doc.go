// Package crowd is a crowd of ticket buyers. Each fan is a member who signs in,
// passes the waiting room, looks at seats, holds some, and then does what its
// plan says: pays, is declined, pays with a card that times out, pays in the
// last moment, cancels, lets the hold expire, refunds, transfers, grasps at more
// seats than a member may have, or buys a membership. Fans speak HTTP only and know nothing but what they were told;
// [Crowd.Records] keeps that, so that an audit can hold the box office to it.
//
// A fan survives a box office that goes away: it repeats a request until it is
// answered or its patience ends, pays again with the same payment key, and
// looks into its tickets when it does not know whether a hold was made.
//
// Beside its plan each fan does a share of what people do around a show: it looks
// at one, likes it and may think better of it, comments and may delete that, follows
// one who came before, says something in the chat room, and keeps a live stream open
// while it is there. At the end it reads its inbox. No route of these takes an
// idempotency key: what is harmless to repeat is repeated, and a comment or message
// whose answer was lost is not, since each request makes another one. The fan then
// does not know, and keeps how often it sent what. A stream that breaks comes back
// with the last id it saw.
//
//	property                                                         proven by
//	a crowd of one seed has the same plans and payment keys          TestPlansAreDeterministic
//	every plan occurs in a crowd of 100                              TestEveryPlanOccurs
//	the same holds for what fans do beside them                      TestSharesAreDeterministic, TestEveryShareOccurs
//	what fans did among the others and were told is kept             TestCommunity
//	what may be there twice is sent once, and again when the office
//	did not take it; then the fan knows how often                    TestLostComments, TestWhatIsNotTakenIsSentAgain
//	a stream that breaks comes back where it was                     TestStreamComesBack
//	a stream that says nonsense is counted                           TestStreamNonsense
//	a fan waits for its turn, and gives its place back               TestWaitingRoom
//	a line that does not move is a fault                             TestLineStands
//	what waiting rooms tell is kept                                  TestWaitingRoom
//	a lost answer is asked for again, not booked twice               TestFansSurviveLostAnswers
//	a payment key that gives two payments is noticed                 TestFanNoticesASecondPayment
//	a fan that grasps notes what it had, and gives it back           TestGrasp
//	a fan that is told nonsense is counted, not ignored              TestUnexpectedAnswersAreCounted
//	at most Concurrency fans act at a time; all end with the context TestCrowdIsBounded, TestCrowdStops
package crowd
