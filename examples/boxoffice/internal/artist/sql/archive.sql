-- name: Old
-- Artists read at least so many milliseconds ago whose extract is in the
-- database, in the order of their ids.
SELECT a.artist_id, a.version, a.content_hash, e.content FROM artists a
JOIN artist_extracts e ON e.artist_id = a.artist_id
WHERE a.last_requested_at <= now_ms() - $1 AND a.artist_id > $2
ORDER BY a.artist_id LIMIT $3

-- name: Older
-- Those whose extract is in a tier.
SELECT a.artist_id, a.version, a.content_hash, NULL FROM artists a
JOIN artist_archive r ON r.artist_id = a.artist_id AND r.tier = $4 AND r.state = 'STORED'
WHERE a.last_requested_at <= now_ms() - $1 AND a.artist_id > $2
ORDER BY a.artist_id LIMIT $3

-- name: Putting
INSERT INTO artist_archive (artist_id, tier, state, changed_at) VALUES ($1, $2, 'PUTTING', now_ms())
ON CONFLICT (artist_id, tier) DO NOTHING

-- name: Hold
-- Locks the artist until the move is committed.
SELECT version, now_ms() - last_requested_at FROM artists WHERE artist_id = $1 FOR UPDATE

-- name: Stored
UPDATE artist_archive SET state = 'STORED', changed_at = now_ms() WHERE artist_id = $1 AND tier = $2 AND state = 'PUTTING'

-- name: Drop
DELETE FROM artist_extracts WHERE artist_id = $1

-- name: Leave
UPDATE artist_archive SET state = 'DELETING', changed_at = now_ms() WHERE artist_id = $1 AND tier = $2

-- name: Interrupted
-- The lease is ours: the process that was putting is gone.
UPDATE artist_archive SET state = 'DELETING', changed_at = now_ms() WHERE state = 'PUTTING'

-- name: Waste
SELECT artist_id, tier FROM artist_archive WHERE state = 'DELETING' ORDER BY artist_id, tier LIMIT $1

-- name: Gone
DELETE FROM artist_archive WHERE artist_id = $1 AND tier = $2 AND state = 'DELETING'

-- name: Forget
-- Ids that were asked for long ago and that the upstream never had. The inner SELECT is
-- for MySQL, which takes no LIMIT in a subquery of IN.
DELETE FROM artists WHERE artist_id IN (SELECT artist_id FROM
  (SELECT artist_id FROM artists WHERE last_requested_at <= now_ms() - $1 AND missing_since > 0 AND content_hash = '' LIMIT $2) old)

-- name: ForgetFailures
DELETE FROM update_status WHERE character_id IN (SELECT character_id FROM
  (SELECT character_id FROM update_status WHERE state = 'FAILED' AND updated_at <= now_ms() - $1 LIMIT $2) old)

-- name: LastDone
SELECT COALESCE(MAX(done_at), 0), now_ms() FROM artist_jobs WHERE name = $1

-- name: Done
INSERT INTO artist_jobs (name, done_at) VALUES ($1, now_ms()) ON CONFLICT (name) DO UPDATE SET done_at = excluded.done_at

-- name: Expire
DELETE FROM artist_history WHERE position IN (SELECT position FROM
  (SELECT position FROM artist_history WHERE changed_at <= now_ms() - $1 ORDER BY changed_at LIMIT $2) old)

-- name: Many
SELECT artist_id FROM artist_history GROUP BY artist_id HAVING COUNT(*) > $1

-- name: Trim
DELETE FROM artist_history WHERE position IN (SELECT position FROM
  (SELECT h.position FROM artist_history h WHERE h.artist_id = $1 AND h.position <
     (SELECT k.position FROM artist_history k WHERE k.artist_id = $1 ORDER BY k.position DESC LIMIT 1 OFFSET $2)
   ORDER BY h.position LIMIT $3) old)
