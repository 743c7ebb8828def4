-- name: Due
-- Artists last read between the first and the second number of milliseconds ago,
-- last checked before the third, and not asked for within the fourth; the longest
-- unchecked first. One that the upstream does not have, that failed for good a
-- moment ago, or that waits to be asked for already, is left alone.
SELECT artist_id FROM artists
WHERE last_requested_at > now_ms() - $2 AND last_requested_at <= now_ms() - $1
  AND last_checked_at <= now_ms() - $3 AND prefetched_at <= now_ms() - $4 AND missing_since = 0
  AND NOT EXISTS (SELECT 1 FROM update_status u WHERE u.character_id = artists.artist_id AND u.next_retry_at > now_ms())
  AND NOT EXISTS (SELECT 1 FROM artist_asks w WHERE w.artist_id = artists.artist_id)
ORDER BY last_checked_at, artist_id LIMIT $5

-- name: Taken
UPDATE artists SET prefetched_at = now_ms() WHERE artist_id IN ($1)

-- name: GivenBack
UPDATE artists SET prefetched_at = 0 WHERE artist_id IN ($1)
