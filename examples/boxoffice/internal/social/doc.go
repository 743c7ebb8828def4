// Package social has the members' actions around a show: comments, likes, follows,
// and the vote on the setlist. An action is in the database when it is answered, and
// its events are in the outbox, in the same transaction.
//
//	table     changed by                          events
//	comments  Comment, DeleteComment (soft)       CommentCreated, CommentCountDeltaPublished
//	likes     Like, Unlike                        ShowLiked and PostLiked, ShowUnliked
//	follows   Follow, Unfollow                    MemberFollowed
//	votes,    Open, Vote (and again, to change),  VoteClosed
//	ballots   Close, and Run at the deadline
//	          View                                ShowViewed
//
// # Counts
//
// The groups of like-events and order-events add to like_count and sales_count of a
// show one event at a time, that of product-events adds view_count in batches, each
// in the transaction that notes the events' keys: each event counts once. A sale is
// an order by its reservation, so a second event of one order counts nothing; a sale
// whose money is refunded stays one.
//
// Comments are counted by package counter: a change row in the comment's transaction
// is the truth, and [Counts.Run] adds the rows to comment_count every few
// seconds. The consumer of CommentCountDeltaPublished adds to the store of deltas,
// after the commit of its own key, so that readers see a comment before that: it was
// published by the comment's commit, which is the order that package counter asks
// for. An addition that is lost with its process, or that comes after its row was
// counted, makes the number that readers see wrong until the next round; the total
// never is.
//
//	property                                                  proven by
//	a comment, its change row and its events are one          TestComment, TestNothingIsHalfDone
//	a comment is deleted by its author alone, and counts once TestDeleteComment
//	likes and follows asked twice happen once                 TestLike, TestFollow
//	… also at the same moment                                 TestOneLikeOfMany
//	counts follow the events, each once                       TestCounts
//	… views in batches, malformed ones alone                  TestMalformedView (package app)
//	comment counts are exact after the rounds                 TestCommentCounts
//	a vote ends once, at its deadline or before               TestVote, TestVoteEnds
//	… by one process of many, while it has the lease          TestOneSweeper
//	a sold-out show is read again                             TestSoldOut
//
// # Failure modes
//
// During an outage of the database no action is possible. During an outage of Redis
// comments are written as always, and comment counts are as late as the round.
// Without a worker counts stand still and votes end late, but no ballot is taken
// after the deadline.
package social
