-- name: Seed
-- An artist that was read, and not looked up yet.
INSERT INTO artists (artist_id, last_requested_at, last_checked_at, prefetched_at) VALUES ($1, now_ms(), 1, $2)
ON CONFLICT (artist_id) DO NOTHING

-- name: AgeHigh
-- Those that reads ask for turn stale once they were looked up.
UPDATE artists SET last_checked_at = 1 WHERE last_checked_at > 1 AND last_checked_at < now_ms() - 3000
  AND (artist_id LIKE '8%' OR artist_id LIKE '9%')

-- name: AgeLow
-- Those that prefetch asks for are due again.
UPDATE artists SET last_checked_at = 1, prefetched_at = 0 WHERE last_checked_at > 1 AND last_checked_at < now_ms() - 3000
  AND artist_id NOT LIKE '8%' AND artist_id NOT LIKE '9%'

-- name: Rest
-- Prefetch has nothing more to do for a day.
UPDATE artists SET prefetched_at = now_ms() + 86400000
