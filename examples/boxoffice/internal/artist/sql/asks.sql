-- name: Defer
-- One that is there already may be needless by now.
INSERT INTO artist_asks (artist_id, reason, correlation_id, asked_at, due_at) VALUES ($1, $2, $3, now_ms(), now_ms())
ON CONFLICT (artist_id) DO UPDATE SET asked_at = excluded.asked_at, due_at = excluded.due_at

-- name: Deferred
-- The requests that are due, and whether their artists were checked, or have failed for
-- good, since they were made.
SELECT w.artist_id, w.reason, w.correlation_id, w.asked_at,
       CASE WHEN a.last_checked_at >= w.asked_at OR (u.state = 'FAILED' AND u.updated_at >= w.asked_at) THEN 1 ELSE 0 END
FROM artist_asks w
LEFT JOIN artists a ON a.artist_id = w.artist_id
LEFT JOIN update_status u ON u.character_id = w.artist_id
WHERE w.due_at <= now_ms() ORDER BY w.due_at, w.artist_id LIMIT $1

-- name: Answered
-- Those that were there, and no later wish.
DELETE FROM artist_asks WHERE asked_at <= $1 AND artist_id IN ($2)

-- name: Later
-- Another request is under way. Should it come to nothing, its lock has expired
-- by then.
UPDATE artist_asks SET due_at = now_ms() + 30000 WHERE artist_id IN ($1)
