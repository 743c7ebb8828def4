-- name: Read
-- All there is about an artist, in one look.
SELECT a.version, a.content_hash, a.last_updated_at, a.last_checked_at, a.missing_since, a.last_requested_at,
       e.content, COALESCE(u.state, ''), COALESCE(u.next_retry_at, 0),
       COALESCE((SELECT MAX(r.tier) FROM artist_archive r WHERE r.artist_id = a.artist_id AND r.state = 'STORED'), 0),
       COALESCE((SELECT w.asked_at FROM artist_asks w WHERE w.artist_id = a.artist_id), 0), now_ms()
FROM artists a
LEFT JOIN artist_extracts e ON e.artist_id = a.artist_id
LEFT JOIN update_status u ON u.character_id = a.artist_id
WHERE a.artist_id = $1

-- name: Wanted
-- The first refresh of an artist is under way.
INSERT INTO artists (artist_id, last_requested_at) VALUES ($1, now_ms())
ON CONFLICT (artist_id) DO NOTHING

-- name: Touch
UPDATE artists SET last_requested_at = now_ms() WHERE artist_id IN ($1)

-- name: Lock
-- In one order, so that batches wait for each other and never in a circle.
SELECT artist_id, version, content_hash,
       CASE WHEN EXISTS (SELECT 1 FROM artist_extracts e WHERE e.artist_id = artists.artist_id) THEN 1 ELSE 0 END,
       CASE WHEN EXISTS (SELECT 1 FROM artist_archive r WHERE r.artist_id = artists.artist_id AND r.state = 'STORED') THEN 1 ELSE 0 END
FROM artists WHERE artist_id IN ($1) ORDER BY artist_id FOR UPDATE

-- name: Checked
-- The rows are there and locked: this is an UPDATE of many rows, each with its
-- own version.
INSERT INTO artists (artist_id, version, last_checked_at) VALUES ($1, $2, now_ms())
ON CONFLICT (artist_id) DO UPDATE SET version = excluded.version, last_checked_at = excluded.last_checked_at, missing_since = 0

-- name: Changed
-- Data that comes back from the archive unchanged keeps its time. content_hash stands
-- last: in some databases later columns see its new value.
INSERT INTO artists (artist_id, version, name, level, source_updated_at, content_hash, last_updated_at, last_checked_at)
VALUES ($1, $2, $3, $4, $5, $6, now_ms(), now_ms())
ON CONFLICT (artist_id) DO UPDATE SET version = excluded.version, name = excluded.name, level = excluded.level,
  source_updated_at = excluded.source_updated_at, last_checked_at = excluded.last_checked_at, missing_since = 0,
  last_updated_at = CASE WHEN artists.content_hash = excluded.content_hash THEN artists.last_updated_at ELSE excluded.last_updated_at END,
  content_hash = excluded.content_hash

-- name: Keep
INSERT INTO artist_extracts (artist_id, content) VALUES ($1, $2)
ON CONFLICT (artist_id) DO UPDATE SET content = excluded.content

-- name: Remember
INSERT INTO artist_history (artist_id, changed_at, content_hash, content) VALUES ($1, now_ms(), $2, $3)

-- name: Unarchive
UPDATE artist_archive SET state = 'DELETING', changed_at = now_ms() WHERE state = 'STORED' AND artist_id IN ($1)

-- name: Missing
-- Keeps the extract: an artist that comes back unchanged costs nothing.
INSERT INTO artists (artist_id, version, last_checked_at, missing_since) VALUES ($1, $2, now_ms(), now_ms())
ON CONFLICT (artist_id) DO UPDATE SET version = excluded.version, last_checked_at = excluded.last_checked_at,
  missing_since = CASE WHEN artists.missing_since > 0 THEN artists.missing_since ELSE excluded.missing_since END

-- name: Failed
INSERT INTO update_status (character_id, state, fail_count, last_error_code, last_error_message, next_retry_at, created_at, updated_at)
VALUES ($1, $2, 1, $3, $4, now_ms() + $5, now_ms(), now_ms())
ON CONFLICT (character_id) DO UPDATE SET state = excluded.state, fail_count = update_status.fail_count + 1,
  last_error_code = excluded.last_error_code, last_error_message = excluded.last_error_message,
  next_retry_at = excluded.next_retry_at, updated_at = excluded.updated_at

-- name: Succeeded
DELETE FROM update_status WHERE character_id IN ($1)

-- name: GaveUp
UPDATE update_status SET state = 'FAILED', next_retry_at = now_ms() + $2, updated_at = now_ms() WHERE character_id = $1

-- name: Known
-- Those whose extract is kept, here or in the archive.
SELECT a.artist_id, a.content_hash FROM artists a
WHERE (EXISTS (SELECT 1 FROM artist_extracts e WHERE e.artist_id = a.artist_id)
    OR EXISTS (SELECT 1 FROM artist_archive r WHERE r.artist_id = a.artist_id AND r.state = 'STORED'))
  AND a.artist_id IN ($1)

-- name: History
-- The newest first. Rows are deleted once a day, so some are older than they may be.
SELECT position, changed_at, content_hash, content FROM artist_history
WHERE artist_id = $1 AND position < $2 AND changed_at > now_ms() - $3
ORDER BY position DESC LIMIT $4
