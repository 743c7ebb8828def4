-- name: Now
SELECT now_ms()

-- name: AddComment
INSERT INTO comments (comment_id, show_id, member_id, text, created_at) VALUES ($1, $2, $3, $4, $5)

-- name: Comments
-- Ids grow with the time, so they are the order too.
SELECT comment_id, member_id, text, created_at FROM comments
WHERE show_id = $1 AND deleted_at IS NULL AND ($2 = '' OR comment_id < $2)
ORDER BY comment_id DESC LIMIT $3

-- name: LockComment
SELECT show_id, member_id, CASE WHEN deleted_at IS NULL THEN 0 ELSE 1 END
FROM comments WHERE comment_id = $1 FOR UPDATE

-- name: DeleteComment
UPDATE comments SET deleted_at = now_ms() WHERE comment_id = $1

-- name: Like
INSERT INTO likes (show_id, member_id, created_at) VALUES ($1, $2, $3)

-- name: Unlike
DELETE FROM likes WHERE show_id = $1 AND member_id = $2

-- name: Liked
SELECT show_id FROM likes WHERE member_id = $1 ORDER BY show_id

-- name: Follow
INSERT INTO follows (followed_id, follower_id, created_at) VALUES ($1, $2, $3)

-- name: Unfollow
DELETE FROM follows WHERE followed_id = $1 AND follower_id = $2

-- name: Follows
SELECT followed_id FROM follows WHERE follower_id = $1 ORDER BY followed_id LIMIT $2

-- name: OpenVote
INSERT INTO votes (show_id, closes_at) VALUES ($1, now_ms() + $2) ON CONFLICT (show_id) DO NOTHING

-- name: LockVote
SELECT CASE WHEN closed_at IS NOT NULL OR closes_at <= now_ms() THEN 1 ELSE 0 END, now_ms()
FROM votes WHERE show_id = $1 FOR UPDATE

-- name: ChangeBallot
UPDATE ballots SET choice = $3 WHERE show_id = $1 AND member_id = $2

-- name: AddBallot
INSERT INTO ballots (show_id, member_id, choice, created_at) VALUES ($1, $2, $3, $4)

-- name: CloseVote
UPDATE votes SET closed_at = now_ms() WHERE show_id = $1 AND closed_at IS NULL RETURNING closed_at

-- name: NextVote
SELECT MIN(closes_at) - now_ms() FROM votes WHERE closed_at IS NULL

-- name: DueVotes
SELECT show_id FROM votes
WHERE closed_at IS NULL AND closes_at <= now_ms()
ORDER BY closes_at, show_id LIMIT $1 FOR UPDATE SKIP LOCKED

-- name: VoteOf
SELECT closes_at, COALESCE(closed_at, 0), CASE WHEN closed_at IS NOT NULL OR closes_at <= now_ms() THEN 1 ELSE 0 END
FROM votes WHERE show_id = $1

-- name: Choice
SELECT choice FROM ballots WHERE show_id = $1 AND member_id = $2

-- name: Tally
SELECT choice, COUNT(*) FROM ballots WHERE show_id = $1 GROUP BY choice

-- name: AddLikes
UPDATE shows SET like_count = like_count + $2 WHERE show_id = $1

-- name: AddSales
UPDATE shows SET sales_count = sales_count + $2 WHERE show_id = $1

-- name: AddViews
-- One statement for the batch; the list of shows is padded with its last one, and its
-- numbers are added up before.
UPDATE shows SET view_count = view_count + CASE show_id
    WHEN $1 THEN $2 WHEN $3 THEN $4 WHEN $5 THEN $6 WHEN $7 THEN $8 WHEN $9 THEN $10 ELSE 0 END
WHERE show_id IN ($1, $3, $5, $7, $9)

-- name: AddComments
UPDATE shows SET comment_count = comment_count + $2 WHERE show_id = $1
