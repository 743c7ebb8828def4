-- name: Position
UPDATE notification_positions SET position = position + 1 WHERE name = $1
RETURNING position

-- name: StoreOne
INSERT INTO notifications (notification_id, member_id, type, params, message, ref_id, created_at, position)
VALUES ($1, $2, $3, $4, $5, $6, now_ms(), $7)
ON CONFLICT (notification_id) DO NOTHING

-- name: FollowersPage
-- Where the next page ends, and how many it has.
SELECT COUNT(*), COALESCE(MAX(page.member_id), '')
FROM (SELECT follower_id AS member_id FROM follows WHERE followed_id = $1 AND follower_id > $2
      ORDER BY follower_id LIMIT $3) AS page

-- name: StoreFollowers
INSERT INTO notifications (notification_id, member_id, type, params, message, ref_id, created_at, position)
SELECT $1 || f.follower_id, f.follower_id, $2, $3, $4, $5, now_ms(), $6
FROM follows f WHERE f.followed_id = $7 AND f.follower_id > $8 AND f.follower_id <= $9
ON CONFLICT (notification_id) DO NOTHING

-- name: VotersPage
SELECT COUNT(*), COALESCE(MAX(page.member_id), '')
FROM (SELECT member_id FROM ballots WHERE show_id = $1 AND member_id > $2
      ORDER BY member_id LIMIT $3) AS page

-- name: StoreVoters
INSERT INTO notifications (notification_id, member_id, type, params, message, ref_id, created_at, position)
SELECT $1 || b.member_id, b.member_id, $2, $3, $4, $5, now_ms(), $6
FROM ballots b WHERE b.show_id = $7 AND b.member_id > $8 AND b.member_id <= $9
ON CONFLICT (notification_id) DO NOTHING

-- name: AddFanout
INSERT INTO notification_fanouts (event_id, type, params, message, ref_id, audience, audience_of, after_member)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (event_id) DO NOTHING

-- name: NextFanout
SELECT event_id, type, COALESCE(params, '{}'), message, ref_id, audience, audience_of, after_member
FROM notification_fanouts ORDER BY event_id LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: MoveFanout
UPDATE notification_fanouts SET after_member = $2 WHERE event_id = $1

-- name: EndFanout
DELETE FROM notification_fanouts WHERE event_id = $1

-- name: Inbox
SELECT notification_id, type, COALESCE(params, '{}'), message, ref_id, created_at, COALESCE(read_at, 0)
FROM notifications WHERE member_id = $1 AND position < $2
ORDER BY position DESC LIMIT $3

-- name: Unread
SELECT notification_id, type, COALESCE(params, '{}'), message, ref_id, created_at, COALESCE(read_at, 0)
FROM notifications WHERE member_id = $1 AND read_at IS NULL AND position < $2
ORDER BY position DESC LIMIT $3

-- name: Missed
-- Later ones, which are not sent yet, come live.
SELECT notification_id, type, COALESCE(params, '{}'), message, ref_id, created_at, COALESCE(read_at, 0)
FROM notifications WHERE member_id = $1 AND read_at IS NULL AND position > $2
  AND position <= (SELECT sent.position FROM notification_positions sent WHERE sent.name = 'sent')
ORDER BY position DESC LIMIT $3

-- name: LeftOut
-- How many Missed would have, had it no limit, before the oldest that it has.
SELECT COUNT(*) FROM notifications WHERE member_id = $1 AND read_at IS NULL AND position > $2
  AND position < (SELECT oldest.position FROM notifications oldest WHERE oldest.notification_id = $3)

-- name: UnreadCount
SELECT COUNT(*) FROM notifications WHERE member_id = $1 AND read_at IS NULL

-- name: PlaceOf
SELECT position FROM notifications WHERE notification_id = $1 AND member_id = $2

-- name: MarkRead
UPDATE notifications SET read_at = now_ms() WHERE notification_id = $1 AND member_id = $2 AND read_at IS NULL

-- name: MarkReadUpTo
UPDATE notifications SET read_at = now_ms() WHERE member_id = $1 AND read_at IS NULL AND position <= $2

-- name: AddSettings
INSERT INTO notification_settings (member_id, muted) VALUES ($1, $2) ON CONFLICT (member_id) DO NOTHING

-- name: SetMuted
UPDATE notification_settings SET muted = $2 WHERE member_id = $1

-- name: IsMuted
SELECT muted FROM notification_settings WHERE member_id = $1

-- name: Places
SELECT sent.position, given.position
FROM notification_positions sent, notification_positions given WHERE sent.name = 'sent' AND given.name = 'stored'

-- name: ToSend
SELECT n.notification_id, n.member_id, n.type, COALESCE(n.params, '{}'), n.message, n.ref_id, n.position, now_ms() - n.created_at,
       CASE WHEN n.read_at IS NULL AND COALESCE(s.muted, 0) = 0 THEN 1 ELSE 0 END
FROM notifications n LEFT JOIN notification_settings s ON s.member_id = n.member_id
WHERE n.position > $1 AND n.position <= $2
ORDER BY n.position, n.member_id LIMIT $3

-- name: KeepTrace
INSERT INTO notification_traces (position, trace_context) VALUES ($1, $2)

-- name: TracesToSend
SELECT position, trace_context FROM notification_traces WHERE position > $1 AND position <= $2

-- name: ForgetTraces
DELETE FROM notification_traces WHERE position <= $1

-- name: MarkSent
UPDATE notification_positions SET position = $1 WHERE name = 'sent'

-- name: LastOfStep
-- The last of the oldest notifications that are to be deleted in one step.
SELECT step.created_at, step.notification_id
FROM (SELECT created_at, notification_id FROM notifications WHERE created_at <= now_ms() - $1
      ORDER BY created_at, notification_id LIMIT $2) AS step
ORDER BY step.created_at DESC, step.notification_id DESC LIMIT 1

-- name: DeleteUpTo
DELETE FROM notifications
WHERE created_at <= $1 AND (created_at < $1 OR notification_id <= $2)
